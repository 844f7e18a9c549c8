/** What the cells of workbooks mean, as other programs write them. */
import { describe, expect, test } from 'vitest'
import { type TestAccount, testApp } from './support/app.ts'
import { type Cell, deflated, FIRST_OWN_STYLE, parts, serial, workbook } from './support/xlsx.ts'
import { stored } from './support/zip.ts'

const app = await testApp({}, { worker: true })
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

const send = (account: TestAccount, body: Buffer, query = '') =>
  app.as(account.owner).send(`/api/space/${account.space}/tables/import${query}`, {
    method: 'POST',
    body: body as unknown as string,
    headers: { 'content-type': XLSX },
  })

/** The table that a workbook becomes: the names and types of its fields, and its rows. */
async function tableOf(body: Buffer, query = '') {
  const account = await app.account()
  const { status, body: started } = await send(account, body, query)
  expect(status, JSON.stringify(started)).toBe(200)
  const as = app.as(account.owner)
  await expect.poll(async () => (await as.get(`/api/job/${started.job_id}`)).body).toMatchObject({ state: 'done' })
  const fields = (await as.get(`/api/table/${started.table_id}/get`)).body.fields.slice(1, -4)
  const records = (await as.post(`/api/table/${started.table_id}/records/query`, { limit: 1_000 })).body
  return {
    names: fields.map(({ name }: { name: string }) => name),
    types: fields.map(({ type }: { type: string }) => type),
    rows: records.map((record: Record<string, unknown>) => fields.map(({ id }: { id: string }) => record[id])),
  }
}

const text = (value: string): Cell => ({ xml: `<is><t xml:space="preserve">${value}</t></is>`, type: 'inlineStr' })

/** The type and the values of a column, beside one of keys. */
async function column(cells: readonly Cell[], options: object = {}) {
  const rows: Cell[][] = [['Key', 'Value'], ...cells.map((cell, index) => [`k${index}`, cell])]
  const { types, rows: found } = await tableOf(workbook({ sheets: { Data: rows }, ...options }))
  return { type: types[1], values: found.map(([, value]: unknown[]) => value) }
}
const formatted = (format: string, values: readonly number[], options: object = {}) =>
  column(
    values.map((value) => serial(value, FIRST_OWN_STYLE)),
    { formats: [format], ...options },
  )

