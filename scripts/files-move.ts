/** `npm run admin -- files move` moves all files to another storage, and lets every place that uses a file name that storage. */
import { renewHosts as renewHostsOfComments } from '../src/comments/service.ts'
import { type Relocation, relocate } from '../src/files/relocation.ts'
import { tablesWithFiles } from '../src/files/uses/queries.ts'
import { type Database, recordsOf, type Sql, sql } from '../src/platform/database/database.ts'
import type { Storage } from '../src/platform/storage/storage.ts'
import { renewHosts } from '../src/records/cells/file-cells.ts'
import { renewHosts as renewHostsOfTasks } from '../src/tasks/files/attachments.ts'

/** The rows of one statement. */
const AT_ONCE = 1_000

/** @returns what was moved, and in `renamed` how many cells, comments, mails and tasks name another storage now */
export async function moveFiles(db: Database, from: Storage, to: Storage): Promise<Relocation & { renamed: number }> {
  const moved = await relocate(db, from, to)
  return { ...moved, renamed: await renewAllHosts(db) }
}

/** Lets each entry name the storage that the row of its file names. It may be interrupted and repeated. */
async function renewAllHosts(db: Database): Promise<number> {
  let renamed = 0
  const renew = async (table: Sql, ofRange: (ids: { first: number; last: number }) => Promise<number>) => {
    for await (const ids of ranges(db, table)) renamed += await ofRange(ids)
  }
  for await (const table of tablesWithFiles(db)) await renew(recordsOf(table.id), (ids) => renewHosts(db, table, ids))
  await renew(sql`record_comments`, (ids) => renewHostsOfComments(db, 'record_comments', ids))
  await renew(sql`tasks`, (ids) => renewHostsOfTasks(db, ids))
  await renew(sql`task_comments`, (ids) => renewHostsOfComments(db, 'task_comments', ids))
  return renamed
}

async function* ranges(db: Database, table: Sql): AsyncGenerator<{ first: number; last: number }> {
  for (let first = 1; ; ) {
    const [some] = await db.read<{ last: number | null }>(
      sql`select max(id) as last from (select id from ${table} where id >= ${first} order by id limit ${AT_ONCE}) walked`,
    )
    if (!some?.last) return
    yield { first, last: some.last }
    first = some.last + 1
  }
}
