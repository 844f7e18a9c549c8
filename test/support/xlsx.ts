/** XLSX workbooks for tests, written as Excel writes them as far as a reader looks. */
import { deflateRawSync } from 'node:zlib'
import { stored } from '../../src/csv/workbooks/zip.ts'

/** A cell: its attributes and content, or a plain value. */
export type Cell = string | number | boolean | null | { xml: string; type?: string; style?: keyof typeof STYLES }

/** The formats of cells, in the order of their numbers. */
const STYLES = { general: 0, date: 1, instant: 2, time: 3 } as const
const STYLE_SHEET = `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>
<cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="21" applyNumberFormat="1"/></cellXfs></styleSheet>`

const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function columnName(index: number): string {
  return index < 26 ? String.fromCharCode(65 + index) : columnName(Math.floor(index / 26) - 1) + columnName(index % 26)
}

function cellXml(cell: Cell, place: string): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`
  if (typeof cell === 'boolean') return `<c r="${place}" t="b"><v>${cell ? 1 : 0}</v></c>`
  if (typeof cell === 'string') return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`
  return `<c r="${place}"${cell.type ? ` t="${cell.type}"` : ''}${cell.style ? ` s="${STYLES[cell.style]}"` : ''}>${cell.xml}</c>`
}

/** A date as a spreadsheet has it: the days since the beginning of its calendar. */
export const serial = (days: number, style: 'date' | 'instant' | 'time' = 'date'): Cell => ({ xml: `<v>${days}</v>`, style })

interface Options {
  /** The sheets by name, in their order. */
  sheets: Record<string, readonly (readonly Cell[])[]>
  /** True for a workbook that counts its days from 1904. */
  is1904?: boolean
  /** XML after the rows of each sheet, such as merged cells. */
  after?: string
}

/** The parts of a workbook, by name. */
export function parts({ sheets, is1904 = false, after = '' }: Options): { name: string; bytes: Buffer }[] {
  const names = Object.keys(sheets)
  const files: Record<string, string> = {
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    'xl/workbook.xml': `<workbook ${MAIN} xmlns:r="${RELATIONS}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${names
      .map((name, index) => `<sheet name="${escaped(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`)
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${names
      .map((_, index) => `<Relationship Id="rId${index + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`)
      .join('')}<Relationship Id="rId99" Type="${RELATIONS}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': STYLE_SHEET,
  }
  for (const [index, name] of names.entries()) {
    const rows = (sheets[name] ?? []).map(
      (cells, row) => `<row r="${row + 1}">${cells.map((cell, column) => cellXml(cell, `${columnName(column)}${row + 1}`)).join('')}</row>`,
    )
    files[`xl/worksheets/sheet${index + 1}.xml`] = `<worksheet ${MAIN}><sheetData>${rows.join('')}</sheetData>${after}</worksheet>`
  }
  return Object.entries(files).map(([name, xml]) => ({ name, bytes: Buffer.from(xml) }))
}

export const workbook = (options: Options): Buffer => Buffer.concat([...stored(parts(options))])

/** An archive of one deflated entry, whose headers state any size. */
export function deflated(name: string, content: Buffer, stated = content.length): Buffer {
  const packed = deflateRawSync(content, { level: 9 })
  const archive = Buffer.concat([...stored([{ name, bytes: packed }])])
  const central = archive.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]))
  archive.writeUInt16LE(8, 8)
  archive.writeUInt32LE(stated, 22)
  archive.writeUInt16LE(8, central + 10)
  archive.writeUInt32LE(stated, central + 24)
  return archive
}
