/** A file makes a table: its fields are guessed, and a job imports its rows. */
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { resumeAll, run, runImport } from '../src/csv/imports/run-import.ts'
import { sheetAsCsv } from '../src/csv/workbooks/workbook.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { type Cell, deflated, parts, serial, workbook } from './support/xlsx.ts'
import { stored } from './support/zip.ts'

const app = await testApp({ IMPORT_MAX_MB: '25' }, { worker: true })
const PATIENCE = { timeout: 60_000 }
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

const send = (caller: Caller, space: number, body: string | Buffer, query = '', type = 'text/csv', headers: Record<string, string> = {}) =>
  app.as(caller).send(`/api/space/${space}/tables/import${query}`, {
    method: 'POST',
    body: body as string,
    headers: { 'content-type': type, ...headers },
  })
const guess = async (account: TestAccount, body: string | Buffer, type?: string) => {
  const answer = await send(account.owner, account.space, body, '?dry_run=true', type)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}
const typesOf = (guessed: { fields: { name: string; type: string }[] }) =>
  Object.fromEntries(guessed.fields.map(({ name, type }) => [name, type]))

/** Waits for the end of a job. */
async function ended(caller: Caller, job: number) {
  return vi.waitFor(async () => {
    const { status, body } = await app.as(caller).get(`/api/job/${job}`)
    expect(status).toBe(200)
    expect(body.state).not.toBe('running')
    return body
  }, PATIENCE)
}
const rowsOf = async (account: TestAccount, table: number) =>
  (await app.as(account.owner).post(`/api/table/${table}/records/query`, { limit: 1_000 })).body
const tablesOf = async (account: TestAccount) =>
  (await app.as(account.owner).get(`/api/space/${account.space}/tables/list`)).body.map(({ name }: { name: string }) => name)
/** The files in storage that no row names. */
async function storedFiles(): Promise<string[]> {
  const paths: string[] = []
  for await (const path of app.deps.storage.list('staged-', new Date(Date.now() + 60_000))) paths.push(path)
  return paths
}