describe('the format of a cell', () => {
  test.each<[string, number[], string, unknown[]]>([
    // A time of day, also of a whole number of days.
    ['h:mm', [0, 0.5], 'time', ['00:00:00', '12:00:00']],
    ['h:mm', [25 / 24, 0.5], 'time', ['01:00:00', '12:00:00']],
    ['hh:mm:ss\\ AM/PM', [0.75, 0.3], 'time', ['18:00:00', '07:12:00']],
    ['[$-409]h:mm AM/PM;@', [0, 0.999999999], 'time', ['00:00:00', '00:00:00']],
    ['mm:ss.0', [0.0005, 0], 'time', ['00:00:43', '00:00:00']],
    ['h:mm;;', [0, 0.25], 'time', ['00:00:00', '06:00:00']],
    // A duration, never a time of day or a day of 1899.
    ['[h]:mm', [1.5, 0.5], 'text', ['36:00', '12:00']],
    ['[h]:mm', [0.25, 0.5], 'text', ['6:00', '12:00']],
    ['[h]:mm', [25 / 24, 0.5], 'text', ['25:00', '12:00']],
    ['[h]:mm', [1, 3], 'text', ['24:00', '72:00']],
    ['[hh]:mm', [0, 1 / 24], 'text', ['00:00', '01:00']],
    ['[h]:mm:ss', [2.25, 0.5], 'text', ['54:00:00', '12:00:00']],
    ['[h]:mm:ss;@', [-0.25, 10 / 86_400], 'text', ['-6:00:00', '0:00:10']],
    ['[H]:MM', [1.5, 0], 'text', ['36:00', '0:00']],
    ['[h]:mm;-[h]:mm', [-0.5, 1.5], 'text', ['-12:00', '36:00']],
    ['[h]:mm;[Red]\\-[h]:mm', [-0.5, 1.5], 'text', ['-12:00', '36:00']],
    ['[h]:mm;[Red][h]:mm', [-0.5, 1.5], 'text', ['-12:00', '36:00']],
    ['[h]:mm_);([h]:mm)', [-0.5, 1.5], 'text', ['(12:00)', '36:00']],
    ['[m]', [1500 / 1440, 45 / 1440], 'text', ['1500', '45']],
    ['[mm]:ss', [61 / 86_400, 2], 'text', ['01:01', '2880:00']],
    ['[s]', [90_000 / 86_400, 30 / 86_400], 'text', ['90000', '30']],
    ['[ss].00', [1.5 / 86_400, 75.25 / 86_400], 'text', ['01.50', '75.25']],
    ['[h]" h "mm" min"', [1.5, 0.02], 'text', ['36 h 00 min', '0 h 28 min']],
    ['[<1]h:mm;[h]:mm', [0.5, 1.5], 'text', ['12:00:00', '36:00']],
    // A date, with its time if it has one.
    ['dd.mm.yyyy', [46112, 61], 'date', ['2026-03-31', '1900-03-01']],
    ['[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', [46112], 'date', ['2026-03-31']],
    ['mmm-yy', [46112], 'date', ['2026-03-31']],
    ['yyyy"年"m"月"d"日"', [46112], 'date', ['2026-03-31']],
    ['m/d/yy h:mm', [46112, 46112.25], 'datetime', ['2026-03-31 00:00:00', '2026-03-31 06:00:00']],
    // A number, whatever letters are around it.
    ['0.00" days"', [1.5, 2.5], 'number', [1.5, 2.5]],
    ['#,##0\\ [$€-407];[Red]-#,##0', [1.5, -2], 'number', [1.5, -2]],
    ['0.00E+00', [1.5, 2], 'number', [1.5, 2]],
    ['General', [1.5, 2], 'number', [1.5, 2]],
    ['# ?/?', [1.5, 2], 'number', [1.5, 2]],
  ])('%s makes of %s a %s', async (format, values, type, expected) => {
    expect(await formatted(format, values)).toEqual({ type, values: expected })
  })

  test('counts for the days before March 1900, of which one never was', async () => {
    expect(await formatted('dd.mm.yyyy', [1, 32, 59, 61])).toEqual({
      type: 'date',
      values: ['1900-01-01', '1900-02-01', '1900-02-28', '1900-03-01'],
    })
    expect((await formatted('dd.mm.yyyy', [60, 59.75])).values).toEqual(['1900-02-29', '1900-02-28 18:00:00'])
    expect((await formatted('dd.mm.yyyy', [0, 61])).values).toEqual(['1900-01-00', '1900-03-01'])
    expect((await formatted('dd.mm.yyyy', [-1, 3_000_000])).values).toEqual([-1, 3_000_000])
  })

  test('counts in the system of 1904', async () => {
    expect(await formatted('dd.mm.yyyy', [43538, 0], { is1904: true })).toEqual({ type: 'date', values: ['2023-03-15', '1904-01-01'] })
    expect(await formatted('[h]:mm', [1.5], { is1904: true })).toEqual({ type: 'text', values: ['36:00'] })
  })

  test('counts if the workbook does not write it down', async () => {
    const styles = `<styleSheet><cellXfs>${[0, 46, 20, 22].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`
    const cell = (days: number, style: number): Cell => ({ xml: `<v>${days}</v>`, style })
    const rows: Cell[][] = [
      ['Spent', 'At', 'On'],
      [cell(1.5, 1), cell(0.5, 2), cell(46112.5, 3)],
    ]
    const entries = parts({ sheets: { Data: rows } }).map((entry) =>
      entry.name === 'xl/styles.xml' ? { ...entry, bytes: Buffer.from(styles) } : entry,
    )
    expect(await tableOf(stored(entries))).toEqual({
      names: ['Spent', 'At', 'On'],
      types: ['text', 'time', 'datetime'],
      rows: [['36:00:00', '12:00:00', '2026-03-31 12:00:00']],
    })
  })
})

describe('a number', () => {
  test('is exact if it is whole, and a text beyond the limit of numbers', async () => {
    expect(await column([4111111111111111, 5500000000000004])).toEqual({ type: 'text', values: ['4111111111111111', '5500000000000004'] })
    const written = (digits: string): Cell => ({ xml: `<v>${digits}</v>` })
    expect((await column([written('12345678901234567890'), written('-9007199254740993'), written('9007199254740991')])).values).toEqual([
      '12345678901234567890',
      '-9007199254740993',
      '9007199254740991',
    ])
    expect(await column([written('1E3'), written('0.30000000000000004'), written('12345678901')])).toEqual({
      type: 'number',
      values: [1_000, 0.3, 12_345_678_901],
    })
    expect((await column([written('1E+15'), written('1E+16')])).values).toEqual(['1000000000000000', '10000000000000000'])
    expect((await column([written('1E400'), written('5')])).values).toEqual(['1E400', '5'])
  })
})

