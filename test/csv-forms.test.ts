/** What files of CSV mean that other programs write: separators, encodings, forms of rows, and values that a guess must not change. */
import { describe, expect, test } from 'vitest'
import { type TestAccount, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { serial, workbook } from './support/xlsx.ts'

const app = await testApp({}, { worker: true })
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

const send = (account: TestAccount, path: string, body: string | Buffer, type = 'text/csv') =>
  app.as(account.owner).send(path, { method: 'POST', body: body as string, headers: { 'content-type': type } })
const newTable = (account: TestAccount, body: string | Buffer, query = '', type?: string) =>
  send(account, `/api/space/${account.space}/tables/import${query}`, body, type)
const ended = async (account: TestAccount, job: number) => {
  const read = async () => (await app.as(account.owner).get(`/api/job/${job}`)).body
  await expect.poll(async () => (await read()).state).not.toBe('running')
  return read()
}
const recordsOf = async (account: TestAccount, table: number) =>
  (await app.as(account.owner).post(`/api/table/${table}/records/query`, { limit: 1_000 })).body

/** The table that a file becomes: the names and types of its fields, its rows, and the end of its job. */
async function tableOf(body: string | Buffer, query = '', type?: string) {
  const account = await app.account()
  const { status, body: started } = await newTable(account, body, query, type)
  expect(status, JSON.stringify(started)).toBe(200)
  const job = await ended(account, started.job_id)
  expect(job).toMatchObject({ state: 'done' })
  const fields = (await app.as(account.owner).get(`/api/table/${started.table_id}/get`)).body.fields.slice(1, -4)
  const records = await recordsOf(account, started.table_id)
  return {
    names: fields.map(({ name }: { name: string }) => name),
    types: fields.map(({ type }: { type: string }) => type),
    rows: records.map((record: Record<string, unknown>) => fields.map(({ id }: { id: string }) => record[id])),
    job,
  }
}
const dryRun = async (body: string | Buffer, query = '', type?: string) =>
  (await newTable(await app.account(), body, `?dry_run=true${query}`, type)).body

describe('the separator', () => {
  test.each<[string, string, string[], unknown[]]>([
    [
      'is a semicolon beside a comma in the header',
      'Artikel;Preis, netto;Menge\nHammer;1,50;2\nZange;2,75;3\n',
      ['Artikel', 'Preis, netto', 'Menge'],
      ['Hammer', 1.5, 2],
    ],
    ['is no decimal comma', 'Jahr;Einkommen, Median\n2020;1,5\n2021;2,5\n', ['Jahr', 'Einkommen, Median'], [2020, 1.5]],
    [
      'is a tab beside commas in all rows',
      'Name\tCity, State\tAge\nBob\tAustin, TX\t5\n',
      ['Name', 'City, State', 'Age'],
      ['Bob', 'Austin, TX', 5],
    ],
    ['is a semicolon beside a tab', 'Name;Ci\tty\na;b\n', ['Name', 'Ci ty'], ['a', 'b']],
    ['is a semicolon beside a comma in the last header', 'a;b;c, d\n1;2;3\n', ['a', 'b', 'c, d'], [1, 2, 3]],
    ['is a pipe', 'One|Two|Three\nx|y|3\nz|w|4\n', ['One', 'Two', 'Three'], ['x', 'y', 3]],
    ['is a comma beside semicolons in cells', 'Name,Note\nx,one; two\ny,three\n', ['Name', 'Note'], ['x', 'one; two']],
    ['is a comma beside a pipe and a semicolon in the header', 'Name|Alias,Note; more\nx,y\n', ['Name|Alias', 'Note; more'], ['x', 'y']],
    ['is that of most rows, not of all', 'a;b, c;d\n1;2,5;3\n4;5,5\n6;7,5;8\n', ['a', 'b, c', 'd'], [1, 2.5, 3]],
    ['is not in quotes', '"a;b";"c,d"\n"1,2";"3;4"\n', ['a;b', 'c,d'], [1.2, '3;4']],
    ['is a semicolon if all rows are short', 'Key;Count;Note\nx;2\ny;4\n', ['Key', 'Count', 'Note'], ['x', 2, null]],
    ['is one that the rows have', 'Note; internal\nhello\nworld\n', ['Note; internal'], ['hello']],
    ['is what the first line names', 'sep=;\nOne;Two, more\na;2\n', ['One', 'Two, more'], ['a', 2]],
    ['is what the first line names in quotes', '\uFEFF"sep=|"\r\nOne|Two\r\na|2\r\n', ['One', 'Two'], ['a', 2]],
    ['is a sign of its own that the first line names', 'sep=^\nOne^Two\na,b^2\n', ['One', 'Two'], ['a,b', 2]],
    ['is what the first line names, filled to the width of the header', 'sep=;;;\nOne;Two, more\na;2\n', ['One', 'Two, more'], ['a', 2]],
    ['is a tab that the first line names', 'sep=\t\nOne\tTwo\na\t2\n', ['One', 'Two'], ['a', 2]],
  ])('%s', async (_, file, names, first) => {
    const { names: found, rows } = await tableOf(file)
    expect(found).toEqual(names)
    expect(rows[0]).toEqual(first)
  })

  test('is the same however the file arrives', async () => {
    const account = await app.account()
    const file = Buffer.from(`a;b, c\n${'1;2,5\n'.repeat(3_000)}${'x,y\n'.repeat(10)}`)
    const trickled = new ReadableStream({
      start(body) {
        for (let at = 0; at < file.length; at += 97) body.enqueue(file.subarray(at, at + 97))
        body.close()
      },
    })
    const path = `/api/space/${account.space}/tables/import?dry_run=true`
    const sent = { method: 'POST', headers: { 'content-type': 'text/csv' }, body: trickled, duplex: 'half' } as RequestInit
    expect((await app.as(account.owner).send(path, sent)).body).toMatchObject({ separator: ';', rows: 3_010 })
    expect((await newTable(account, file, '?dry_run=true')).body).toMatchObject({ separator: ';', rows: 3_010 })
  })

  test('is that whose header names the fields of the table', async () => {
    const account = await app.account()
    const fields = ['Name', 'City, State', 'A;B', 'X|Y,Z'].map((name) => ({ name, type: 'text' }))
    const { id, path } = await makeTable(app, account, { fields })
    const into = async (body: string) => (await send(account, `${path}/import`, body)).body
    expect(await into('Name|City, State\nx|a, b\n')).toEqual({ created: 1, change_id: expect.any(Number) })
    expect(await into('Name;City, State\nx;a\n')).toEqual({ created: 1, change_id: expect.any(Number) })
    expect(await into('City, State;Name\na, b, c;y\n')).toEqual({ created: 1, change_id: expect.any(Number) })
    // The name of one field is one column, whatever is in it and in the rows.
    expect(await into('A;B\nx;y\n')).toEqual({ created: 1, change_id: expect.any(Number) })
    expect(await into('X|Y,Z\na,b\n')).toEqual({ created: 1, change_id: expect.any(Number) })
    expect(await into('Name;Nobody, x\nx;y\n')).toMatchObject({ issues: [{ row: 1, column: 'Nobody, x' }] })
    const rows = await recordsOf(account, id)
    expect(rows.map((row: Record<string, unknown>) => [row.name, row.city_state, row.a_b, row.x_y_z])).toEqual([
      ['x', 'a, b', null, null],
      ['x', 'a', null, null],
      ['y', 'a, b, c', null, null],
      [null, null, 'x;y', null],
      [null, null, null, 'a,b'],
    ])
  })
})

describe('a row', () => {
  test.each<[string, string, string[], unknown[][]]>([
    [
      'with blanks before quotes',
      '"Name", "Item", "Cost"\nx, "Wrench, 18 pieces", 7.97\ny,\t"Socks" , 2.97\n',
      ['Name', 'Item', 'Cost'],
      [
        ['x', 'Wrench, 18 pieces', 7.97],
        ['y', 'Socks', 2.97],
      ],
    ],
    [
      'with inches',
      'Name,Size\nTV,19" wide\nPhone,6"\nTable,5\' 6" x 3"\n',
      ['Name', 'Size'],
      [
        ['TV', '19" wide'],
        ['Phone', '6"'],
        ['Table', '5\' 6" x 3"'],
      ],
    ],
    ['that keeps blanks without quotes', 'Name,Note\nx,  y z \n', ['Name', 'Note'], [['x', '  y z ']]],
    [
      'of separators',
      ',\nKey,Count\nx,2\n,\ny,4\n,\n',
      ['Key', 'Count'],
      [
        ['x', 2],
        ['y', 4],
      ],
    ],
    [
      'of empty cells in quotes',
      'Key,Count\nx,2\n"",""\n',
      ['Key', 'Count'],
      [
        ['x', 2],
        [null, null],
      ],
    ],
    [
      'before Ctrl-Z',
      'Key,Count\nx,2\ny,4\n\x1a',
      ['Key', 'Count'],
      [
        ['x', 2],
        ['y', 4],
      ],
    ],
    [
      'that ends with Ctrl-Z',
      'Key,Count\nx,2\ny,4\x1a',
      ['Key', 'Count'],
      [
        ['x', 2],
        ['y', 4],
      ],
    ],
    [
      'in quotes that ends with Ctrl-Z',
      'Key,Count\r\nx,2\r\n"y","4"\x1a\0\0',
      ['Key', 'Count'],
      [
        ['x', 2],
        ['y', 4],
      ],
    ],
    ['with Ctrl-Z within', 'Key,Count\nx\x1ay,2\n', ['Key', 'Count'], [['x\x1ay', 2]]],
    [
      'after separators that end each line',
      'Key,Count,\nx,2,\ny,4,\n',
      ['Key', 'Count'],
      [
        ['x', 2],
        ['y', 4],
      ],
    ],
  ])('%s is read', async (_, file, names, rows) => {
    expect(await tableOf(file)).toMatchObject({ names, rows })
  })

  test('that is short is filled, empty cells beyond the header are cut, and all answers tell the lines', async () => {
    const file = `Key,Count,Note\nx,2\n\n"y\nz",4,five,\nw,,,,\n${'v\n'.repeat(12)}`
    const filled = { rows: 13, lines: [2, 7, 8, 9, 10, 11, 12, 13, 14, 15] }
    const cut = { rows: 2, lines: [4, 6] }
    expect(await dryRun(file)).toMatchObject({ filled, cut, rows: 15 })
    const { rows, job } = await tableOf(file)
    expect(rows.slice(0, 4)).toEqual([
      ['x', 2, null],
      ['y\nz', 4, 'five'],
      ['w', null, null],
      ['v', null, null],
    ])
    expect(job).toMatchObject({ created: 15, filled, cut })
    const account = await app.account()
    const fields = ['Key', 'Count', 'Note'].map((name) => ({ name, type: 'text' }))
    const { path } = await makeTable(app, account, { fields })
    expect((await send(account, `${path}/import`, file)).body).toEqual({ created: 15, change_id: expect.any(Number), filled, cut })
    const { job_id } = (await send(account, `${path}/import?async=true`, file)).body
    expect(await ended(account, job_id)).toMatchObject({ created: 15, filled, cut })
    const { job_id: even } = (await send(account, `${path}/import?async=true`, 'Key\nx\n')).body
    expect(Object.keys(await ended(account, even))).not.toContain('filled')
    expect((await send(account, `${path}/import`, 'Key,Count,\nx,2,\n')).body).toEqual({
      created: 1,
      change_id: expect.any(Number),
      cut: { rows: 1, lines: [2] },
    })
    expect((await send(account, `${path}/import`, 'Key,Count,\nx,2,z\n')).body.issues).toEqual([
      { row: 2, column: null, message: 'has 3 cells, the header has 2' },
    ])
  })

  test('that are empty, or begin or end with Ctrl-Z, come back from an export', async () => {
    const account = await app.account()
    const rows = [
      { key: null, note: null },
      { key: '\x1a', note: 'one' },
      { key: 'two', note: 'y\x1a' },
    ]
    const fields = ['Key', 'Note'].map((name) => ({ name, type: 'text' }))
    const { id, path } = await makeTable(app, account, { fields, records: rows })
    const view = { name: 'Notes', type: 'grid', config: { columns: ['key', 'note'] } }
    const { body } = await app.as(account.owner).post(`${path}/views/create`, view)
    const file = (await app.as(account.owner).get(`${path}/export.csv?view_id=${body.id}`)).body
    expect((await send(account, `${path}/import`, file)).body).toEqual({ created: rows.length, change_id: expect.any(Number) })
    expect(await recordsOf(account, id)).toMatchObject([...rows, ...rows])
  })

  test.each<[string, string, string]>([
    ['more values than the header has', 'Key,Count\nx,2\ny,4,5\n', 'row 3: has 3 cells, the header has 2'],
    ['words above the header', 'Report of March\nKey,Count\nx,2\n', 'row 2: has 2 cells, the header has 1'],
    [
      'a quote that closes too early',
      'a,b\n1,"x" y\n',
      'row 2: unexpected quote; enclose the cell in quotes and double the quotes within it',
    ],
  ])('with %s is refused', async (_, file, message) => {
    expect(await newTable(await app.account(), file)).toMatchObject({ status: 400, body: { message } })
  })
})

describe('the encoding', () => {
  const hex = (bytes: string) => Buffer.from(bytes, 'hex')
  const GB2312 = hex('d0d5c3fb2cb3c7cad00ad5c5c8fd2cb1b1bea90ac0eecbc42cc9cfbaa30a')
  const SHIFT_JIS = hex('96bc914f2c93738e730a8e52936391be98592c938c8b9e0a')
  const CYRILLIC = hex('e8ecff2ce3eef0eee40ac8e2e0ed2ccceef1eae2e00acfb8f2f02ccae0e7e0edfc0a')
  const KOI8 = hex('c9cdd12cc7cfd2cfc40ae9d7c1ce2cedcfd3cbd7c10a')
  const LATIN_9 = hex('6e6f6d2c707269780a43bd75722c313020a40a')

  test.each<[string, Buffer, string, string | undefined, string[], unknown[], string]>([
    ['the query string', CYRILLIC, '?encoding=windows-1251', undefined, ['имя', 'город'], ['Иван', 'Москва'], 'windows-1251'],
    ['the query string, by another label', KOI8, '?encoding=KOI', undefined, ['имя', 'город'], ['Иван', 'Москва'], 'koi8-r'],
    [
      'the query string, over a charset',
      CYRILLIC,
      '?encoding=cp1251',
      'text/csv; charset=gbk',
      ['имя', 'город'],
      ['Иван', 'Москва'],
      'windows-1251',
    ],
    [
      'the query string, over the bytes',
      Buffer.from('a,b\né,ü\n'),
      '?encoding=latin1',
      undefined,
      ['a', 'b'],
      ['Ã©', 'Ã¼'],
      'windows-1252',
    ],
    [
      'the query string, of two bytes',
      Buffer.from('a,b\né,ü\n', 'utf16le').swap16(),
      '?encoding=utf-16be',
      undefined,
      ['a', 'b'],
      ['é', 'ü'],
      'UTF-16',
    ],
    ['the charset', GB2312, '', 'text/csv; charset=gbk', ['姓名', '城市'], ['张三', '北京'], 'gbk'],
    ['the charset in quotes', SHIFT_JIS, '', 'text/csv; charset="Shift_JIS"', ['名前', '都市'], ['山田太郎', '東京'], 'shift_jis'],
    ['the charset of a Latin alphabet', LATIN_9, '', 'text/csv; charset=iso-8859-15', ['nom', 'prix'], ['Cœur', '10 €'], 'iso-8859-15'],
    [
      'no hint',
      Buffer.from('nom,ville\nJosé,Orléans\n', 'latin1'),
      '',
      'text/csv; charset=utf-8',
      ['nom', 'ville'],
      ['José', 'Orléans'],
      'windows-1252',
    ],
    [
      'UTF-8, whatever name of ASCII a program sends',
      Buffer.from('a,b\né,ü\n'),
      '',
      'text/csv; charset=ascii',
      ['a', 'b'],
      ['é', 'ü'],
      'UTF-8',
    ],
    ['no charset over a mark', Buffer.from('\uFEFFa,b\né,ü\n'), '', 'text/csv; charset=windows-1251', ['a', 'b'], ['é', 'ü'], 'UTF-8'],
  ])('is that of %s', async (_, bytes, query, type, names, first, encoding) => {
    const { names: found, rows } = await tableOf(bytes, query, type)
    expect([found, rows[0]]).toEqual([names, first])
    expect(await dryRun(bytes, query.replace('?', '&'), type)).toMatchObject({ encoding })
  })

  test('counts for imports into a table, by a job as well', async () => {
    const account = await app.account()
    const { id, path } = await makeTable(app, account, {
      fields: ['имя', 'город'].map((name, index) => ({ id: `f${index}`, name, type: 'text' })),
    })
    expect((await send(account, `${path}/import?encoding=windows-1251`, CYRILLIC)).body).toEqual({
      created: 2,
      change_id: expect.any(Number),
    })
    const { job_id } = (await send(account, `${path}/import?async=true&encoding=koi8-r`, KOI8)).body
    expect(await ended(account, job_id)).toMatchObject({ created: 1 })
    const { job_id: byType } = (await send(account, `${path}/import?async=true`, CYRILLIC, 'text/csv; charset=windows-1251')).body
    expect(await ended(account, byType)).toMatchObject({ created: 2 })
    expect((await recordsOf(account, id)).map(({ f0 }: { f0: string }) => f0)).toEqual(['Иван', 'Пётр', 'Иван', 'Иван', 'Пётр'])
    const refused = await send(account, `${path}/import`, CYRILLIC)
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining('windows-1251')])
  })

  test.each<[string, Buffer, string]>([
    ['Chinese', GB2312, 'gbk'],
    ['Japanese', SHIFT_JIS, 'shift_jis'],
    ['Russian', CYRILLIC, 'windows-1251'],
    ['Russian in KOI8', KOI8, 'koi8-r'],
    ['Greek', hex('fcedefece12cf0fcebe70acddfeaeff22cc1e8deede10a'), 'windows-1253'],
    ['Hebrew', hex('6e616d652c636974790a44617669642ce7e9f4e40a'), 'windows-1255'],
    ['Arabic', hex('c7e1c7d3e32cc7e1e3cfede4c90ac3cde3cf2cc7e1dec7e5d1c90a'), 'windows-1256'],
    ['Thai', hex('aad7e8cd2ce0c1d7cda70acac1aad2c22ca1c3d8a7e0b7be0a'), 'windows-874'],
    ['Polish', hex('6e616d652c636974790a416e6e612ca3f3649f0a4c6563682c4b72616bf3770a'), 'windows-1250'],
    ['Turkish', hex('61642cfe656869720a4179fe652cdd7374616e62756c0ac761f06c612c49f064fd720a'), 'windows-1254'],
    [
      'Turkish beside an accent',
      hex('61642c73656869720a47fc6c2c4d75f06c610a49fefd6c2c45736b69fe656869720a4179fe652c49f064fd720a52656ee92c4261f063fd6c61720a'),
      'windows-1254',
    ],
    ['Korean', hex('6e616d652c636974790a4b696d2cbcadbfef0a4c65652cbacebbea0a'), 'euc-kr'],
    ['Russian of a Mac', hex('e8ecdf2ce3eef0eee40a8ce0f0e8df2c8ceef1eae2e00a'), 'x-mac-cyrillic'],
    ['Japanese in narrow letters', hex('6e616d650ad4cfc0de0ac0c5b60a'), 'name its encoding'],
  ])('that nobody named is not windows-1252 for words in %s, and the answer names the likely ones', async (_, bytes, label) => {
    const account = await app.account()
    const { status, body } = await newTable(account, bytes)
    expect([status, body.message]).toEqual([400, expect.stringContaining(label)])
    expect((await app.as(account.owner).get(`/api/space/${account.space}/tables/list`)).body).toEqual([])
  })

  test.each<[string, string]>([
    ['Spanish', 'nombre,ciudad\nJosé,Málaga\nÍñigo,A Coruña\n'],
    ['French', 'prénom,ville\nFrançois,Orléans\nLoïc,Nîmes\n'],
    ['German', 'Name,Stadt\nJürgen,Köln\nBärbel,Gießen\n'],
    ['Icelandic', 'nafn,borg\nÞórður,Ísafjörður\nGuðrún,Hafnarfjörður\n'],
    ['Icelandic without accents', 'nafn,borg\nSigurður,Hafnarfjörður\nÞorgerður,Alþingi\n'],
    ['Faroese', 'navn,býur\nJógvan,Tórshavn\nSúsanna,Norðskáli\n'],
    ['Portuguese', 'nome,cidade\nJoão,São Paulo\nConceição,Brasília\n'],
  ])('that nobody named is windows-1252 for words in %s', async (_, file) => {
    expect(await dryRun(Buffer.from(file, 'latin1'))).toMatchObject({ encoding: 'windows-1252' })
  })

  test('that is not valid is refused', async () => {
    const account = await app.account()
    const refused = async (bytes: Buffer, query: string) => (await newTable(account, bytes, query)).body.message
    expect(await refused(CYRILLIC, '?encoding=utf-8')).toBe('The file is not valid UTF-8')
    expect(await refused(GB2312, '?encoding=utf-16')).toMatch(/^The file/)
    expect(await refused(hex('6e0aff0a'), '?encoding=gbk')).toBe('The file is not valid gbk')
    expect(await refused(GB2312, '?encoding=no-such')).toBe('encoding: is not the name of an encoding that is known')
  })
})

