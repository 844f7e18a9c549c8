/** Imports, exports and downloads of the typed client, which have no procedures: against the service. */
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TRPCClientError } from '@trpc/client'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import type { AuditFilters } from '../src/audit/schema.ts'
import { type AppRouter, type Client, createClient, type Transfers } from '../src/client.ts'
import type { CsvImport, ImportedRecords, StartedTable, TableImport } from '../src/csv/csv-requests.ts'
import type { GuessedTable, Imported, ImportQuery, NewTableQuery, StartedTable as ServedStartedTable } from '../src/csv/schema.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { workbook } from './support/xlsx.ts'

const app = await testApp({}, { worker: true })
const account = await app.account()
const client = app.as(account.owner).rpc
const stranger = (await app.account()).owner

const table = async () => (await makeTable(app, account)).id
const names = async (table_id: number) => (await client.records.query.query({ table_id, order_by: 'id' })).rows.map(({ name }) => name)
const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('the call should fail'),
    (error: TRPCClientError<AppRouter>) => error,
  )

describe('importCsv', () => {
  const file = 'Name\nÄnne\nBob\n'
  const content = new TextEncoder().encode(file)
  async function* chunks() {
    yield content.subarray(0, 7)
    yield content.subarray(7)
  }

  test.each<[string, () => Parameters<Client['importCsv']>[1]]>([
    ['a text', () => file],
    ['a File of a browser', () => new File([file], 'names.csv', { type: 'text/csv' })],
    ['a File that the browser takes for a spreadsheet', () => new File([file], 'names.csv', { type: 'application/vnd.ms-excel' })],
    ['a Blob', () => new Blob([file])],
    ['bytes', () => content],
    ['an ArrayBuffer', () => content.slice().buffer],
    ['an iterable of bytes', chunks],
    ['a stream of the web', () => new Blob([file]).stream()],
    ['bytes with their type', () => ({ content: new Blob([file]), type: 'text/csv; charset=utf-8', size: content.length })],
  ])('creates the records of %s', async (_, given) => {
    const table_id = await table()
    expect(await client.importCsv({ table_id }, given())).toEqual({ created: 2, change_id: expect.any(Number) })
    expect(await names(table_id)).toEqual(['Änne', 'Bob'])
  })

  test('creates the records of a file on disk, with its progress', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gridpost-csv-'))
    await writeFile(join(folder, 'names.csv'), file)
    const steps: number[] = []
    const table_id = await table()
    await client.importCsv({ table_id }, createReadStream(join(folder, 'names.csv')), { onProgress: ({ sent }) => void steps.push(sent) })
    expect(await names(table_id)).toEqual(['Änne', 'Bob'])
    expect(steps.at(-1)).toBe(content.length)
    await rm(folder, { recursive: true })
  })

  test('reads the encoding and the form of dates that it is told', async () => {
    const fields = [{ name: 'Name', type: 'text' } as const, { name: 'Day', type: 'date' } as const]
    const { id: table_id } = await makeTable(app, account, { fields })
    const bytes = Buffer.from('Name;Day\nÄnne;31.03.2026\n', 'latin1')
    const result = await client.importCsv({ table_id, encoding: 'windows-1252', date_format: 'dd.MM.yyyy', async: null }, bytes)
    expectTypeOf(result).toEqualTypeOf<ImportedRecords>()
    expect((await client.records.query.query({ table_id })).rows).toMatchObject([{ name: 'Änne', day: '2026-03-31' }])
    const other = { content: bytes, type: 'text/csv; charset=windows-1252' }
    expect(await client.importCsv({ table_id, date_format: 'dd.MM.yyyy' }, other)).toEqual({ created: 1, change_id: expect.any(Number) })
  })

  test('leaves a large file to a job', async () => {
    const table_id = await table()
    const started = await client.importCsv({ table_id, async: true }, file)
    expectTypeOf(started).toEqualTypeOf<{ job_id: number }>()
    await expect.poll(() => client.jobs.get.query({ job_id: started.job_id })).toMatchObject({ state: 'done', created: 2 })
    const asked: CsvImport = { table_id }
    expect(await client.importCsv(asked, file)).toHaveProperty('created')
  })

  test('tells the cells that are refused, and imports none', async () => {
    const { id: table_id } = await makeTable(app, account, { fields: [{ name: 'Amount', type: 'number' }] })
    const { data, message } = await failure(client.importCsv({ table_id }, 'Amount\n1\nmany\n'))
    expect(message).toBe('row 3, Amount: must be a number')
    expect(data).toMatchObject({ httpStatus: 400, code: 'BAD_REQUEST', issues: [{ row: 3, column: 'Amount' }] })
    expect((await client.records.count.query({ table_id })).total).toBe(0)
  })

  test('fails with the error of the service, and for an abort', async () => {
    const table_id = await table()
    const foreign = await failure(app.as(stranger).rpc.importCsv({ table_id }, file))
    expect(foreign.data).toMatchObject({ httpStatus: 404, message: 'Table not found' })
    expect((await failure(createClient({ baseUrl: app.url }).importCsv({ table_id }, file))).data).toMatchObject({ httpStatus: 401 })
    expect((await failure(client.importCsv({ table_id, encoding: 'nope' }, file))).data).toMatchObject({ issues: [{ path: ['encoding'] }] })
    const aborted = await failure(client.importCsv({ table_id }, file, { signal: AbortSignal.abort() }))
    expect([(aborted.cause as Error).name, aborted.data]).toEqual(['AbortError', undefined])
    expect(await names(table_id)).toEqual([])
  })
})