describe('a CSV file', () => {
  // What Excel writes in most of Europe, and as "Unicode text".
  const european =
    'Firma;"Preis; netto";Stück;Anteil;Tausend;Datum\n"Müller, Söhne";12,50;3;0.5;1.234;22.11.2026\nBolt;7;-4;12.25;2;2026-11-22\n'
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16()

  test.each<[string, string | Buffer, string, string]>([
    ['semicolons', european, ';', 'UTF-8'],
    ['semicolons and a byte order mark', `\uFEFF${european}`, ';', 'UTF-8'],
    ['semicolons after empty lines', `\r\n\n${european}`, ';', 'UTF-8'],
    ['tabs', european.replaceAll('"Preis; netto"', 'Preis; netto').replaceAll(/;(?! netto)/g, '\t'), '\t', 'UTF-8'],
    [
      'tabs in UTF-16',
      Buffer.from(`\uFEFF${european.replaceAll('"Preis; netto"', '"Preis; netto"').replaceAll(/;(?! netto)/g, '\t')}`, 'utf16le'),
      '\t',
      'UTF-16',
    ],
    ['semicolons in UTF-16 with the high byte first', swapped(`\uFEFF${european}`), ';', 'UTF-16'],
    ['semicolons in windows-1252', Buffer.from(european, 'latin1'), ';', 'windows-1252'],
  ])('with %s is read', async (_, body, separator, encoding) => {
    const account = await app.account()
    if (separator === '\t' && encoding === 'UTF-8') body = (body as string).replaceAll('Preis; netto', '"Preis; netto"')
    const guessed = await guess(account, body)
    expect(guessed).toMatchObject({ separator, encoding, rows: 2 })
    // With tabs nobody knows whether a comma marks decimals or groups thousands.
    const [price, prices] = separator === ';' ? ['number', [12.5, 7]] : ['text', ['12,50', '7']]
    expect(typesOf(guessed)).toEqual({
      ...{ Firma: 'text', 'Preis; netto': price, Stück: 'number', Anteil: 'number', Tausend: 'text', Datum: 'text' },
    })
    const { table_id, job_id } = (await send(account.owner, account.space, body)).body
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'done', created: 2 })
    const [first, second] = await rowsOf(account, table_id)
    expect(Object.values(first).slice(1, 7)).toEqual(['Müller, Söhne', prices[0], 3, 0.5, '1.234', '22.11.2026'])
    expect(Object.values(second).slice(1, 7)).toEqual(['Bolt', prices[1], -4, 12.25, '2', '2026-11-22'])
  })

  test.each([
    ['commas', 'Name,"a;b"\nx,1;2\n', ','],
    ['commas beside semicolons', 'Name,a;b\nx,1;2\n', ','],
    ['one column', 'Name\nx\n', ','],
    ['one column of quoted semicolons', '"a;b"\nx\n', ','],
    ['semicolons beside tabs', 'a;b\tc\nx\n', ','],
  ])('with %s has commas', async (_, body, separator) => {
    const guessed = await guess(await app.account(), body)
    expect(guessed).toMatchObject({ separator, encoding: 'UTF-8', rows: 1 })
  })

  test('with semicolons is imported into a table, in a request and by a job, unless a number could mean another', async () => {
    const account = await app.account()
    const fields = [
      { name: 'Name', type: 'text' },
      { name: 'Amount', type: 'number', decimals: 3 },
      { name: 'A;B', type: 'text' },
    ]
    const table = await makeTable(app, account, { fields, records: [] })
    const into = (body: string | Buffer, query = '', type = 'text/csv') =>
      app
        .as(account.member)
        .send(`${table.path}/import${query}`, { method: 'POST', body: body as string, headers: { 'content-type': type } })
    expect((await into('Name;Amount\n"Acme, Inc";12.5\n')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect((await into(Buffer.from('\uFEFFName\tAmount\nZoë\t-3\n', 'utf16le'), '', 'text/csv; charset=utf-16')).body).toEqual({
      created: 1,
      change_id: expect.any(Number),
    })
    const { job_id } = (await into('Name;Amount\nBolt;7\n', '?async=true')).body
    expect(await ended(account.member, job_id)).toMatchObject({ state: 'done', created: 1, issues: [] })
    // The name of a field is one column, whatever is in it.
    expect((await into('A;B\nx;y\n')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    const message = 'is ambiguous in a file without commas: write it without the point, or with other than three decimals'
    const refused = await into('Name;Amount\nx;1.234\ny;1,2,3\nz;12.34,5\n')
    expect(refused).toMatchObject({
      status: 400,
      body: {
        issues: [
          { row: 2, column: 'Amount', message },
          { row: 3, column: 'Amount' },
          { row: 4, column: 'Amount' },
        ],
      },
    })
    expect((await into('Name,Amount\nx,1.234\n')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    const rows = await rowsOf(account, table.id)
    expect(rows.map(({ name, amount, a_b }: Record<string, unknown>) => [name, amount, a_b])).toEqual([
      ['Acme, Inc', 12.5, null],
      ['Zoë', -3, null],
      ['Bolt', 7, null],
      [null, null, 'x;y'],
      ['x', 1.234, null],
    ])
  })

  test('with semicolons has numbers with decimal commas, in a column without other numbers', async () => {
    const account = await app.account()
    const columns = {
      Price: ['1,5', '-1.234.567,25', '7', 1.5, -1_234_567.25, 7],
      Weight: ['0,125', '1,234', '', 0.125, 1.234, null],
      Long: ['12345678901,5', '0,00000001', '1', 12_345_678_901.5, 0.000_000_01, 1],
    }
    const others = {
      Mixed: ['1,5', '2.5', '3'],
      Thousands: ['1.234,5', '1.234', '3'],
      Zeros: ['01,5', '2,5', '3,5'],
      Plus: ['+1,5', '2,5', '3,5'],
      Lists: ['1,2,3', '1,2', '1,5'],
      Zip: ['1,5', '2,5', '3,5'],
      Empty: [',5', '1,', '2,5'],
    }
    const all = { Name: ['a', 'b', 'c'], ...columns, ...others }
    const rows = [0, 1, 2].map((row) => Object.values(all).map((cells) => cells[row]))
    const csv = `${[Object.keys(all), ...rows].map((cells) => cells.join(';')).join('\n')}\n`
    const guessed = await guess(account, csv)
    for (const name of Object.keys(columns)) expect(guessed.fields).toContainEqual(expect.objectContaining({ name, type: 'number' }))
    for (const name of Object.keys(others)) expect(guessed.fields).toContainEqual(expect.objectContaining({ name, type: 'text' }))
    expect(guessed.fields.slice(1, 4).map(({ decimals }: { decimals: number }) => decimals)).toEqual([2, 3, 8])
    const { table_id, job_id } = (await send(account.owner, account.space, csv)).body
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'done', created: 3 })
    const made = await rowsOf(account, table_id)
    for (const [name, cells] of Object.entries(columns))
      expect(made.map((row: Record<string, unknown>) => row[name.toLowerCase()])).toEqual(cells.slice(3))
    expect(made[1].mixed).toBe('2.5')
    // If commas separate the cells, one between quotes marks no decimals.
    expect(typesOf(await guess(account, 'Name,Price\nx,"1,5"\n'))).toEqual({ Name: 'text', Price: 'text' })
  })

  test('becomes a table with typed fields, whose rows a job imports', async () => {
    const account = await app.account()
    const csv = `\uFEFFCompany,Amount,Won,Due,Called at,Hour,Mail,Site,Zip,Stage
Acme,12.50,yes,2026-03-31,2026-03-31 07:30:00,09:30,a@example.com,https://example.com,01234,Open
Bolt,-3,no,2024-02-29,2026-03-31T09:30:00+02:00,10:00:01,b@example.com,http://example.org,10115,Done
"Cog, Inc",,,,,,,,,Open
Dot,0,NO,,,,,,,Open
`
    const answer = await send(account.owner, account.space, csv, '?title=Deals')
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { table_id, job_id } = answer.body
    expect(Object.keys(answer.body)).toEqual(['table_id', 'job_id'])
    expect(await ended(account.owner, job_id)).toEqual({
      state: 'done',
      done: 4,
      total: 4,
      error: null,
      created: 4,
      change_id: expect.any(Number),
      issues: [],
    })
    const { name, fields } = (await app.as(account.owner).get(`/api/table/${table_id}/get`)).body
    expect(name).toBe('Deals')
    const own = fields.slice(1, -4).map(({ id, type, decimals, options }: Record<string, unknown>) => [id, type, decimals ?? options])
    expect(own).toEqual([
      ['company', 'text', undefined],
      ['amount', 'number', 2],
      ['won', 'checkbox', undefined],
      ['due', 'date', undefined],
      ['called_at', 'datetime', undefined],
      ['hour', 'time', undefined],
      ['mail', 'email', undefined],
      ['site', 'url', undefined],
      ['zip', 'text', undefined],
      ['stage', 'select', ['Open', 'Done']],
    ])
    const [acme, bolt, cog] = await rowsOf(account, table_id)
    expect(acme).toMatchObject({
      company: 'Acme',
      amount: 12.5,
      won: true,
      due: '2026-03-31',
      hour: '09:30:00',
      zip: '01234',
      stage: 'Open',
    })
    expect(bolt).toMatchObject({ called_at: '2026-03-31 07:30:00', amount: -3, won: false })
    expect(cog).toMatchObject({ company: 'Cog, Inc', amount: null, mail: null, created_by: { id: account.owner.id } })
    await vi.waitFor(async () => expect(await storedFiles()).toEqual([]), PATIENCE)
  })

  test('is only looked at by a dry run', async () => {
    const account = await app.account()
    const answer = await send(account.admin, account.space, 'Name,Amount\na,1\nb,2.25\n', '?dry_run=true&title=Deals')
    expect(answer.body).toEqual({
      name: 'Deals',
      rows: 2,
      separator: ',',
      encoding: 'UTF-8',
      formats: [],
      filled: { rows: 0, lines: [] },
      cut: { rows: 0, lines: [] },
      fields: [
        { id: 'name', name: 'Name', type: 'text', required: false, always_hidden: false, admin_only: false },
        { id: 'amount', name: 'Amount', type: 'number', decimals: 2, required: false, always_hidden: false, admin_only: false },
      ],
    })
    expect(await tablesOf(account)).toEqual([])
    expect(await storedFiles()).toEqual([])
  })

  test('keeps as text what another type would change', async () => {
    const account = await app.account()
    const columns: Record<string, [string, ...string[]]> = {
      zeros: ['007', '12'],
      long_id: ['123456789012', '1'],
      phones: ['+4930123456', '0301234'],
      exponent: ['1e5', '2'],
      german: ['1.234,50', '2,5'],
      thousands: ['1,234', '5'],
      nine_digits_after: ['0.123456789', '1'],
      local_dates: ['03/04/2026', '31/12/2026'],
      mixed_dates: ['2026-01-01', '01.02.2026'],
      date_and_time: ['2026-01-01', '2026-01-01 10:00:00'],
      no_date: ['2026-02-30', '2026-01-01'],
      words: ['true', 'maybe'],
      shielded: ["'-5", "'=1"],
      blank: [' ', '1'],
      'Phone no.': ['2125551234', '2125551235'],
      nothing: ['', ''],
    }
    const names = Object.keys(columns)
    const line = (cells: string[]) => `${cells.map((cell) => `"${cell}"`).join(',')}\n`
    const csv = line(names) + [0, 1].map((row) => line(names.map((name) => columns[name]?.[row] ?? ''))).join('')
    const types = typesOf(await guess(account, csv))
    expect(types).toEqual(Object.fromEntries(names.map((name) => [name, 'text'])))
  })

  test('of texts that nearly are addresses is guessed in linear time', async () => {
    const account = await app.account()
    const cell = `a@${'.'.repeat(99_000)} `
    const names = Array.from({ length: 60 }, (_, i) => `c${i}`)
    const guessed = await guess(account, `${names}\n${names.map(() => cell)}\n`)
    expect(new Set(Object.values(typesOf(guessed)))).toEqual(new Set(['long_text']))
  })

  test('has long texts where a cell is long or has lines', async () => {
    const account = await app.account()
    expect(typesOf(await guess(account, `Name,Notes,Story\na,"1\n2",${'x'.repeat(40_000)}\n`))).toEqual({
      Name: 'text',
      Notes: 'long_text',
      Story: 'long_text',
    })
  })

  test('gets a name for each column, and ids that no other field has', async () => {
    const account = await app.account()
    const csv = `ID,Amount,amount,"Two\n lines",,xmin,,${'n'.repeat(130)},住所\n7,1,2,3,four,5,,6,東京\n`
    const { fields } = await guess(account, csv)
    expect(fields.map(({ id, name }: { id: string; name: string }) => [id, name])).toEqual([
      ['id_2', 'ID 2'],
      ['amount', 'Amount'],
      ['amount_2', 'amount 2'],
      ['two_lines', 'Two lines'],
      ['column_5', 'Column 5'],
      ['xmin_2', 'xmin'],
      ['n'.repeat(48), 'n'.repeat(100)],
      ['field_8', '住所'],
    ])
    const { table_id, job_id } = (await send(account.owner, account.space, csv)).body
    expect((await ended(account.owner, job_id)).created).toBe(1)
    expect(await rowsOf(account, table_id)).toMatchObject([
      { id_2: 7, amount: 1, amount_2: 2, column_5: 'four', xmin_2: 5, field_8: '東京' },
    ])
  })

  test('is named Import when the request names nothing, with a number if that is taken', async () => {
    const account = await app.account()
    for (let i = 0; i < 2; i++) await ended(account.owner, (await send(account.owner, account.space, 'Name\na\n')).body.job_id)
    expect(await tablesOf(account)).toEqual(['Import', 'Import 2'])
  })

  test.each<[string, string | Buffer, string]>([
    ['nothing', '', 'The file is empty: its first row must name the fields'],
    ['blanks', '  \n \n', 'The file is empty: its first row must name the fields'],
    ['commas', ',,\n,,\n', 'The file is empty: its first row must name the fields'],
    ['a header', 'Name,Amount\n', 'The file has a header and no rows, from which the types of its fields could be guessed'],
    ['a long row', 'a,b\n1,2,3\n', 'row 2: has 3 cells, the header has 2'],
    ['an open quote', 'a,b\n1,"2\n', 'row 2: a quote is not closed'],
    ['1,001 columns', `${'a,'.repeat(1_000)}a\n`, 'row 1: has more than 1000 cells'],
    [
      '301 columns',
      `${Array.from({ length: 301 }, (_, i) => `c${i}`)}\n${'1,'.repeat(300)}1\n`,
      'The file has 301 columns; a table has at most 300 fields',
    ],
    ['HTML', '<!DOCTYPE html><html></html>\n', 'The file is a page of the web, not CSV'],
    ['neither UTF-8 nor windows-1252', Buffer.from('Name\nM\xfcller\x81\n', 'latin1'), 'The file is not valid UTF-8 or windows-1252'],
    ['UTF-16 without its mark', Buffer.from('Name\nö\n', 'utf16le'), 'The file is not valid UTF-8 or windows-1252'],
    ['half a character of UTF-16', Buffer.from('\uFEFFName\nx\n', 'utf16le').subarray(0, -1), 'The file is not valid UTF-16'],
    ['half of a pair in UTF-16', Buffer.from('\uFEFFName\n\uD83D\n', 'utf16le'), 'The file is not valid UTF-16'],
    ['a quote that the first row never closes', '"a;b\n1;2\n', 'row 1: a quote is not closed'],
    ['NUL', 'Name\na\0b\n', 'row 2, Name: must not contain NUL'],
    ['a cell of 100,001 characters', `Name\n${'x'.repeat(100_001)}\n`, 'row 2, Name: must have at most 100000 characters'],
    [
      'an old Excel file',
      Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1]),
      'The file is an old Excel file (.xls) or encrypted; save it as XLSX or CSV',
    ],
  ])('with %s is 400 and leaves nothing', async (_, body, message) => {
    const account = await app.account()
    const answer = await send(account.owner, account.space, body)
    expect([answer.status, answer.body.message]).toEqual([400, message])
    expect(await tablesOf(account)).toEqual([])
    expect(await storedFiles()).toEqual([])
  })

  test('over the limit is 413, stated or found', async () => {
    const account = await app.account()
    const large = Buffer.alloc(25 * 1_048_576 + 1, 'a\n')
    const stated = await send(account.owner, account.space, large)
    expect([stated.status, stated.body.message]).toEqual([413, 'The file is larger than 25 MB'])
    const stream = new Blob([large]).stream()
    const found = await app.as(account.owner).send(`/api/space/${account.space}/tables/import`, {
      ...{ method: 'POST', body: stream, duplex: 'half' },
      headers: { 'content-type': 'text/csv' },
    } as RequestInit)
    expect(found.status).toBe(413)
    expect(await storedFiles()).toEqual([])
  })

  test('is refused with other media types and options', async () => {
    const account = await app.account()
    const one = 'Name\na\n'
    expect((await send(account.owner, account.space, one, '', 'application/json')).status).toBe(415)
    expect((await send(account.owner, account.space, one, '', 'text/csv; charset=ebcdic')).status).toBe(415)
    expect((await send(account.owner, account.space, one, '', 'text/csv', { 'content-encoding': 'gzip' })).status).toBe(415)
    for (const query of [
      '?dry_run=1',
      '?encoding=ebcdic',
      '?encoding=',
      '?date_format=dd.MM',
      '?title=',
      `?title=${'x'.repeat(101)}`,
      '?dry_run=true&dry_run=false',
    ])
      expect((await send(account.owner, account.space, one, query)).status, query).toBe(400)
  })

  test('is imported up to the ends of what is guessed', async () => {
    const account = await app.account()
    const csv = 'Name,N,B\na,9999999999.12345,TRUE\nb,-0,No\nc,-99999999999,yes\n'
    const { table_id, job_id } = (await send(account.owner, account.space, csv)).body
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'done', created: 3 })
    expect((await rowsOf(account, table_id)).map(({ n, b }: { n: number; b: boolean }) => [n, b])).toEqual([
      [9999999999.12345, true],
      [0, false],
      [-99999999999, true],
    ])
  })

  test('waits for others of its account that are still sent', async () => {
    const account = await app.account()
    const path = `${app.url}/api/space/${account.space}/tables/import?dry_run=true`
    const headers = { authorization: `Bearer ${account.keys.account}`, 'content-type': 'text/csv' }
    const sent = Array.from({ length: 5 }, () => request(path, { method: 'POST', headers }).on('error', () => {}))
    const answers = sent.map((one) => new Promise<IncomingMessage>((resolve) => one.on('response', resolve)))
    for (const one of sent) one.write('Name\n')
    const refused = await Promise.race(answers)
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '5'])
    const other = await app.account()
    expect((await send(other.owner, other.space, 'Name\na\n', '?dry_run=true')).status).toBe(200)
    for (const one of sent) one.destroy()
    await vi.waitFor(
      async () => expect((await send(account.owner, account.space, 'Name\na\n', '?dry_run=true')).status).toBe(200),
      PATIENCE,
    )
    await vi.waitFor(async () => expect(await storedFiles()).toEqual([]), PATIENCE)
  })

  test('that is sent again does not take the name of the first', async () => {
    const account = await app.account()
    const first = await send(account.owner, account.space, 'Name\na\n', '?title=Deals', 'text/csv', { 'idempotency-key': 'k' })
    expect(first.headers.get('x-ignored')).toBe('Idempotency-Key')
    const again = await send(account.owner, account.space, 'Name\na\n', '?title=deals')
    expect([again.status, again.body.message]).toEqual([409, 'This name is taken'])
    expect((await send(account.owner, account.space, 'Name\na\n', '?title=deals&dry_run=true')).status).toBe(409)
    await ended(account.owner, first.body.job_id)
    expect(await tablesOf(account)).toEqual(['Deals'])
  })
})