describe('a guess', () => {
  test.each<[string, string[], string, unknown[]]>([
    ['versions', ['1.9', '1.10', '1.11'], 'text', ['1.9', '1.10', '1.11']],
    ['versions of two lengths', ['2.5', '2.50'], 'text', ['2.5', '2.50']],
    ['prices', ['1.50', '2.25'], 'number', [1.5, 2.25]],
    ['whole numbers among decimals', ['1', '1.50', '2.5'], 'number', [1, 1.5, 2.5]],
    ['decimals without a last zero', ['1.5', '2.25'], 'number', [1.5, 2.25]],
    ['zeros at the end of whole numbers', ['10', '1.5', '20.25'], 'number', [10, 1.5, 20.25]],
    ['dates of two meanings', ['03/04/2026', '05/06/2026'], 'text', ['03/04/2026', '05/06/2026']],
  ])('of %s', async (_, cells, type, values) => {
    const { types, rows } = await tableOf(`Key,Value\n${cells.map((cell, index) => `k${index},${cell}\n`).join('')}`)
    expect([types[1], rows.map((row: unknown[]) => row[1])]).toEqual([type, values])
  })

  test('keeps versions with decimal commas', async () => {
    expect((await tableOf('Key;Version\na;1,9\nb;1,10\n')).rows).toEqual([
      ['a', '1,9'],
      ['b', '1,10'],
    ])
  })

  test.each<[string[], string | undefined]>([
    [['15.01.2018', '27.08.2018', '02.09.2018'], 'dd.MM.yyyy'],
    [['27/08/2018', '02/09/2018'], 'dd/MM/yyyy'],
    [['8/27/2018', '9/2/2018'], 'M/d/yyyy'],
    [['5.1.2018', '27.10.2018'], 'd.M.yyyy'],
    [['5. 1. 2018', '27. 1. 2018'], 'd. M. yyyy'],
    [['2018/08/27', '2018/09/02'], 'yyyy/MM/dd'],
    [['27-08-2018', '02-09-2018'], 'dd-MM-yyyy'],
    [['27 08 2018', '02 09 2018'], 'dd MM yyyy'],
    [['27.08.2018 9:05', '02.09.2018 12:00'], 'dd.MM.yyyy H:mm'],
    [['27.08.2018 09:05:00', '02.09.2018 12:00:01'], 'dd.MM.yyyy HH:mm:ss'],
    // No day over 12, days over 12 on both sides, two forms, no date of the calendar, and the form of the API.
    [['03/04/2026', '05/06/2026'], undefined],
    [['13/04/2026', '05/16/2026'], undefined],
    [['13/04/2026', '13.04.2026'], undefined],
    [['13/04/2026', '2026/04/13'], undefined],
    [['31/04/2026', '13/04/2026'], undefined],
    [['13/04/26', '14/04/26'], undefined],
    [['13/04/2026', 'soon'], undefined],
    [['2026-04-13', '2026-04-14'], undefined],
  ])('of %j offers the form %s, by which the dates are read', async (cells, form) => {
    const file = `Name,On\n${cells.map((cell, index) => `n${index},${cell}\n`).join('')}`
    const { formats, fields } = await dryRun(file)
    expect(formats).toEqual(form === undefined ? [] : [{ field: 'on', form }])
    if (form === undefined) return
    expect(fields[1]).toMatchObject({ type: 'text' })
    const query = `date_format=${encodeURIComponent(form)}`
    expect((await dryRun(file, `&${query}`)).formats).toEqual([{ field: 'on', form }])
    const { types, rows } = await tableOf(file, `?${query}`)
    expect(types[1]).toBe(form.includes('H') ? 'datetime' : 'date')
    for (const [, value] of rows) expect(value).toMatch(/^2018-/)
  })
})