describe('a text', () => {
  const one = async (cell: Cell, options: object = {}) => (await column([cell], options)).values[0]

  test.each<[string, Cell, string]>([
    ['CDATA', { xml: '<is><t><![CDATA[Tom & Co]]></t></is>', type: 'inlineStr' }, 'Tom & Co'],
    ['CDATA between text', { xml: '<is><t>a <![CDATA[<b>]]> c</t></is>', type: 'inlineStr' }, 'a <b> c'],
    ['CDATA of a formula', { xml: '<f>A1</f><v><![CDATA[R&D]]></v>', type: 'str' }, 'R&D'],
    ['characters by number', text('a &lt;b&gt; &#x1F600; &#128512; &#233; &amp;lt;'), 'a <b> 😀 😀 é &lt;'],
    ['characters that XML cannot have', text('a_x000D_b _x005F_x000D_ _x00zz_'), 'a\rb _x000D_ _x00zz_'],
    ['blanks that are kept', text('  padded  '), '  padded  '],
    ['blanks that are not', { xml: '<is><t>  padded  </t></is>', type: 'inlineStr' }, 'padded'],
    ['blanks of a formula that are kept', { xml: '<v xml:space="preserve"> x </v>', type: 'str' }, ' x '],
    ['runs', { xml: '<is><r><t>Bold </t></r><r><t>plain</t></r></is>', type: 'inlineStr' }, 'Bold plain'],
    ['a text where a formula has its value', { xml: '<v>direct</v>', type: 'inlineStr' }, 'direct'],
    ['a phonetic run', { xml: '<is><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></is>', type: 'inlineStr' }, '東京'],
  ])('with %s arrives', async (_, cell, expected) => {
    expect(await one(cell)).toBe(expected)
  })

  test('in the table of shared strings arrives', async () => {
    const shared = `<si><t><![CDATA[R&D]]></t></si><si/><si><r><rPr><b/></rPr><t>Bold</t></r><r><t xml:space="preserve"> plain </t></r></si>
      <si xml:space="preserve"><t> all </t></si><si><t>😀</t><phoneticPr fontId="1"/></si>`
    const cells = [0, 1, 2, 3, 4].map((index): Cell => ({ xml: `<v>${index}</v>`, type: 's' }))
    expect((await column(cells, { shared })).values).toEqual(['R&D', null, 'Bold plain ', ' all ', '😀'])
    const beyond = workbook({ sheets: { Data: [['Name'], [{ xml: '<v>9</v>', type: 's' }]] }, shared })
    expect(await send(await app.account(), beyond)).toMatchObject({
      status: 400,
      body: { message: 'The file is not an XLSX workbook: it is damaged' },
    })
  })

  test('of digits is no number, but may be what else a text can be', async () => {
    expect(await column([text('4.5'), text('4.50'), text('4.75')])).toEqual({ type: 'text', values: ['4.5', '4.50', '4.75'] })
    expect(await column([12, text('13')])).toEqual({ type: 'text', values: ['12', '13'] })
    expect((await column([{ xml: '<f>A1</f><v>12</v>', type: 'str' }])).type).toBe('text')
    expect((await column([text('12'), text('13'), text('12'), text('13')])).type).toBe('select')
    expect((await column([text('a@example.com'), text('b@example.com')])).type).toBe('email')
    expect((await column([text('2026-03-31'), serial(46112)])).type).toBe('date')
    expect((await column([1, 2.5])).type).toBe('number')
  })
})