describe('the fields of a table from a file', () => {
  const file = 'Company,Code,Stage,Tags,Notes,Owner\nAcme,12,Lead,"a, b",x,{member}\nBolt,7,Won,b,y,\nZoo,3,,"a",,\n'
  const corrections = (list: unknown) => `fields=${encodeURIComponent(JSON.stringify(list))}`
  const issuesOf = (body: { issues?: { row: number; column: string; message: string }[] }) => body.issues

  test('are given other names and types, or left out, and have values of the file as examples when asked', async () => {
    const account = await app.account()
    const body = file.replace('{member}', account.member.email)
    const plain = await guess(account, body)
    expect(plain).not.toHaveProperty('samples')
    const wanted = [
      { field: 'company', name: 'Client' },
      { field: 'code', type: 'text' },
      { field: 'stage', type: 'select' },
      { field: 'tags', type: 'multi_select', name: 'Labels' },
      { field: 'notes', leave_out: true },
      { field: 'owner', type: 'user' },
    ]
    const shown = (await send(account.owner, account.space, body, `?dry_run=true&samples=2&${corrections(wanted)}`)).body
    expect(shown.fields).toMatchObject([
      { id: 'client', name: 'Client', type: 'text' },
      { id: 'code', type: 'text' },
      { id: 'stage', type: 'select', options: ['Lead', 'Won'] },
      { id: 'labels', name: 'Labels', type: 'multi_select', options: ['a', 'b'] },
      { id: 'owner', type: 'user' },
    ])
    expect(shown.samples).toEqual([
      { field: 'client', values: ['Acme', 'Bolt'] },
      { field: 'code', values: ['12', '7'] },
      { field: 'stage', values: ['Lead', 'Won'] },
      { field: 'labels', values: ['a, b', 'b'] },
      { field: 'owner', values: [account.member.email] },
    ])
    const { table_id, job_id } = (await send(account.owner, account.space, body, `?${corrections(wanted)}`)).body
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'done', created: 3 })
    expect(await rowsOf(account, table_id)).toMatchObject([
      { client: 'Acme', code: '12', stage: 'Lead', labels: ['a', 'b'], owner: { id: account.member.id } },
      { client: 'Bolt', code: '7', stage: 'Won', labels: ['b'], owner: null },
      { client: 'Zoo', code: '3', stage: null, labels: ['a'] },
    ])
  })

  test('of a workbook are corrected too, and dates in a form that is named', async () => {
    const account = await app.account()
    const bytes = workbook({
      sheets: {
        One: [
          ['Name', 'Since', 'Size'],
          ['Acme', '03/04/2026', 5],
          ['Bolt', '05/04/2026', 7],
        ],
      },
    })
    const query = `?date_format=dd%2FMM%2Fyyyy&${corrections([
      { field: 'since', type: 'datetime' },
      { field: 'size', type: 'text' },
    ])}`
    const { table_id, job_id } = (await send(account.owner, account.space, bytes, query, XLSX)).body
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'done', created: 2 })
    expect(await rowsOf(account, table_id)).toMatchObject([{ since: '2026-04-03 00:00:00', size: '5' }, { size: '7' }])
  })

  test('that do not fit their cells are refused before a table is made', async () => {
    const account = await app.account()
    const body = file.replace('{member}', 'nobody@example.com')
    const refusedBy = async (list: unknown, query = '') =>
      (await send(account.owner, account.space, body, `?${corrections(list)}${query}`)).body
    for (const query of ['', '&dry_run=true']) {
      const wrong = await refusedBy(
        [
          { field: 'stage', type: 'number' },
          { field: 'owner', type: 'user' },
        ],
        query,
      )
      expect(issuesOf(wrong)).toEqual([
        { row: 2, column: 'Stage', message: 'must be a number' },
        { row: 2, column: 'Owner', message: 'nobody@example.com is not a member of this space' },
        { row: 3, column: 'Stage', message: 'must be a number' },
      ])
    }
    const many = `Name,Code\n${Array.from({ length: 501 }, (_, at) => `n${at},c${at}\n`).join('')}`
    const tooMany = (await send(account.owner, account.space, many, `?${corrections([{ field: 'code', type: 'select' }])}`)).body
    expect(tooMany).toMatchObject({ code: 'BAD_REQUEST', message: 'Code has more than 500 different values, which is the most options' })
    expect(await tablesOf(account)).toEqual([])
  })

  test.each<[string, string, string]>([
    ['what is no JSON', 'fields=[', 'fields: must be JSON'],
    ['no list', corrections({ company: 'text' }), 'fields: must be a list'],
    ['an unknown field', corrections([{ field: 'size', type: 'text' }]), 'fields[0].field: is no field of the file'],
    [
      'a field twice',
      corrections([
        { field: 'code', type: 'text' },
        { field: 'code', name: 'x' },
      ]),
      'fields[1].field: is listed twice',
    ],
    ['a name that is taken', corrections([{ field: 'code', name: 'COMPANY' }]), 'fields[0].name: another field has this name'],
    ['the name of the key', corrections([{ field: 'code', name: 'id' }]), 'fields[0].name: another field has this name'],
    ['links', corrections([{ field: 'code', type: 'lookup' }]), 'fields[0].type: must be one of'],
    ['files', corrections([{ field: 'code', type: 'file' }]), 'fields[0].type: must be one of'],
    ['a name of blanks', corrections([{ field: 'code', name: ' ' }]), 'fields[0].name: must not be empty'],
    ['another key', corrections([{ field: 'code', decimals: 2 }]), 'fields[0].decimals'],
    [
      'all left out',
      corrections(['company', 'code', 'stage', 'tags', 'notes', 'owner'].map((field) => ({ field, leave_out: true }))),
      'fields: leave',
    ],
    ['no examples', 'dry_run=true&samples=0', 'samples: must be 1 or more'],
    ['many examples', 'dry_run=true&samples=11', 'samples: must be at most 10'],
    ['a word for examples', 'dry_run=true&samples=all', 'samples: must be a whole number'],
  ])('cannot be %s', async (_, query, message) => {
    const account = await app.account()
    const { status, body } = await send(account.owner, account.space, file, `?${query}`)
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)])
    expect(await tablesOf(account)).toEqual([])
  })
})