describe('a form of dates', () => {
  test('that is named reads dates, and no other way', async () => {
    const file = 'n;d;u\na;15.01.2018;2020-02-03\nb;27.08.2018;2020-03-04\n'
    expect(await tableOf(file, '?date_format=dd.MM.yyyy')).toMatchObject({
      types: ['text', 'date', 'date'],
      rows: [
        ['a', '2018-01-15', '2020-02-03'],
        ['b', '2018-08-27', '2020-03-04'],
      ],
    })
    // Dates of two meanings are what the request says.
    expect((await tableOf('n,d\na,03/04/2026\n', '?date_format=d/M/yyyy')).rows).toEqual([['a', '2026-04-03']])
    expect((await tableOf('n,d\na,03/04/2026\n', '?date_format=MM/dd/yyyy')).rows).toEqual([['a', '2026-03-04']])
    expect((await tableOf('n,d\na,20180115\n', '?date_format=yyyyMMdd')).rows).toEqual([['a', '2018-01-15']])
    // A text that has the form and is no date stays a text, and is never read in another way.
    expect((await tableOf('n,d\na,03/14/2026\n', '?date_format=dd/MM/yyyy')).rows).toEqual([['a', '03/14/2026']])
    expect((await tableOf('n,d\na,2026-13-04\n', '?date_format=yyyy-dd-MM')).rows).toEqual([['a', '2026-04-13']])
    expect((await tableOf('n,d\na,2026-04-13\n', '?date_format=yyyy-dd-MM')).types[1]).toBe('text')
  })

  test('counts for an import into a table', async () => {
    const account = await app.account()
    const fields = ['date', 'datetime', 'text'].map((type) => ({ name: type, type }))
    const { id, path } = await makeTable(app, account, { fields })
    const into = async (body: string, query: string) => (await send(account, `${path}/import${query}`, body)).body
    const german = '?date_format=dd.MM.yyyy'
    expect(await into('date,datetime,text\n15.01.2018,27.08.2018,15.01.2018\n2026-04-13,2026-04-13 09:00,x\n', german)).toEqual({
      created: 2,
      change_id: expect.any(Number),
    })
    expect(await into('datetime\n15.01.2018 9:05\n', '?date_format=dd.MM.yyyy%20H:mm')).toEqual({
      created: 1,
      change_id: expect.any(Number),
    })
    expect(await into('date\n31.02.2018\n01/02/2018\n', german)).toMatchObject({
      issues: [
        { row: 2, column: 'date', message: 'is no date of the calendar' },
        { row: 3, column: 'date' },
      ],
    })
    const { job_id } = await into('date\n01.02.2018\n', `${german}&async=true`)
    expect(await ended(account, job_id)).toMatchObject({ created: 1 })
    expect((await recordsOf(account, id)).map(({ date, datetime, text }: Record<string, unknown>) => [date, datetime, text])).toEqual([
      ['2018-01-15', '2018-08-27 00:00:00', '15.01.2018'],
      ['2026-04-13', '2026-04-13 09:00:00', 'x'],
      [null, '2018-01-15 09:05:00', null],
      ['2018-02-01', null, null],
    ])
  })

  test('counts for texts of a workbook, beside its own dates', async () => {
    const sheet = (cells: unknown[]) =>
      workbook({ sheets: { Data: [['n', 'd'], ...cells.map((cell, index) => [`k${index}`, cell])] as never } })
    const mixed = sheet(['15.01.2018', serial(46112), '02.09.2018'])
    expect((await dryRun(sheet(['15.01.2018', '02.09.2018']), '', XLSX)).formats).toEqual([{ field: 'd', form: 'dd.MM.yyyy' }])
    const swapped = await newTable(await app.account(), mixed, '?date_format=yyyy-dd-MM', XLSX)
    expect([swapped.status, swapped.body.message]).toEqual([400, 'date_format: cannot be told from the dates of a workbook'])
    expect(await tableOf(mixed, '?date_format=dd.MM.yyyy', XLSX)).toMatchObject({
      types: ['text', 'date'],
      rows: [
        ['k0', '2018-01-15'],
        ['k1', '2026-03-31'],
        ['k2', '2018-09-02'],
      ],
    })
  })

  test.each(['dd.MM', 'yyyy', 'dd.MM.yy', 'dd.dd.yyyy', 'dMyyyy', 'HH:mm', 'dd.MM.yyyyHH:mm', 'foo', '', 'dd/MM/yyyy h:mm', 'd,M,yyyy'])(
    'such as %j is none',
    async (form) => {
      const { status, body } = await newTable(await app.account(), 'n\na\n', `?date_format=${encodeURIComponent(form)}`)
      expect([status, body.message]).toEqual([400, expect.stringMatching(/^date_format: must be/)])
    },
  )
})
