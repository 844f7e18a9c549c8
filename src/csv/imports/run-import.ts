/**
 * The job of an import. It may be killed anywhere and run twice: the records and the end of the import are committed together, and an
 * import that ended is not begun again.
 */
import { z } from 'zod'
import type { Role } from '../../platform/access/authorize.ts'
import { requireRequester } from '../../platform/access/requester.ts'
import { requireNoLess, type TableRef, tableOf, tableResource } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { recordsOf, sql } from '../../platform/database/database.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { remove } from '../../tables/service.ts'
import { importRecords } from '../import.ts'
import { isUnderway } from '../staging.ts'
import {
  claimImport,
  ended,
  type ImportEnd,
  type ImportRow,
  idleImports,
  readImport,
  storeChecked,
  storeRefusal,
  unclaimImport,
} from './import-row.ts'

const importQueue = (name: string) =>
  defineQueue({ name, schema: z.object({ import_id: z.int() }), options: { expireInSeconds: 7_200, retryLimit: 8, retryDelay: 5 } })
export const runImport = importQueue('csv.import-file')
/** The queue of the previous release, whose worker would tell other separators, and knows nothing of how a file is to be read. */
export const runEarlierImport = importQueue('csv.import')
export const resumeImports = defineQueue({ name: 'csv.resume-imports', schema: z.object({}) })

const MOST_ATTEMPTS = 8

/** How long an import waits for another one into its table before it tries again. */
const TURN_MS = 2_000

/** Runs the job, or lets it wait while another import into the table is running. @throws any error that a retry may avoid */
export async function run(context: Context, { import_id }: { import_id: number }): Promise<void> {
  const row = await claimImport(context, import_id)
  if (!row) return
  const acting = onBehalf(context, row)
  try {
    await importFile(acting, row)
  } catch (error) {
    if (isUnderway(error)) return waitForTurn(context, row.id)
    if ((await readImport(context, row.id))?.state !== 'running') return
    const refusal = refusalOf(error, row.attempts)
    if (!refusal) throw error
    if (refusal.state === 'failed') context.log.error({ err: error, import_id }, 'import failed')
    await giveUp(acting, row, refusal)
  }
  await context.storage.remove(row.storage_key)
}

/** If the process ends in between, `resumeAll` sends the job again. */
async function waitForTurn(context: Context, import_id: number): Promise<void> {
  await unclaimImport(context, import_id)
  await context.jobs.send(runImport, { import_id }, { startAfter: new Date(context.now.getTime() + TURN_MS) })
}

/** The context of the user who asked for the import, who also becomes the creator of its records. */
function onBehalf(context: Context, { account_id, user_id, api_key_id, ip }: ImportRow): Context {
  const actor = { ...context.actor, accountId: account_id, userId: user_id ?? 0 }
  return { ...context, actor, requester: { userId: user_id, keyId: api_key_id, ip } }
}

const SHOWN_EVERY_MS = 1_000

async function importFile(context: Context, row: ImportRow): Promise<void> {
  const { db, storage } = context
  const role = await roleNow(context, row)
  const table = { ...(await tableRef(context, row)), role }
  const file = await storage.read(row.storage_key)
  if (!file) throw new AppError('BAD_REQUEST', 'The file is gone: it was received more than a day ago')
  let shownAt = performance.now()
  const onProgress = (rows: number) => {
    if (performance.now() - shownAt < SHOWN_EVERY_MS) return
    shownAt = performance.now()
    storeChecked(db, row.id, rows).catch((err) => context.log.warn({ err }, 'progress of an import'))
  }
  try {
    const said = { ...(row.columns && { columns: row.columns }), ...(row.reading && { reading: row.reading }) }
    const options = { maxBytes: Number.POSITIVE_INFINITY, onProgress, ...said }
    const beforeCommit = async () => requireNoLess(await roleNow(context, row), role)
    const { value } = await importRecords(context, table, file, {
      ...{ ...options, beforeCommit },
      committedWith: (imported) => ended(row.id, imported),
    })
    // A file without rows publishes nothing.
    if (!value.created) await db.write(ended(row.id, value))
  } finally {
    file.destroy()
  }
}

/**
 * Checks the rights of the sender, who may have lost them since the file was received.
 * @returns the present role. @throws AppError 403; 404 if the table or its space has been deleted
 */
async function roleNow({ db, now }: Context, row: ImportRow): Promise<Role> {
  const right = row.is_new_table ? 'admin' : 'write'
  const granted = await requireRequester(db, row, { resource: tableResource, ids: { table_id: row.table_id }, right }, now)
  return granted ? tableOf(granted.row, granted.actor).role : row.role
}

/** @throws AppError 404 if the table or its space has been deleted */
async function tableRef({ db }: Context, { table_id }: ImportRow): Promise<Omit<TableRef, 'role'>> {
  const [table] = await db.read<Omit<TableRef, 'role'>>(sql`
    select t.id, t.space_id, t.account_id, t.name, t.version from tables t join spaces s on s.id = t.space_id
    where t.id = ${table_id} and t.deleted_at is null and s.deleted_at is null`)
  if (!table) throw notFound('Table')
  return table
}

const REFUSALS: ReadonlySet<string> = new Set(['BAD_REQUEST', 'FORBIDDEN', 'PAYLOAD_TOO_LARGE'])
const ATTEMPTS_AFTER_CHANGES = 3
const TABLE_DELETED = 'The table has been deleted'

/** How the error ends the import; undefined if another attempt may succeed. */
function refusalOf(error: unknown, attempts: number): ImportEnd | undefined {
  if (error instanceof AppError) {
    const issues = error.cellIssues ?? []
    if (error.code === 'NOT_FOUND') return { state: 'cancelled', error: TABLE_DELETED, issues }
    // A conflict means that the fields were changed during the import. The file may still fit, so the import is tried again.
    if (REFUSALS.has(error.code) || (error.code === 'CONFLICT' && attempts >= ATTEMPTS_AFTER_CHANGES))
      return { state: 'refused', error: error.message, issues }
  }
  if (attempts < MOST_ATTEMPTS) return undefined
  return { state: 'failed', error: `The import failed ${attempts} times`, issues: [] }
}

type Ended = Pick<ImportRow, 'id' | 'table_id' | 'is_new_table' | 'storage_key'>

/**
 * Ends the import, and removes a table that was created for it, unless somebody has put records into it.
 * @returns false if the import has ended before
 */
function giveUp(context: Context, { id, table_id, is_new_table }: Ended, refusal: ImportEnd): Promise<boolean> {
  const { db, transaction } = context
  return transaction(async () => {
    if (!(await storeRefusal(db, id, refusal))) return false
    if (!is_new_table || refusal.error === TABLE_DELETED) return true
    const [used] = await db.read(sql`select 1 from ${recordsOf(table_id)} limit 1`)
    if (!used) await remove(context, { id: table_id })
    return true
  })
}

/** Ends the import without records. Its job finds that out at its end. @returns false if the import is over */
export async function cancelImport(context: Context, id: number): Promise<boolean> {
  const row = await readImport(context, id)
  if (!row || !(await giveUp(context, row, { state: 'cancelled', error: 'The job was cancelled', issues: [] }))) return false
  await context.storage.remove(row.storage_key)
  return true
}

/** Sends the jobs of imports that may be lost once more. A schedule calls it. */
export async function resumeAll(context: Context): Promise<void> {
  for (const id of await idleImports(context)) await context.jobs.send(runImport, { import_id: id })
}