describe('who may create a table from a file', () => {
  test('is who may create one', async () => {
    const account = await app.account()
    const status = async (caller: Caller, space = account.space) => (await send(caller, space, 'Name\na\n', '?dry_run=true')).status
    for (const caller of [account.owner, account.admin, account.keys.account]) expect(await status(caller)).toBe(200)
    for (const caller of [
      account.member,
      account.viewer,
      account.keys.personal,
      account.keys.accountReadOnly,
      account.keys.accountOtherSpace,
    ])
      expect(await status(caller)).toBe(403)
    expect(await status(null)).toBe(401)
    expect(await status(account.outsider)).toBe(404)
    expect(await status(account.keys.accountOutsider)).toBe(404)
    expect(await status(account.owner, 999_999)).toBe(404)
  })

  test('and only they see its job', async () => {
    const account = await app.account()
    const { job_id } = (await send(account.keys.account, account.space, 'Name\na\n')).body
    await ended(account.keys.account, job_id)
    const status = async (caller: Caller) => (await app.as(caller).get(`/api/job/${job_id}`)).status
    expect(await status(account.admin)).toBe(200)
    expect(await status(account.member)).toBe(403)
    expect(await status(account.keys.accountOtherSpace)).toBe(403)
    expect(await status(account.outsider)).toBe(404)
  })
})