describe('importTable', () => {
  const sheet = workbook({
    sheets: {
      First: [['A'], [1]],
      Second: [
        ['Name', 'Amount'],
        ['Änne', 2],
      ],
    },
  })

  test('shows the table that a file would become, or creates it and a job for its rows', async () => {
    const place = { space_id: account.space, title: 'From the client' }
    const guessed = await client.importTable({ ...place, dry_run: true }, 'Name;Amount\nÄnne;2\n')
    expectTypeOf(guessed.fields[0]?.type).toExtend<string | undefined>()
    expect(guessed).toMatchObject({ name: 'From the client', rows: 1, separator: ';', fields: [{ type: 'text' }, { type: 'number' }] })
    const { table_id, job_id } = await client.importTable(place, 'Name;Amount\nÄnne;2\n')
    await expect.poll(() => client.jobs.get.query({ job_id })).toMatchObject({ state: 'done', created: 1 })
    expect(await names(table_id)).toEqual(['Änne'])
  })

  test.each<[string, Parameters<Client['importTable']>[1]]>([
    ['its type', new Blob([sheet], { type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' })],
    ['its name', new File([sheet], 'Book.XLSX')],
    ['its name beside its bytes', { name: 'book.xlsx', content: sheet }],
  ])('knows a workbook by %s', async (_, file) => {
    const guessed = await client.importTable({ space_id: account.space, sheet: 'Second', dry_run: true }, file)
    expect(guessed.fields.map(({ name }) => name)).toEqual(['Name', 'Amount'])
  })

  test('is refused to others', async () => {
    const { data } = await failure(app.as(stranger).rpc.importTable({ space_id: account.space }, 'a\n1\n'))
    expect(data).toMatchObject({ httpStatus: 404, message: 'Space not found' })
  })
})

describe('exportCsv', () => {
  test('answers with the records of a table, or those of a view, as a stream', async () => {
    const { id: table_id } = await makeTable(app, account, { records: [{ name: 'Änne' }, { name: 'Bob' }] })
    const response = await client.exportCsv({ table_id })
    expect(response.headers.get('content-disposition')).toContain('attachment')
    const text = await response.text()
    expect(text.split('\r\n').slice(1, 3)).toEqual([expect.stringContaining('Änne'), expect.stringContaining('Bob')])
    const filters = [{ column: 'name', compare: '=', value: 'Bob' }]
    const { id: view_id } = await client.views.create.mutate({ table_id, name: 'Bob', type: 'grid', filters })
    const viewed = await (await client.exportCsv({ table_id, view_id })).text()
    expect(viewed.split('\r\n').slice(1)).toEqual([expect.stringContaining('Bob'), ''])
    // An import takes what an export wrote, as the stream that it is.
    const copy = await table()
    expect(await client.importCsv({ table_id: copy }, (await client.exportCsv({ table_id })).body as ReadableStream)).toMatchObject({
      created: 2,
    })
  })

  test('fails with the error of the service', async () => {
    const { id: table_id } = await makeTable(app, account)
    expect((await failure(client.exportCsv({ table_id, view_id: 987_654 }))).data).toMatchObject({
      httpStatus: 404,
      message: 'View not found',
    })
    const foreign = await failure(app.as(stranger).rpc.exportCsv({ table_id }))
    expect(foreign).toMatchObject({
      message: 'Table not found',
      data: { httpStatus: 404, code: 'NOT_FOUND', request_id: expect.any(String) },
    })
    const aborted = await failure(client.exportCsv({ table_id }, { signal: AbortSignal.abort() }))
    expect((aborted.cause as Error).name).toBe('AbortError')
  })
})

test('exportUser answers with the archive, and fails as every call', async () => {
  const account = await app.account()
  const answer = await app.as(account.member).rpc.exportUser({ user_id: account.member.id })
  expect(
    Buffer.from(await answer.arrayBuffer())
      .subarray(0, 4)
      .toString('latin1'),
  ).toBe('PK\x03\x04')
  expect((await failure(app.as(account.member).rpc.exportUser({ user_id: account.owner.id }))).data).toMatchObject({ httpStatus: 403 })
})

describe('exportAudit', () => {
  test('answers with the rows that its filters leave, as lines of JSON', async () => {
    const { id } = await client.spaces.create.mutate({ name: 'Audited' })
    const lines = async (filters?: Parameters<Client['exportAudit']>[0]) =>
      (await (await client.exportAudit(filters)).text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { action: string })
    const all = await lines()
    const some = await lines({ space_id: id, actor_user_id: null, since: '2026-01-01 00:00:00' })
    expect(some.length).toBeGreaterThan(0)
    expect(all.length).toBeGreaterThan(some.length)
    expect(all).toEqual(expect.arrayContaining(some))
  })

  test('is refused to all but the owner, and for a filter that is none', async () => {
    expect((await failure(app.as(account.member).rpc.exportAudit())).data).toMatchObject({ httpStatus: 403 })
    expect((await failure(client.exportAudit({ since: 'yesterday' }))).data).toMatchObject({
      httpStatus: 400,
      issues: [{ path: ['since'] }],
    })
  })
})

describe('downloadFile', () => {
  test('answers with the bytes of a file, with a part of them, and with its thumbnail', async () => {
    const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
    const place = { table_id: await table(), record_id: 0 }
    place.record_id = (await client.records.create.mutate({ table_id: place.table_id, data: {} })).id
    const text = await client.upload('comments.upload', place, new File(['hello'], 'Ä b.txt', { type: 'text/plain' }))
    const image = await client.upload('comments.upload', place, new File([pixel], 'a.png', { type: 'image/png' }))
    const response = await client.downloadFile(text)
    expect([response.headers.get('content-type'), await response.text()]).toEqual(['text/plain', 'hello'])
    const part = await client.downloadFile({ path: text.path }, { range: { start: 1, end: 2 } })
    expect([part.status, await part.text()]).toEqual([206, 'el'])
    expect(await (await client.downloadFile({ path: text.path }, { range: { start: 3 } })).text()).toBe('lo')
    const thumbnail = await client.downloadFile({ path: image.path, w: 160 })
    expect(thumbnail.headers.get('content-type')).toMatch(/^image\//)
    expect((await failure(client.downloadFile({ path: text.path }, { range: { start: 9 } }))).data).toMatchObject({ httpStatus: 416 })
    expect((await failure(client.downloadFile({ path: text.path, w: 160 }))).data).toMatchObject({ httpStatus: 415 })
    expect((await failure(app.as(stranger).rpc.downloadFile({ path: text.path }))).data).toMatchObject({ httpStatus: 404 })
  })

  test.each(['nope', '../package.json', 'a/b', '%2e%2e', 'Ä ?#&', '$&'])('has no file %s', async (path) => {
    expect((await failure(client.downloadFile({ path }))).data).toMatchObject({ httpStatus: 404, code: 'NOT_FOUND' })
  })
})

test('downloadMail and downloadRaw answer with a mail as it came', async () => {
  const raw = 'From: a@example.com\r\nTo: nobody@example.net\r\nSubject: Lost\r\n\r\nHello\r\n'
  const fetched: string[] = []
  const answering = createClient({
    baseUrl: `${app.url}/`,
    apiKey: 'gp_secret',
    fetch: async (to, init) => {
      fetched.push(`${new URL(String(to)).pathname} ${new Headers(init?.headers).get('authorization')}`)
      return new Response(raw, { headers: { 'content-type': 'message/rfc822' } })
    },
  })
  expect(await (await answering.downloadMail({ id: 7 })).text()).toBe(raw)
  expect(await (await answering.downloadRaw({ comment_id: 502 })).text()).toBe(raw)
  expect(fetched).toEqual(['/api/email/inbound/7/raw Bearer gp_secret', '/api/email/502/raw Bearer gp_secret'])
  expect((await failure(client.downloadRaw({ comment_id: 987_654 }))).data).toMatchObject({ httpStatus: 404 })
  expect((await failure(client.downloadMail({ id: 987_654 }))).data).toMatchObject({ httpStatus: 404 })
})

test('a download that no service answers fails as every call', async () => {
  const html = createClient({ baseUrl: app.url, fetch: async () => new Response('<h1>Bad gateway</h1>', { status: 502 }) })
  const bad = await failure(html.exportCsv({ table_id: 1 }))
  expect([bad.name, bad.message, bad.data]).toEqual(['TRPCClientError', 'The download was answered with status 502', undefined])
  const lost = await failure(createClient({ baseUrl: 'http://127.0.0.1:1' }).exportAudit())
  expect([lost.name, lost.data]).toEqual(['TRPCClientError', undefined])
})

test('the types are those of the service', () => {
  expectTypeOf<keyof CsvImport>().toEqualTypeOf<'table_id' | keyof z.input<typeof ImportQuery>>()
  expectTypeOf<keyof TableImport>().toEqualTypeOf<'space_id' | keyof z.input<typeof NewTableQuery>>()
  expectTypeOf<ImportedRecords>().toEqualTypeOf<z.output<typeof Imported>>()
  expectTypeOf<StartedTable>().toEqualTypeOf<ServedStartedTable>()
  const guess = (client: Client) => client.importTable({ space_id: 1, dry_run: true }, '')
  // RPC's types of fields have keys that may be undefined, where the service's own may be absent.
  expectTypeOf<Omit<Awaited<ReturnType<typeof guess>>, 'fields'>>().toEqualTypeOf<Omit<GuessedTable, 'fields'>>()
  expectTypeOf<NonNullable<Parameters<Transfers['exportAudit']>[0]>>().toEqualTypeOf<z.input<typeof AuditFilters>>()
})
