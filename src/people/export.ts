/** What is kept about one person as a ZIP archive: JSON, and the files that they have uploaded (contract.md §9, People of an account). */
import { Readable } from 'node:stream'
import type { UserRef } from '../accounts/user-status.ts'
import { audit } from '../audit/log.ts'
import { openStored } from '../files/reading.ts'
import type { Resource } from '../platform/access/authorize.ts'
import { type ZipEntry, zipStream } from '../platform/bytes/zip-stream.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { forbidden, notFound } from '../platform/errors.ts'
import { instantOf } from '../platform/time/time.ts'
import { filesOf, type KeptFile, LISTS, profileOf } from './kept.ts'
import { userResource } from './service.ts'
import type { Subject } from './subject.ts'

interface ExportedRow {
  found_user_id: number
  account_id: number
  is_owner: boolean
}

/** A user whose data the caller may have: the owner of the account those of all its users, anybody their own. */
export const exportedResource: Resource<ExportedRow> = {
  ids: userResource.ids,
  select: (ids) => sql`
    select f.*, a.owner_user_id is not distinct from f.found_user_id as is_owner
    from (${userResource.select(ids, null)}) f join accounts a on a.id = f.account_id`,
  check: ({ found_user_id }, { isOwner, userId }) => {
    if (!isOwner && found_user_id !== userId) throw forbidden()
  },
}

export const exportName = ({ found_user_id: id }: ExportedRow): string => `user-${id}.zip`

/**
 * The archive, as a stream. Whoever is the owner gets all of it; a person gets no tasks and notifications in spaces that they may not read
 * any more. The export is audited before it begins. No transaction is open while it is read.
 * @throws AppError 404 if the user has just been removed
 */
export async function exportPerson(context: Context, { found_user_id: id, account_id, is_owner }: ExportedRow): Promise<Readable> {
  const { actor, transaction } = context
  const user: UserRef = { id, account_id }
  const profile = await profileOf(context, user)
  if (!profile) throw notFound('User')
  await transaction(() => audit(context, 'export.user', { id, accountId: account_id }))
  return zipStream(entriesOf(context, profile, { ...user, isOwner: is_owner, seesAll: actor.isOwner }))
}

async function* entriesOf(context: Context, profile: object, subject: Subject): AsyncGenerator<ZipEntry> {
  const { now } = context
  const json = (name: string, text: AsyncIterable<string> | string[]): ZipEntry => ({
    name: `${name}.json`,
    bytes: Readable.from(text, { objectMode: false }),
    isCompressed: true,
    at: now,
  })
  yield json('profile', [`${JSON.stringify(profile, null, 2)}\n`])
  for (const [name, rows] of LISTS) yield json(name, linesOf(rows(context, subject)))
  const missing = new Set<string>()
  for await (const file of filesOf(context, subject)) {
    const bytes = await openStored(context, file.path)
    if (bytes) yield { name: entryOf(file), bytes, isCompressed: !PACKED.test(file.type), at: instantOf(file.created_at) }
    else missing.add(file.path)
  }
  // The list comes last, because only then it is known whose bytes are gone.
  yield json('files', linesOf(listed(filesOf(context, subject), missing)))
}

/** An array with a row in each line. */
async function* linesOf(rows: AsyncIterable<object>): AsyncGenerator<string> {
  let before = '['
  for await (const row of rows) {
    yield `${before}\n${JSON.stringify(row)}`
    before = ','
  }
  yield before === '[' ? '[]\n' : '\n]\n'
}

async function* listed(files: AsyncIterable<KeptFile>, missing: ReadonlySet<string>): AsyncGenerator<object> {
  for await (const file of files) yield { ...file, entry: missing.has(file.path) ? null : entryOf(file) }
}

/** Media types whose bytes are compressed already. */
const PACKED = /^(image\/(?!svg|bmp)|video\/|audio\/)|zip|pdf|officedocument/

/** The path in the archive. Paths of files are unique and plain; a name may have characters that a file system does not take. */
const entryOf = ({ path, name }: KeptFile): string => `files/${path}/${name.replaceAll(/[<>:"/\\|?*]/g, '_')}`