const TITLE = 'Name'
const sheetOf = (rows: readonly (readonly Cell[])[], more: object = {}) => workbook({ sheets: { Data: rows }, ...more })

describe('a workbook', () => {
  test('becomes a table with its dates, times, numbers and checkboxes', async () => {
    const account = await app.account()
    const rows: Cell[][] = [
      [TITLE, 'Day', 'Moment', 'Hour', 'Amount', 'Done', 'Code', 'Formula', 'Broken'],
      [
        ...['Acme', serial(46112), serial(46112.3125, 'instant'), serial(0.395833333333333, 'time'), 0.1 + 0.2, true, '007'],
        ...[{ xml: '<f>1+1</f><v>2</v>' }, { xml: '<f>1/0</f><v>#DIV/0!</v>', type: 'e' }],
      ],
      [],
      ['Bolt', serial(61), serial(46112, 'instant'), null, 1e-7, false, '12', { xml: '<f>1+1</f><v>2</v>' }, 'fine'],
    ]
    const { fields } = await guess(account, sheetOf(rows), XLSX)
    expect(typesOf({ fields })).toEqual({
      ...{ Name: 'text', Day: 'date', Moment: 'datetime', Hour: 'time', Amount: 'number', Done: 'checkbox', Code: 'text' },
      ...{ Formula: 'number', Broken: 'text' },
    })
    const { table_id, job_id } = (await send(account.owner, account.space, sheetOf(rows), '', XLSX)).body
    expect((await ended(account.owner, job_id)).created).toBe(2)
    const [acme, bolt] = await rowsOf(account, table_id)
    expect(acme).toMatchObject({ day: '2026-03-31', moment: '2026-03-31 07:30:00', hour: '09:30:00', amount: 0.3, done: true, code: '007' })
    expect(acme).toMatchObject({ formula: 2, broken: null })
    expect(bolt).toMatchObject({ day: '1900-03-01', moment: '2026-03-31 00:00:00', hour: null, amount: 1e-7 })
    await vi.waitFor(async () => expect(await storedFiles()).toEqual([]), PATIENCE)
  })

  test('may count its days from 1904', async () => {
    const account = await app.account()
    const { table_id, job_id } = (
      await send(
        account.owner,
        account.space,
        sheetOf(
          [
            ['Name', 'Day'],
            ['a', serial(44650)],
          ],
          { is1904: true },
        ),
        '',
        XLSX,
      )
    ).body
    await ended(account.owner, job_id)
    expect(await rowsOf(account, table_id)).toMatchObject([{ day: '2026-03-31' }])
  })

  test('is read sheet by sheet, by name or the first', async () => {
    const account = await app.account()
    const book = workbook({ sheets: { First: [['A'], ['x']], 'Zweites & mehr': [['B'], ['y']] } })
    const names = async (query: string) => {
      const { status, body } = await send(account.owner, account.space, book, `?dry_run=true${query}`, XLSX)
      return status === 200 ? body.fields.map(({ name }: { name: string }) => name) : [status, body.message]
    }
    expect(await names('')).toEqual(['A'])
    expect(await names('&sheet=Zweites%20%26%20mehr')).toEqual(['B'])
    expect(await names('&sheet=None')).toEqual([400, 'sheet: is not a sheet of the workbook'])
  })

  test('with merged cells, formulas of others and texts like formulas keeps what is there', async () => {
    const account = await app.account()
    const rows: Cell[][] = [
      ['Name', 'Note'],
      ['=1+1', '-x'],
      [null, "'=y"],
      ['_x0041_', 'plain'],
    ]
    const book = sheetOf(rows, { after: '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>' })
    const { table_id, job_id } = (await send(account.owner, account.space, book, '', XLSX)).body
    await ended(account.owner, job_id)
    expect(await rowsOf(account, table_id)).toMatchObject([
      { name: '=1+1', note: '-x' },
      { name: null, note: "'=y" },
      { name: 'A', note: 'plain' },
    ])
  })

  test('is recognised by its bytes, whatever type the request names', async () => {
    const account = await app.account()
    expect(typesOf(await guess(account, sheetOf([['Name'], ['a']])))).toEqual({ Name: 'text' })
    expect(typesOf(await guess(account, 'Name\na\n', XLSX))).toEqual({ Name: 'text' })
  })

  const bomb = deflated('xl/workbook.xml', Buffer.alloc(201 * 1_048_576))
  const largeZip = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(20 * 1_048_576)])
  const lastCell = '<worksheet><sheetData><row r="1"><c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
  const withSheet = (xml: string) =>
    stored(parts({ sheets: { Data: [] } }).map((part) => (part.name.includes('sheet1') ? { ...part, bytes: Buffer.from(xml) } : part)))
  test.each<[string, Buffer, number, string | RegExp]>([
    [
      'no workbook in it',
      deflated('word/document.xml', Buffer.from('<w/>')),
      400,
      'The file is not an XLSX workbook: it has no xl/workbook.xml',
    ],
    ['half of its bytes', sheetOf([['Name'], ['a']]).subarray(0, 400), 400, 'The file is not an XLSX workbook: it is damaged'],
    ['nothing but a signature', Buffer.from('PK\x03\x04'), 400, 'The file is not an XLSX workbook: it is damaged'],
    ['XML that is none', deflated('xl/workbook.xml', Buffer.from('<<<')), 400, /^The file is not an XLSX workbook/],
    ['an empty sheet', sheetOf([]), 400, 'The file is empty: its first row must name the fields'],
    ['201 MB unpacked', bomb, 413, 'The workbook is larger than 200 MB unpacked'],
    [
      '201 MB that are stated to be one',
      deflated('xl/workbook.xml', Buffer.concat([Buffer.from('<workbook>'), Buffer.alloc(201 * 1_048_576, ' ')]), 1),
      413,
      'The workbook is larger than 200 MB unpacked',
    ],
    ['its last possible cell', withSheet(lastCell), 400, 'The sheet has 16384 columns; at most 1000 are read'],
    [
      'a million empty rows and more',
      withSheet(`<worksheet><sheetData>${'<row/>'.repeat(1_048_577)}</sheetData></worksheet>`),
      400,
      'A sheet has more than 1048576 rows',
    ],
    ['over 20 MB', largeZip, 413, 'The file is larger than 20 MB'],
    [
      '1,001 columns',
      sheetOf([Array.from({ length: 1_001 }, (_, i) => `c${i}`), ['1']]),
      400,
      'The sheet has 1001 columns; at most 1000 are read',
    ],
  ])('with %s is refused and leaves nothing', async (_, body, status, message) => {
    const account = await app.account()
    const answer = await send(account.owner, account.space, body, '', XLSX)
    expect([answer.status, answer.body.message]).toEqual([status, typeof message === 'string' ? message : expect.stringMatching(message)])
    expect(await tablesOf(account)).toEqual([])
    expect(await storedFiles()).toEqual([])
  })

  test('that takes all its time keeps that of another account from nothing', async () => {
    const hostile = withSheet(`<worksheet><sheetData>${'<row><c><v>1</v></c></row>'.repeat(1_000_000)}</sheetData></worksheet>`)
    const [first, second] = [await app.account(), await app.account()]
    const hangUp = new AbortController()
    const reading = sheetAsCsv(hostile, { sheet: undefined, accountId: first.id, signal: hangUp.signal }).next()
    const waiting = sheetAsCsv(hostile, { sheet: undefined, accountId: first.id, signal: hangUp.signal }).next()
    expect(typesOf(await guess(second, sheetOf([['Name'], ['a']]), XLSX))).toEqual({ Name: 'text' })
    hangUp.abort(new Error('hung up'))
    const ends = await Promise.allSettled([reading, waiting])
    expect(ends.map(({ status, reason }: { status: string; reason?: Error }) => [status, reason?.message])).toEqual([
      ['rejected', 'hung up'],
      ['rejected', 'hung up'],
    ])
  })

  test('over 20 MB is refused also as text/csv, which may be larger', async () => {
    const account = await app.account()
    const answer = await send(account.owner, account.space, largeZip)
    expect([answer.status, answer.body.message]).toEqual([413, 'The file is larger than 20 MB'])
  })
})

