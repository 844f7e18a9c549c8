/** A script opens the parts of the process as the service does, without its routers; its deletions cascade like those of the service. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../src/accounts/service.ts'
import { onRecord } from '../src/comments/record-subject.ts'
import { create as createComment } from '../src/comments/service.ts'
import { type Opened, openDeps } from '../src/deps.ts'
import { addToField } from '../src/files/service.ts'
import type { TableRef } from '../src/platform/access/resources.ts'
import { type Context, type Deps, userContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import type { DataRecord } from '../src/records/schema.ts'
import * as records from '../src/records/service.ts'
import { readSettings } from '../src/settings.ts'
import { create as createSpace } from '../src/spaces/service.ts'
import { remove as removeField } from '../src/tables/fields/alter-fields.ts'
import { create as createTable } from '../src/tables/service.ts'
import { create as createTask } from '../src/tasks/sync/upsert.ts'
import { create as createView, list as listViews } from '../src/views/service.ts'
import { testDatabase } from './support/database.ts'

let opened: Opened
let context: Context
let table: TableRef
let dataDir: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gridpost-cascade-'))
  const { url } = await testDatabase()
  const settings = readSettings({ DATABASE_URL: url, DATA_DIR: dataDir, SECRET_KEY: 'a key for tests, long enough to be one' })
  const log = pino({ level: 'silent' }) as unknown as Deps['log']
  opened = await openDeps(settings, { log, publicUrl: () => 'http://localhost', isWorker: false })
  const { deps } = opened
  const owner = { email: 'olga@example.com', name: 'Olga Owner', timezone: 'UTC' }
  const { accountId, ownerId } = await createAccount(deps.db, 'Test', owner, deps.clock())
  context = userContext(deps, { accountId, userId: ownerId, email: owner.email, name: owner.name, timeZone: 'UTC', isOwner: true })
  const space = await createSpace(context, { name: 'Sales' })
  const { id, name } = await createTable(context, space, {
    name: 'Deals',
    fields: [
      { name: 'Company', type: 'text' },
      { name: 'Documents', type: 'file' },
    ],
  })
  table = { ...space, id, name, space_id: space.id, version: 1 }
})

afterAll(async () => {
  await opened.close()
  await rm(dataDir, { recursive: true, force: true })
})

test('moves the tasks and comments of a record aside with it, and keeps its files', async () => {
  const [record] = (await records.createBatch(context, table, { records: [{ data: { company: 'Acme' } }] })).rows as [DataRecord]
  const ref = { id: record.id, version: 1 }
  await createTask(context, { space_id: table.space_id, table_id: table.id, record_id: record.id }, { title: 'Call Acme' })
  await createComment(context, onRecord(table, ref), { content: 'Prefers mail' })
  const file = { name: 'offer.txt', type: 'text/plain', data: Buffer.from('An offer').toString('base64') }
  await addToField(context, table, ref, { field_id: 'documents', ...file })
  const left = () =>
    context.db.read(sql`
      select (select count(*) from tasks where table_id = ${table.id}) as tasks,
        (select count(*) from record_comments where table_id = ${table.id}) as comments,
        (select count(*) from deleted_records where table_id = ${table.id}) as deleted,
        (select count(*) from deleted_rows where table_id = ${table.id} and source in ('tasks', 'record_comments')) as aside,
        (select count(*) from stored_files where table_id = ${table.id} and dropped_at is null) as files`)
  expect(await left()).toEqual([{ tasks: 1, comments: 1, deleted: 0, aside: 0, files: 1 }])

  await records.remove(context, table, ref)
  expect(await left()).toEqual([{ tasks: 0, comments: 0, deleted: 1, aside: 2, files: 1 }])
})

test('deletes the views that need a field with the field', async () => {
  await createView(context, table, { name: 'By company', type: 'grid', filters: [{ column: 'company', compare: '=', value: 'Acme' }] })
  await removeField(context, table, 'company', true)
  expect((await listViews(context, table)).rows.map(({ id }) => id)).toEqual([0])
})
