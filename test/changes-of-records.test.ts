import { describe, expect, test } from 'vitest'
import { run } from '../src/csv/imports/run-import.ts'
import { systemContext } from '../src/platform/context.ts'
import { historyOf, recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { everyType } from './support/tables.ts'

const app = await testApp()

interface Entry {
  change_id: number
  record_id: number
  version: number
  kind: string
  user_id: number | null
  api_key_id: number | null
  records: number | null
  changes: unknown
}

/** The entries of a table in the order in which they were written. */
const entriesOf = (tableId: number) =>
  app.db.read<Entry>(sql`
    select change_id, record_id, version, kind, user_id, api_key_id, records, changes from ${historyOf(tableId)} order by change_id, record_id`)

describe('a single record', () => {
  test('a create and an update are changes, with who has made them and what became different', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const made = await as.post(`${table.path}/records/create`, { data: { text: 'Acme', select: 'Open', lookup: table.target } })
    expect(made.body.change_id).toEqual(expect.any(Number))
    expect(made.headers.get('x-change-id')).toBe(String(made.body.change_id))
    const record = `${table.path}/record/${made.body.id}`

    const changed = await as.post(`${record}/update`, {
      data: {
        ...{
          text: 'Acme',
          long_text: 'a\nb',
          number: 1.5,
          checkbox: true,
          date: '2024-02-29',
          select: 'Done',
          multi_select: ['Done', 'Open'],
        },
        ...{ user: account.viewer.id, multi_user: [account.viewer.id], lookup: null, multi_lookup: [table.target] },
      },
    })
    expect(changed.body).toMatchObject({ version: 2, change_id: expect.any(Number) })
    expect(changed.body.change_id).toBeGreaterThan(made.body.change_id)
    expect(changed.headers.get('x-change-id')).toBe(String(changed.body.change_id))
    const same = await as.post(`${record}/update`, { data: { text: 'Acme', select: 'Done' } })
    expect(same.body).toMatchObject({ version: 2, change_id: null })
    expect(same.headers.get('x-change-id')).toBe(null)
    const nothing = await as.post(`${record}/update`, { data: {} })
    expect(nothing.body).toMatchObject({ version: 2, change_id: null })

    const by = { record_id: made.body.id, user_id: account.member.id, api_key_id: null, records: 1 }
    expect(await entriesOf(table.id)).toEqual([
      { ...by, change_id: made.body.change_id, version: 1, kind: 'create', changes: null },
      {
        ...{ ...by, change_id: changed.body.change_id, version: 2, kind: 'update' },
        changes: {
          long_text: { name: 'long_text', type: 'long_text', to: 'a\nb' },
          number: { name: 'number', type: 'number', to: '1.5' },
          checkbox: { name: 'checkbox', type: 'checkbox', to: 'true' },
          date: { name: 'date', type: 'date', to: '2024-02-29' },
          select: { name: 'select', type: 'select', from: '1', to: '2', titles: { 1: 'Open', 2: 'Done' } },
          multi_select: { name: 'multi_select', type: 'multi_select', to: '{2,1}', titles: { 1: 'Open', 2: 'Done' } },
          user: { name: 'user', type: 'user', to: String(account.viewer.id) },
          multi_user: { name: 'multi_user', type: 'multi_user', to: `{${account.viewer.id}}` },
          lookup: { name: 'lookup', type: 'lookup', from: String(table.target), titles: { [table.target]: 'Target' } },
          multi_lookup: { name: 'multi_lookup', type: 'multi_lookup', to: `{${table.target}}`, titles: { [table.target]: 'Target' } },
        },
      },
    ])
  })

  test('a key is named beside its acting user, on RPC too', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const made = await app.as(account.keys.account).rpc.records.create.mutate({ table_id: table.id, data: { text: 'By key' } })
    expect(made).toMatchObject({ change_id: expect.any(Number) })
    expect(await entriesOf(table.id)).toMatchObject([{ user_id: account.owner.id, api_key_id: expect.any(Number) }])
  })

  test('of updates at once each entry has what the one before it has left', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const { id } = (await as.post(`${table.path}/records/create`, { data: { text: 'v1' } })).body
    const update = (n: number) => as.post(`${table.path}/record/${id}/update`, { data: { text: `v${n}` } })
    // No more at once than a process serves of one account.
    for (let first = 2; first <= 41; first += 8) await Promise.all(Array.from({ length: 8 }, (_, index) => update(first + index)))
    const entries = (await entriesOf(table.id)).sort((a, b) => a.version - b.version)
    expect(entries.map(({ version }) => version)).toEqual(Array.from({ length: 41 }, (_, index) => index + 1))
    let before = 'v1'
    for (const { changes } of entries.slice(1)) {
      const { from, to } = (changes as Record<string, { from: string; to: string }>).text ?? { from: '', to: '' }
      expect(from).toBe(before)
      before = to
    }
    const [record] = await app.db.read<{ text: string }>(sql`select text from ${recordsOf(table.id)} where id = ${id}`)
    expect(record?.text).toBe(before)
  })
})