describe('an import that is refused after its answer', () => {
  test('removes the table that it was to fill, and tells why', async () => {
    const account = await app.account()
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    const { table_id, job_id } = (await send(account.owner, account.space, 'Name,Amount\na,1\n', '?title=Deals')).body
    sending.mockRestore()
    const deletion = await app.as(account.owner).post(`/api/table/${table_id}/field/amount/delete`, {})
    expect(deletion.status).toBe(200)
    await app.deps.jobs.send(runImport, { import_id: job_id })
    expect(await ended(account.owner, job_id)).toEqual({
      state: 'refused',
      done: 0,
      total: 1,
      error: 'row 1, Amount: its field has been deleted',
      issues: [{ row: 1, column: 'Amount', message: 'its field has been deleted' }],
    })
    expect(await tablesOf(account)).toEqual([])
    expect((await app.as(account.owner).get(`/api/table/${table_id}/get`)).status).toBe(404)
    await vi.waitFor(async () => expect(await storedFiles()).toEqual([]), PATIENCE)
  })

  test('is cancelled with its table', async () => {
    const account = await app.account()
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    const { table_id, job_id } = (await send(account.owner, account.space, 'Name\na\n')).body
    sending.mockRestore()
    await app.as(account.owner).post(`/api/table/${table_id}/delete`, {})
    await app.deps.jobs.send(runImport, { import_id: job_id })
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'cancelled', error: 'The table has been deleted' })
  })

  test.each<[string, (account: TestAccount) => Promise<unknown>, string]>([
    [
      'removed',
      ({ owner, space, admin }) => app.as(owner).post(`/api/space/${space}/member/${admin.id}/remove`),
      'The sender has lost the right to do this: Not authorized',
    ],
    [
      'a viewer',
      ({ owner, space, admin }) => app.as(owner).post(`/api/space/${space}/member/${admin.id}/update`, { role: 'viewer' }),
      'The sender has lost the right to do this: Not authorized',
    ],
    [
      'gone',
      ({ admin }) => app.db.write(sql`update users set status = 'deleted' where id = ${admin.id}`),
      'The sender has lost the right to do this: the user was deleted',
    ],
  ])('imports nothing if its sender is %s by then', async (_, lose, error) => {
    const account = await app.account()
    const existing = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }] })
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    const { job_id } = (await send(account.admin, account.space, 'Name\na\n', '?title=Deals')).body
    const into = { method: 'POST', body: 'Name\na\n', headers: { 'content-type': 'text/csv' } }
    const { body: second } = await app.as(account.admin).send(`${existing.path}/import?async=true`, into)
    sending.mockRestore()
    await lose(account)
    for (const id of [job_id, second.job_id]) {
      await app.deps.jobs.send(runImport, { import_id: id })
      expect(await ended(account.owner, id)).toMatchObject({ state: 'refused', error, issues: [] })
    }
    expect(await rowsOf(account, existing.id)).toEqual([])
    expect(await tablesOf(account)).not.toContain('Deals')
  })

  test('imports nothing if its key is revoked, or its sender removed, while the rows are read', async () => {
    const account = await app.account()
    const { id, path } = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }] })
    const key = await account.keyOf({ accountId: account.id, userId: account.owner.id }, { kind: 'account' })
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    const into = { method: 'POST', body: 'Name\na\n', headers: { 'content-type': 'text/csv' } }
    const jobs = [
      (await app.as(key).send(`${path}/import?async=true`, into)).body,
      (await app.as(account.member).send(`${path}/import?async=true`, into)).body,
    ]
    sending.mockRestore()
    const read = app.deps.storage.read.bind(app.deps.storage)
    const losses = [
      () => app.db.write(sql`delete from api_keys where token_hash = ${tokenHash(key)}`),
      () => app.as(account.owner).post(`/api/space/${account.space}/member/${account.member.id}/remove`),
    ]
    const reading = vi.spyOn(app.deps.storage, 'read').mockImplementation(async (file) => {
      await losses.shift()?.()
      return read(file)
    })
    onTestFinished(() => reading.mockRestore())
    const errors = []
    for (const { job_id } of jobs) {
      await run(systemContext(app.deps), { import_id: job_id })
      errors.push((await app.as(account.owner).get(`/api/job/${job_id}`)).body.error)
    }
    expect(errors).toEqual([
      'The sender has lost the right to do this: the API key was deleted',
      'The sender has lost the right to do this: Not authorized',
    ])
    expect(await rowsOf(account, id)).toEqual([])
    expect(await app.db.read(sql`select from audit_entries where table_id = ${id} and action = 'records.imported'`)).toEqual([])
  })

  test('leaves a lost job to the schedule, which imports the rows once', async () => {
    const account = await app.account()
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    const { table_id, job_id } = (await send(account.owner, account.space, 'Name\na\n')).body
    sending.mockRestore()
    await app.db.write(sql`update record_imports set updated_at = now() - interval '1 hour' where id = ${job_id}`)
    await resumeAll(systemContext(app.deps))
    await app.deps.jobs.send(runImport, { import_id: job_id })
    expect(await ended(account.owner, job_id)).toMatchObject({ state: 'done', created: 1 })
    await app.deps.jobs.send(runImport, { import_id: job_id })
    expect(await rowsOf(account, table_id)).toHaveLength(1)
  })

  test('waits while another import into its table is running, which is no failure of its job', async () => {
    const account = await app.account()
    const { id, path } = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }] })
    const another = await app.db.connect()
    await another.query(`select pg_advisory_lock(${0x637376}, ${id})`)
    const into = { method: 'POST', body: 'Name\na\n', headers: { 'content-type': 'text/csv' } }
    const [first, second] = await Promise.all([0, 1].map(() => app.as(account.member).send(`${path}/import?async=true`, into)))
    const jobs = [first?.body.job_id, second?.body.job_id].toSorted((a, b) => a - b)
    const attempts = (state: 'waiting' | 'ended') =>
      app.db.read(sql`
        select distinct (data ->> 'import_id')::int as id, output from pgboss.job where name = ${runImport.name}
          and (data ->> 'import_id')::int = any(${jobs}) and (state = 'completed') = ${state === 'ended'} order by 1`)
    const each = jobs.map((job_id) => ({ id: job_id, output: null }))
    await expect.poll(() => attempts('ended')).toEqual(each)
    expect(await attempts('waiting')).toEqual(each)
    expect((await app.as(account.owner).get(`/api/job/${jobs[0]}`)).body).toMatchObject({ state: 'running', done: 0 })
    await another.end()
    for (const import_id of jobs) {
      await app.deps.jobs.send(runImport, { import_id })
      expect(await ended(account.owner, import_id)).toMatchObject({ state: 'done', created: 1 })
    }
    expect(await rowsOf(account, id)).toHaveLength(2)
    await expect.poll(() => attempts('waiting')).toEqual([])
    expect(await attempts('ended')).toEqual(each)
  })

  test('imports once when it runs twice at once, and after an attempt that broke off', async () => {
    const account = await app.account()
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    const { table_id, job_id } = (await send(account.owner, account.space, 'Name\na\nb\n')).body
    const attempt = () => run(systemContext(app.deps), { import_id: job_id })
    const reading = vi.spyOn(app.deps.storage, 'read').mockRejectedValueOnce(new Error('connection lost'))
    await expect(attempt()).rejects.toThrow('connection lost')
    reading.mockRestore()
    expect((await app.as(account.owner).get(`/api/job/${job_id}`)).body).toMatchObject({ state: 'running', done: 0, total: 2 })
    await Promise.allSettled([attempt(), attempt(), attempt()])
    expect(await rowsOf(account, table_id)).toHaveLength(2)
    expect((await app.as(account.owner).get(`/api/job/${job_id}`)).body).toMatchObject({ state: 'done', created: 2 })
  })

  test('fails after eight attempts, and leaves no table', async () => {
    const account = await app.account()
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    const { job_id } = (await send(account.owner, account.space, 'Name\na\n')).body
    const reading = vi.spyOn(app.deps.storage, 'read').mockRejectedValue(new Error('connection lost'))
    onTestFinished(() => [sending, reading].forEach((spy) => void spy.mockRestore()))
    for (let attempt = 1; attempt < 8; attempt++) await expect(run(systemContext(app.deps), { import_id: job_id })).rejects.toThrow()
    await run(systemContext(app.deps), { import_id: job_id })
    const job = (await app.as(account.owner).get(`/api/job/${job_id}`)).body
    expect(job).toMatchObject({ state: 'failed', error: 'The import failed 8 times', issues: [] })
    expect(await tablesOf(account)).toEqual([])
  })

  test('counts against the five that an account may have', async () => {
    const account = await app.account()
    const sending = vi.spyOn(app.deps.jobs, 'send').mockResolvedValue()
    onTestFinished(() => sending.mockRestore())
    for (let i = 0; i < 5; i++) expect((await send(account.owner, account.space, 'Name\na\n')).status).toBe(200)
    const sixth = await send(account.owner, account.space, 'Name\na\n', '?title=Sixth')
    expect([sixth.status, sixth.body.message]).toEqual([409, 'The account has 5 unfinished imports; wait for one of them'])
    expect(await tablesOf(account)).not.toContain('Sixth')
    await app.db.write(sql`update record_imports set state = 'failed' where account_id = ${account.id}`)
  })
})

