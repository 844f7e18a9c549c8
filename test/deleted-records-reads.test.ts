/** No operation shows anything of a deleted record, and no table of the system is forgotten when records are moved aside. */
import { expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import type { DeletedRecord } from '../src/records/deleted/schema.ts'
import { testApp } from './support/app.ts'
import { callerFor, callRest, callRpc, idsFor, idsOf, type Operation, operations } from './support/operations.ts'

const app = await testApp()
const MARK = 'Quillwort'
const account = await app.account()
const known = await idsOf(app, account, MARK)
const { table_id, record_id } = known.shared as { table_id: number; record_id: number }
const upload = { name: `Offer${MARK}.txt`, type: 'text/plain', data: Buffer.from('An offer').toString('base64') }
const record = `/api/table/${table_id}/record/${record_id}`
const [file] = (await app.as(account.owner).post(`${record}/files/create`, { field_id: 'documents', ...upload })).body
/** What stands in the record, its tasks, comments, files and notifications alone. */
const WORDS = [`Acme${MARK}`, `Call${MARK}`, `Hello${MARK}`, `Olga}${MARK}`, `@Olga${MARK}`, `Offer${MARK}`]

/** The ids that the record takes along. An id of a comment is one of a mail or a task, where these are meant. */
const isOfRecord = ({ pathIds, bodyIds }: Operation) =>
  [...pathIds, ...bodyIds].some((id) => ['record_id', 'recordId', 'task_id', 'comment_id'].includes(id))
const isOfNotification = ({ name, pathIds }: Operation) => name.startsWith('notifications.') && pathIds.includes('id')

/** What tells of deleted records on purpose. */
const TELLING = ['records.deleted', 'records.restore']

const secured = operations.filter(({ isPublic, name }) => !isPublic && !TELLING.includes(name))

test('every operation that names a deleted record, its tasks, comments, mails or notifications answers 404, and none shows them', async () => {
  const reads = secured.filter(({ type }) => type === 'query')
  const shown = async () => {
    const seen = new Set<string>()
    for (const operation of reads) {
      const { body } = await callRest(
        app.as(callerFor(operation, account)),
        operation,
        idsFor(operation, known),
        operation.meta.example?.input as never,
      )
      for (const word of WORDS) if (JSON.stringify(body ?? '').includes(word)) seen.add(word)
    }
    return seen
  }
  // The words are seen before, so that the test would notice them.
  expect((await shown()).size).toBeGreaterThanOrEqual(4)
  expect((await app.as(account.owner).get(`/api/file/${file.path}`)).status).toBe(200)
  expect((await app.as(account.member).post(`${record}/delete`)).status).toBe(200)
  expect((await app.as(account.owner).get(`/api/file/${file.path}`)).status).toBe(404)

  for (const operation of secured) {
    const names = isOfRecord(operation) || isOfNotification(operation)
    if (operation.type !== 'query' && !names) continue
    for (const call of [callRest, callRpc]) {
      const { status, body } = await call(app.as(callerFor(operation, account)), operation, idsFor(operation, known), {
        ...(operation.meta.example?.input as object),
      })
      const answer = `${operation.name} ${call.name}: ${status} ${JSON.stringify(body)}`
      for (const word of WORDS) expect(answer).not.toContain(word)
      if (names) expect([operation.name, call.name, status]).toEqual([operation.name, call.name, 404])
    }
  }
  const { body: listed } = await app.as(account.viewer).get(`/api/table/${table_id}/records/deleted`)
  expect(listed.message).toBe('Not authorized')
  const { rows } = await app.as(account.member).rpc.records.deleted.query({ table_id })
  // Of two that were deleted within a second either may be the first.
  expect(new Set(rows.map(({ id }: DeletedRecord) => id))).toEqual(new Set([record_id, known['records.restore']?.record_id]))
})

/** The columns by which a row can belong to a record, by itself or through a task, a comment, a mail or a reply address. */
const COLUMNS = ['record_id', 'task_id', 'comment_id', 'token_hash', 'inbound_email_id']

/** Tables with such a column whose rows stay, and why. */
const STAYING: Record<string, string> = {
  deleted_records: 'holds the records',
  deleted_rows: 'holds their rows',
  deleted_tasks: 'clients with copies learn from it that a task is gone',
  stored_files: 'keeps the files; who reads one asks for its record',
  events: 'is kept for a day, has ids only, and every reader asks for what they name',
  email_suppressions: 'is of the account; the mail may be gone',
  sessions: 'has hashes of other tokens',
  invites: 'has hashes of other tokens',
  password_resets: 'has hashes of other tokens',
  address_changes: 'has hashes of other tokens',
  api_keys: 'has hashes of other tokens',
}

test('every system table whose rows can belong to a record takes part, or says why it does not', async () => {
  const found = await app.db.read<{ name: string }>(sql`
    select distinct table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = any(${COLUMNS}::text[]) order by 1`)
  const moved = app.deps.cascades.flatMap(({ rows }) => rows ?? []).map(({ table }) => table)
  expect(found.map(({ name }) => name)).toEqual([...moved, ...Object.keys(STAYING)].sort())
})