describe('a workbook of another writer', () => {
  const bare = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`
  const rows: Cell[][] = [
    ['Key', 'Count'],
    ['a', 1],
  ]
  const expected = { names: ['Key', 'Count'], types: ['text', 'number'], rows: [['a', 1]] }
  const sheet = (xml: string) => workbook({ sheets: { Data: xml } })

  test.each<[string, Buffer, unknown[][]]>([
    ['rows and cells without places', sheet(`<row>${bare('Key')}${bare('Count')}</row><row>${bare('a')}<c><v>1</v></c></row>`), [['a', 1]]],
    [
      'places of rows only',
      sheet(`<row r="1">${bare('Key')}${bare('Count')}</row><row r="3">${bare('a')}<c><v>1</v></c></row>`),
      [['a', 1]],
    ],
    [
      'places of some cells',
      sheet(
        `<row>${bare('Key')}<c r="C1" t="str"><v>Count</v></c></row><row r="5"><c r="A5" t="str"><v>a</v></c><c/><c><v>1</v></c></row>`,
      ),
      [['a', 1]],
    ],
    [
      'rows out of order',
      sheet(`<row r="2"><c r="B2"><v>1</v></c><c r="A2" t="str"><v>a</v></c></row><row r="1">${bare('Key')}${bare('Count')}</row>`),
      [['a', 1]],
    ],
    ['another name of the workbook', workbook({ sheets: { Data: rows }, path: 'xl/workbook2.xml' }), [['a', 1]]],
    ['all parts at the root', workbook({ sheets: { Data: rows }, path: 'workbook.xml' }), [['a', 1]]],
    ['parts in other folders', workbook({ sheets: { Data: rows }, path: 'office/book/main.xml' }), [['a', 1]]],
  ])('with %s is read', async (_, body, found) => {
    const table = await tableOf(body)
    expect(table.names).toEqual(['Key', 'Count'])
    expect(table.rows).toEqual(found)
  })

  /** The XML with a prefix before the name of each element. */
  const prefixed = (xml: string) => xml.replaceAll(/<(\/?)(?=[a-zA-Z])/g, '<$1x:').replaceAll('xmlns="', 'xmlns:x="')
  const changed = (change: (entry: { name: string; xml: string }) => { name: string; xml: string | Buffer }) =>
    stored(
      parts({ sheets: { Data: rows } }).map(({ name, bytes }) => {
        const { name: renamed, xml } = change({ name, xml: bytes.toString() })
        return { name: renamed, bytes: Buffer.from(xml as string) }
      }),
    )
  test.each<[string, Buffer]>([
    ['prefixes', changed(({ name, xml }) => ({ name, xml: prefixed(xml) }))],
    ['absolute targets', changed(({ name, xml }) => ({ name, xml: xml.replaceAll('Target="worksheets', 'Target="/xl/worksheets') }))],
    ['names of other case', changed(({ name, xml }) => ({ name: name.replace('sheet1', 'Sheet1'), xml }))],
    ['backslashes in names', changed(({ name, xml }) => ({ name: name.replaceAll('/', '\\'), xml }))],
    ['names that begin with a slash', changed(({ name, xml }) => ({ name: `/${name}`, xml }))],
    ['parts in UTF-16', changed(({ name, xml }) => ({ name, xml: Buffer.from(`\uFEFF${xml}`, 'utf16le') }))],
    ['a byte order mark', changed(({ name, xml }) => ({ name, xml: `\uFEFF<?xml version="1.0" encoding="UTF-8"?>${xml}` }))],
    [
      'strict namespaces',
      changed(({ name, xml }) => ({
        name,
        xml: xml.replaceAll('schemas.openxmlformats.org/officeDocument/2006', 'purl.oclc.org/ooxml/officeDocument'),
      })),
    ],
    ['no relationships of the file', changed(({ name, xml }) => ({ name: name.replace('_rels/.rels', 'nowhere'), xml }))],
  ])('with %s is read', async (_, body) => {
    expect(await tableOf(body)).toEqual(expected)
  })

  test('shows its first sheet that is not hidden, unless the request names another', async () => {
    const sheets = { Lists: [['Secret'], ['x']], People: [['Name'], ['v']] }
    expect((await tableOf(workbook({ sheets, hidden: ['Lists'] }))).names).toEqual(['Name'])
    expect((await tableOf(workbook({ sheets, hidden: ['Lists'] }), '?sheet=Lists')).names).toEqual(['Secret'])
    expect((await tableOf(workbook({ sheets, hidden: ['Lists', 'People'] }))).names).toEqual(['Secret'])
  })

  test('has dates in the form of ISO 8601', async () => {
    const iso = (value: string): Cell => ({ xml: `<v>${value}</v>`, type: 'd' })
    expect(await column([iso('2026-03-31'), iso('2026-03-31T00:00:00')])).toEqual({ type: 'date', values: ['2026-03-31', '2026-03-31'] })
    expect(await column([iso('2026-03-31T09:30:00.000'), iso('2026-03-31')])).toEqual({
      type: 'datetime',
      values: ['2026-03-31 09:30:00', '2026-03-31 00:00:00'],
    })
    expect(await column([iso('09:30:00')])).toEqual({ type: 'time', values: ['09:30:00'] })
  })

  const entity = '<!DOCTYPE x [<!ENTITY e "eeee">]>'
  test.each<[string, Buffer, string]>([
    ['XML that ends early', sheet('<row r="1"><c r="A1"><v>1</v></c>').subarray(), 'is damaged'],
    ['entities of its own', changed(({ name, xml }) => ({ name, xml: `${entity}${xml.replace('<t ', '<t>&e;</t><t ')}` })), 'is damaged'],
    ['a place that is none', sheet('<row r="x"><c r="A1"><v>1</v></c></row>'), 'is damaged'],
    [
      'binary parts',
      changed(({ name, xml }) => ({ name, xml: xml.replace('xl/workbook.xml', 'xl/workbook.bin') })),
      'is a binary workbook (.xlsb); save it as XLSX',
    ],
    [
      'no workbook where it says',
      deflated(
        '_rels/.rels',
        Buffer.from('<Relationships><Relationship Id="a" Type="x/officeDocument" Target="a/b.xml"/></Relationships>'),
      ),
      'has no a/b.xml',
    ],
    ['no sheet', workbook({ sheets: {} }), 'has no sheet'],
  ])('with %s is refused', async (_, body, reason) => {
    const { status, body: answer } = await send(await app.account(), body)
    expect([status, answer.message]).toEqual([400, `The file is not an XLSX workbook: it ${reason}`])
  })
})
