import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapeHtml, readHtmlTable, writeHtmlTable } from '../../console/src/grid/clipboard/html-table.ts'
import { planPaste } from '../../console/src/grid/clipboard/paste-plan.ts'
import { readTsv, writeTsv } from '../../console/src/grid/clipboard/tsv.ts'

describe('tables as text', () => {
  test.each([
    [
      'a\tb\r\nc\td\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
      'Excel ends every row',
    ],
    [
      'a\tb\nc\td',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
      'Google Sheets ends none',
    ],
    ['"two\r\nlines"\t"a ""quote"""\n', [['two\nlines', 'a "quote"']], 'quoted values'],
    ['"Ann" said\t5"', [['"Ann" said', '5"']], 'quotes within a text'],
    ['"never closed\tb', [['"never closed', 'b']], 'a quote without its end'],
    ['', [['']], 'an empty cell'],
    [
      '\t\n\t',
      [
        ['', ''],
        ['', ''],
      ],
      'empty cells',
    ],
    ['a\n\nb', [['a'], [''], ['b']], 'an empty row'],
    ['""', [['']], 'an empty quoted value'],
  ])('%j is read (%#)', (text, rows) => {
    expect(readTsv(text)).toEqual(rows)
  })

  test('whatever is written is read again', () => {
    const value = fc.string({ unit: fc.constantFrom('a', '"', '\t', '\n', ' ', 'é', '\\') })
    const block = fc
      .integer({ min: 1, max: 4 })
      .chain((columns) => fc.array(fc.array(value, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 4 }))
    fc.assert(
      fc.property(block, (rows) => {
        // One empty value at the end of one column cannot be told from the line break of the last row.
        fc.pre(!(rows[0]?.length === 1 && rows.length > 1 && rows.at(-1)?.[0] === ''))
        expect(readTsv(writeTsv(rows))).toEqual(rows)
      }),
    )
  })
})

describe('tables as HTML', () => {
  test('a table of Excel, with its comments, styles and breaks', () => {
    const html = `<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head><style><!--table td {color: red}--></style></head><body>
      <table border=0 width=128><!--StartFragment--><col width=64>
      <tr height=20><td class=xl65 style='a:"b>c"'>Ann &amp;
        Bob</td><td>1&nbsp;000</td></tr>
      <tr><td>two<br style='mso-data-placement:same-cell'>lines</td><td></td></tr><!--EndFragment--></table></body></html>`
    expect(readHtmlTable(html)?.texts).toEqual([
      ['Ann & Bob', '1 000'],
      ['two\nlines', ''],
    ])
  })

  test('a merged cell has its text once, and empty cells beside and below', () => {
    const html =
      '<table><tr><td rowspan=2 colspan="2">a</td><td>b</td></tr><tr><td>c</td></tr><tr><th>d</th><td>e</td><td>f</td></tr></table>'
    expect(readHtmlTable(html)?.texts).toEqual([
      ['a', '', 'b'],
      ['', '', 'c'],
      ['d', 'e', 'f'],
    ])
  })

  test('Google Sheets and LibreOffice', () => {
    const sheets = `<meta charset='utf-8'><google-sheets-html-origin><style type="text/css">td{}</style><table xmlns="x" data-sheets-root="1">
      <colgroup><col width="100"/></colgroup><tbody><tr style="height:21px;"><td data-sheets-value='{"1":2,"2":"x<y"}'>x&lt;y</td><td>&#8364;5</td></tr></tbody></table>`
    expect(readHtmlTable(sheets)?.texts).toEqual([['x<y', '€5']])
    const office = '<table cellspacing="0"><tr><td height="17" align="left">Zoë</td>\n\t<td align="right" sdval="3">3</td></tr></table>'
    expect(readHtmlTable(office)?.texts).toEqual([['Zoë', '3']])
  })

  test('a table within a cell is a part of its text', () => {
    expect(readHtmlTable('<table><tr><td>a<table><tr><td>b</td></tr></table></td><td>c</td></tr></table>')?.texts).toEqual([['ab', 'c']])
  })

  test('text without a table is none, and markup that is broken does no harm', () => {
    expect(readHtmlTable('<p>Hello</p>')).toBeNull()
    expect(readHtmlTable('<table><tr><td>a<td>b<tr><td>c')?.texts).toEqual([
      ['a', 'b'],
      ['c', ''],
    ])
    expect(readHtmlTable('<table></table>')?.texts).toEqual([])
    expect(readHtmlTable('<table><tr><td colspan=99999>a')?.texts[0]).toHaveLength(1_000)
  })

  test('a table of ours keeps values with their ids beside the texts', () => {
    const values = { fields: [{ id: 'company', type: 'lookup', table: 3 }], rows: [[{ id: 7, title: 'A "quoted" <name> & more' }]] }
    const html = writeHtmlTable([[escapeHtml('A "quoted" <name> & more')]], values)
    expect(readHtmlTable(html)).toEqual({ texts: [['A "quoted" <name> & more']], values })
    expect(readHtmlTable('<table data-gridpost="{&quot;rows&quot;:1}"><tr><td>a</td></tr></table>')).toEqual({
      texts: [['a']],
      values: null,
    })
    expect(readHtmlTable('<table data-gridpost="no JSON"><tr><td>a</td></tr></table>')?.values).toBeNull()
  })
})

describe('where a paste goes', () => {
  const grid = { rows: 10, cols: 5 }
  const selected = (top: number, left: number, bottom = top, right = left) => ({ top, left, bottom, right })

  test('a block begins in the active cell', () => {
    expect(planPaste({ rows: 2, cols: 3 }, selected(1, 1), grid, false)).toMatchObject({
      target: selected(1, 1, 2, 3),
      lostRows: 0,
      lostCols: 0,
    })
  })

  test('one value fills the selection, and a row fills its rows', () => {
    const one = planPaste({ rows: 1, cols: 1 }, selected(1, 1, 4, 2), grid, false)
    expect(one.target).toEqual(selected(1, 1, 4, 2))
    expect(one.source(4, 2)).toEqual({ row: 0, col: 0 })
    const row = planPaste({ rows: 1, cols: 2 }, selected(1, 1, 4, 2), grid, false)
    expect(row.source(3, 2)).toEqual({ row: 0, col: 1 })
    expect(planPaste({ rows: 3, cols: 1 }, selected(1, 1, 4, 1), grid, false).target).toEqual(selected(1, 1, 3, 1))
  })

  test('what lies outside of the grid is told', () => {
    expect(planPaste({ rows: 4, cols: 3 }, selected(8, 4), grid, false)).toMatchObject({
      target: selected(8, 4, 9, 4),
      lostRows: 2,
      lostCols: 2,
    })
  })

  test('what lies below the last record becomes new records', () => {
    const plan = planPaste({ rows: 4, cols: 1 }, selected(8, 0), grid, true)
    expect(plan).toMatchObject({ target: selected(8, 0, 11, 0), newRows: 2, lostRows: 0 })
    expect(plan.source(11, 0)).toEqual({ row: 3, col: 0 })
    expect(planPaste({ rows: 1, cols: 1 }, selected(0, 0), { rows: 0, cols: 5 }, true)).toMatchObject({ newRows: 1 })
  })
})