describe('a batch', () => {
  test('is one change, whose entries know the number of records', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const texts = ['a', 'b', 'c']
    const made = await as.post(`${table.path}/records/create_batch`, { records: texts.map((text) => ({ data: { text } })) })
    const change = Number(made.headers.get('x-change-id'))
    const ids = made.body.map(({ id }: { id: number }) => id)
    expect(await entriesOf(table.id)).toMatchObject(
      ids.map((record_id: number) => ({ change_id: change, record_id, version: 1, kind: 'create', records: 3, changes: null })),
    )

    const records = ids.map((id: number, index: number) => ({ id, data: index === 1 ? { text: 'b' } : { text: 'z', number: index } }))
    const changed = await as.rpc.records.updateBatch.mutate({ table_id: table.id, records })
    expect(changed).toMatchObject({ rows: [{ version: 2 }, { version: 1 }, { version: 2 }], change_id: expect.any(Number) })
    const numberOf = (to: string) => ({ number: { name: 'number', type: 'number', to } })
    const textOf = (from: string) => ({ text: { name: 'text', type: 'text', from, to: 'z' } })
    const entries = (await entriesOf(table.id)).slice(3)
    expect(entries).toMatchObject([
      { change_id: changed.change_id, record_id: ids[0], version: 2, kind: 'update', records: 2 },
      { change_id: changed.change_id, record_id: ids[2], version: 2, kind: 'update', records: 2 },
    ])
    expect(entries.map(({ changes }) => changes)).toEqual([
      { ...textOf('a'), ...numberOf('0') },
      { ...textOf('c'), ...numberOf('2') },
    ])
    const same = await as.post(`${table.path}/records/update_batch`, { records })
    expect([same.status, same.headers.get('x-change-id')]).toEqual([200, null])
    const none = await as.post(`${table.path}/records/create_batch`, { records: [] })
    expect([none.status, none.headers.get('x-change-id')]).toEqual([200, null])
    expect(await as.rpc.records.createBatch.mutate({ table_id: table.id, records: [] })).toEqual({ rows: [], change_id: null })
    expect(await entriesOf(table.id)).toHaveLength(5)
  })

  test('a repetition under an Idempotency-Key names the change of the first answer, and makes none', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    for (const [path, body] of [
      ['records/create', { data: { text: 'once' } }],
      ['records/create_batch', { records: [{ data: { text: 'once' } }] }],
    ] as const) {
      const send = () => as.post(`${table.path}/${path}`, body, { 'idempotency-key': path })
      const [first, again] = [await send(), await send()]
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(first.headers.get('x-change-id')).toMatch(/^\d+$/)
      expect(again.headers.get('x-change-id')).toBe(first.headers.get('x-change-id'))
      expect(again.body).toEqual(first.body)
    }
    expect(await entriesOf(table.id)).toHaveLength(2)
  })
})

