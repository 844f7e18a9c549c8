/** Checks the files of a table that a comment or an email attaches. */

import type { Database } from '../platform/database/database.ts'
import { badInputs, type Issue } from '../platform/errors.ts'
import { type FileEntry, findFiles } from '../platform/stored-files/rows.ts'

/**
 * Returns the stored entries of the paths, each path once, in the order of the request. Names and sizes in the request are ignored.
 * @param problemOf returns a further reason to refuse a path
 * @throws AppError 400 for each path that is not a stored file of the table
 */
export async function tableAttachments(
  db: Database,
  table: { id: number; account_id: number },
  given: readonly { path: string }[],
  problemOf: (path: string) => string | undefined = () => undefined,
): Promise<FileEntry[]> {
  const paths = given.map(({ path }) => path)
  const files = await findFiles(db, { account_id: table.account_id, table_id: table.id }, paths)
  const issues = paths.flatMap((path, index): Issue[] => {
    const message = problemOf(path) ?? (files.has(path) ? undefined : 'is not a stored file of this table')
    return message === undefined ? [] : [{ path: ['attachments', index, 'path'], message }]
  })
  if (issues.length) throw badInputs(issues)
  return [...new Set(paths)].flatMap((path) => files.get(path) ?? [])
}