describe('an import into a table with async', () => {
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Amount', type: 'number' },
  ]
  const sendTo = (caller: Caller, table: number, body: string, query = '?async=true') =>
    app.as(caller).send(`/api/table/${table}/import${query}`, { method: 'POST', body, headers: { 'content-type': 'text/csv' } })

  test('answers a job, which creates the records', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, { fields })
    const { status, body } = await sendTo(account.member, id, 'Name,Amount\na,1\nb,2\n')
    expect([status, Object.keys(body)]).toEqual([200, ['job_id']])
    expect(await ended(account.member, body.job_id)).toEqual({
      state: 'done',
      done: 2,
      total: 2,
      error: null,
      created: 2,
      change_id: expect.any(Number),
      issues: [],
    })
    expect(await rowsOf(account, id)).toMatchObject([{ name: 'a', created_by: { id: account.member.id } }, { name: 'b' }])
    expect((await app.as(account.viewer).get(`/api/job/${body.job_id}`)).status).toBe(403)
    expect(await ended(account.keys.personal, body.job_id)).toMatchObject({ created: 2 })
  })

  test('names the first hundred refused cells in the job, and creates nothing', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, { fields })
    const { job_id } = (await sendTo(account.keys.account, id, `Name,Amount\n${'a,many\n'.repeat(150)}`)).body
    const job = await ended(account.keys.account, job_id)
    expect(job).toMatchObject({ state: 'refused', error: expect.stringContaining('row 2, Amount: must be a number') })
    expect(job.issues).toHaveLength(100)
    expect(job.issues[0]).toEqual({ row: 2, column: 'Amount', message: 'must be a number' })
    expect(await rowsOf(account, id)).toEqual([])
    expect((await app.as(account.owner).get(`/api/table/${id}/get`)).status).toBe(200)
  })

  test('is refused where an import is, and without async stays as it was', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, { fields })
    expect((await sendTo(account.viewer, id, 'Name\na\n')).status).toBe(403)
    expect((await sendTo(account.outsider, id, 'Name\na\n')).status).toBe(404)
    expect((await sendTo(account.owner, id, 'Name\na\n', '?async=maybe')).status).toBe(400)
    expect((await sendTo(account.owner, id, 'Name\na\n', '?async=false')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect((await sendTo(account.owner, id, 'Name\na\n', '')).body).toEqual({ created: 1, change_id: expect.any(Number) })
  })
})