describe('deletions', () => {
  test('leave an entry for each record, beside those that it has', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    const ids: number[] = []
    for (const text of ['a', 'b', 'c']) ids.push((await as.post(`${table.path}/records/create`, { data: { text } })).body.id)
    await as.post(`${table.path}/record/${ids[0]}/update`, { data: { text: 'z' } })
    const alone = await as.post(`${table.path}/record/${ids[0]}/delete`)
    expect(alone.body).toEqual({ ok: true, change_id: expect.any(Number) })
    expect(alone.headers.get('x-change-id')).toBe(String(alone.body.change_id))
    const batch = await as.rpc.records.deleteBatch.mutate({ table_id: table.id, record_ids: [...ids, 999_999] })
    expect(batch).toEqual({ deleted: 2, change_id: expect.any(Number) })
    const none = await as.post(`${table.path}/records/delete_batch`, { record_ids: ids })
    expect([none.body, none.headers.get('x-change-id')]).toEqual([{ deleted: 0, change_id: null }, null])
    const by = { user_id: account.member.id, kind: 'delete', changes: null }
    expect((await entriesOf(table.id)).slice(4)).toMatchObject([
      { ...by, record_id: ids[0], version: 3, change_id: alone.body.change_id, records: 1 },
      { ...by, record_id: ids[1], version: 2, change_id: batch.change_id, records: 2 },
      { ...by, record_id: ids[2], version: 2, change_id: batch.change_id, records: 2 },
    ])
    const again = await Promise.all([1, 2].map(() => as.post(`${table.path}/record/${ids[0]}/delete`)))
    expect(again.map(({ status }) => status)).toEqual([404, 404])
  })
})

describe('files', () => {
  test('that are added, removed and restored are changes of their record', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.owner)
    const { id } = (await as.post(`${table.path}/records/create`, { data: {} })).body
    const files = `${table.path}/record/${id}/files`
    const added = await as.post(`${files}/create`, { field_id: 'file', name: 'a.txt', data: 'YQ==' }, { 'idempotency-key': 'file' })
    const again = await as.post(`${files}/create`, { field_id: 'file', name: 'a.txt', data: 'YQ==' }, { 'idempotency-key': 'file' })
    expect(again.headers.get('x-change-id')).toBe(added.headers.get('x-change-id'))
    const { path } = added.body[0]
    const removed = await as.rpc.files.delete.mutate({ table_id: table.id, record_id: id, field_id: 'file', path })
    expect(removed).toEqual({ rows: [], change_id: expect.any(Number) })
    const restored = await as.post('/api/file/restore', { path })
    expect(restored.body).toMatchObject({ path, change_id: expect.any(Number) })
    const entries = (await entriesOf(table.id)).slice(1)
    expect(entries).toMatchObject([
      { change_id: Number(added.headers.get('x-change-id')), record_id: id, version: 2, kind: 'update', records: 1 },
      { change_id: removed.change_id, record_id: id, version: 3, kind: 'update' },
      { change_id: Number(restored.headers.get('x-change-id')), record_id: id, version: 4, kind: 'update' },
    ])
    const cells = entries.map(({ changes }) => (changes as Record<string, { from?: string; to?: string }>).file)
    const pathsOf = (text = '[]') => JSON.parse(text).map((file: { path: string }) => file.path)
    expect(cells.map((cell) => [pathsOf(cell?.from), pathsOf(cell?.to)])).toEqual([
      [[], [path]],
      [[path], []],
      [[], [path]],
    ])
  })

  test('of a task that are restored are no change of records', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.owner)
    const { id } = (await as.post(`${table.path}/records/create`, { data: {} })).body
    const task = (await as.post(`/api/tasks/onRecord/${table.id}/${id}/create`, { title: 'Call' })).body
    const file = (await as.post(`/api/task/${task.id}/upload`, { name: 'a.txt', data: 'YQ==' })).body
    await as.post(`/api/task/${task.id}/update`, { attachments: [file] })
    await as.post(`/api/task/${task.id}/update`, { attachments: [] })
    const restored = await as.post('/api/file/restore', { path: file.path })
    expect([restored.status, restored.body.change_id, restored.headers.get('x-change-id')]).toEqual([200, null, null])
  })
})

describe('an import', () => {
  const sending = (body: string) => ({ method: 'POST', body, headers: { 'content-type': 'text/csv' } })
  const importsOf = (tableId: number) =>
    app.db.read<{ change_id: number; version: number; records: number; ids: string }>(sql`
      select change_id, version, kind, records, user_id, record_ids::text as ids from ${historyOf(tableId)} where record_id = 0 order by version`)

  test('has one entry with the ids of its records', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.member)
    // The clock stands still, so that the records of the import do not differ by their time from those beside it.
    app.setClock(new Date('2026-11-22T12:00:00Z'))
    await as.post(`${table.path}/records/create`, { data: { text: 'before' } })
    const [first, ...beside] = await Promise.all([
      as.send(`${table.path}/import`, sending('text\na\nb\n')),
      ...['c', 'd'].map((text) => as.post(`${table.path}/records/create`, { data: { text } })),
    ])
    const second = await as.send(`${table.path}/import`, sending('text\ne\n'))
    const empty = await as.send(`${table.path}/import`, sending('text\n'))
    app.setClock(null)
    expect([empty.body, empty.headers.get('x-change-id')]).toEqual([{ created: 0, change_id: null }, null])
    expect(first?.headers.get('x-change-id')).toBe(String(first?.body.change_id))
    const records = await app.db.read<{ id: number; text: string }>(sql`select id, text from ${recordsOf(table.id)}`)
    const idOf = (text: string) => records.find((record) => record.text === text)?.id ?? 0
    const imports = await importsOf(table.id)
    expect(imports).toMatchObject([
      { change_id: first?.body.change_id, version: 1, kind: 'create', records: 2, user_id: account.member.id },
      { change_id: second.body.change_id, version: 2, kind: 'create', records: 1, ids: `{[${idOf('e')},${idOf('e') + 1})}` },
    ])
    const [a, b] = [idOf('a'), idOf('b')]
    expect([`{[${a},${b + 1})}`, `{[${a},${a + 1}),[${b},${b + 1})}`]).toContain(imports[0]?.ids)
    expect(beside.map(({ status }) => status)).toEqual([200, 200])
    expect((await entriesOf(table.id)).filter(({ record_id }) => record_id)).toHaveLength(3)
  })

  test('by a job names its change, too', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const { job_id } = (await as.send(`${table.path}/import?async=true`, sending('text\na\n'))).body
    await run(systemContext(app.deps), { import_id: job_id })
    const job = (await as.get(`/api/job/${job_id}`)).body
    expect(job).toMatchObject({ state: 'done', created: 1, change_id: expect.any(Number) })
    expect(await importsOf(table.id)).toMatchObject([{ change_id: job.change_id, records: 1, user_id: account.owner.id }])
  })
})

test('a table that the previous release has created gets its history with the first write', async () => {
  const account = await app.account()
  const table = await everyType(app, account)
  await app.db.write(sql`update tables set has_history = false, version = version + 1 where id = ${table.id}`)
  await app.db.write(sql`drop table ${historyOf(table.id)}`)
  const as = app.as(account.member)
  const write = (text: string, key?: string) =>
    as.post(`${table.path}/records/create`, { data: { text } }, key === undefined ? {} : { 'idempotency-key': key })
  const answers = await Promise.all([...['a', 'b', 'c', 'd'].map((text) => write(text)), write('e', 'key')])
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(await entriesOf(table.id)).toHaveLength(5)
})
