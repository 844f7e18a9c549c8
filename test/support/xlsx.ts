/** XLSX workbooks for tests, written as Excel and other programs write them as far as a reader looks. */
import { deflateRawSync } from 'node:zlib'
import { type ArchiveEntry, stored } from './zip.ts'

/** A cell: its attributes and content, or a plain value. */
export type Cell = string | number | boolean | null | { xml: string; type?: string; style?: keyof typeof STYLES | number }

/** The formats of cells, in the order of their numbers. Those of a workbook's own follow. */
const STYLES = { general: 0, date: 1, instant: 2, time: 3 } as const
export const FIRST_OWN_STYLE = 4

const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

function columnName(index: number): string {
  return index < 26 ? String.fromCharCode(65 + index) : columnName(Math.floor(index / 26) - 1) + columnName(index % 26)
}

function cellXml(cell: Cell, place: string): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return `<c r="${place}"><v>${cell}</v></c>`
  if (typeof cell === 'boolean') return `<c r="${place}" t="b"><v>${cell ? 1 : 0}</v></c>`
  if (typeof cell === 'string') return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`
  const style = typeof cell.style === 'string' ? STYLES[cell.style] : cell.style
  return `<c r="${place}"${cell.type ? ` t="${cell.type}"` : ''}${style ? ` s="${style}"` : ''}>${cell.xml}</c>`
}

/** A date as a spreadsheet has it: the days since the beginning of its calendar. */
export const serial = (days: number, style: 'date' | 'instant' | 'time' | number = 'date'): Cell => ({ xml: `<v>${days}</v>`, style })

interface Options {
  /** The sheets by name, in their order: their cells, or the XML of their rows. */
  sheets: Record<string, readonly (readonly Cell[])[] | string>
  /** True for a workbook that counts its days from 1904. */
  is1904?: boolean
  /** XML after the rows of each sheet, such as merged cells. */
  after?: string
  /** The workbook's own formats, whose styles begin with FIRST_OWN_STYLE. */
  formats?: readonly string[]
  /** The XML of the shared strings. */
  shared?: string
  /** The path of the workbook, beside which the other parts are. */
  path?: string
  /** The names of hidden sheets. */
  hidden?: readonly string[]
}

const styleSheet = (formats: readonly string[]) =>
  `<styleSheet ${MAIN}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>${formats
    .map((format, index) => `<numFmt numFmtId="${170 + index}" formatCode="${escaped(format)}"/>`)
    .join('')}</numFmts>
<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/>
<xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="21" applyNumberFormat="1"/>${formats
    .map((_, index) => `<xf numFmtId="${170 + index}" applyNumberFormat="1"/>`)
    .join('')}</cellXfs></styleSheet>`

const rowsXml = (rows: readonly (readonly Cell[])[]) =>
  rows
    .map(
      (cells, row) => `<row r="${row + 1}">${cells.map((cell, column) => cellXml(cell, `${columnName(column)}${row + 1}`)).join('')}</row>`,
    )
    .join('')

/** The parts of a workbook, by name. */
export function parts(options: Options): ArchiveEntry[] {
  const { sheets, is1904 = false, after = '', formats = [], shared, path = 'xl/workbook.xml', hidden = [] } = options
  const [, folder = '', base = ''] = /^(.*\/)?([^/]+)$/.exec(path) ?? []
  const names = Object.keys(sheets)
  const relation = (id: number, kind: string, target: string) =>
    `<Relationship Id="rId${id}" Type="${RELATIONS}/${kind}" Target="${target}"/>`
  const relationships = (all: string) =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${all}</Relationships>`
  const sheetOf = (name: string, index: number) =>
    `<sheet name="${escaped(name)}" sheetId="${index + 1}"${hidden.includes(name) ? ' state="hidden"' : ''} r:id="rId${index + 1}"/>`
  const files: Record<string, string> = {
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels': relationships(relation(1, 'officeDocument', path)),
    [path]: `<workbook ${MAIN} xmlns:r="${RELATIONS}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${names
      .map(sheetOf)
      .join('')}</sheets></workbook>`,
    [`${folder}_rels/${base}.rels`]: relationships(
      names.map((_, index) => relation(index + 1, 'worksheet', `worksheets/sheet${index + 1}.xml`)).join('') +
        relation(99, 'styles', 'styles.xml') +
        (shared === undefined ? '' : relation(100, 'sharedStrings', 'strings.xml')),
    ),
    [`${folder}styles.xml`]: styleSheet(formats),
    ...(shared !== undefined && { [`${folder}strings.xml`]: `<sst ${MAIN}>${shared}</sst>` }),
  }
  for (const [index, name] of names.entries()) {
    const rows = sheets[name] ?? []
    const xml = typeof rows === 'string' ? rows : rowsXml(rows)
    files[`${folder}worksheets/sheet${index + 1}.xml`] = `<worksheet ${MAIN}><sheetData>${xml}</sheetData>${after}</worksheet>`
  }
  return Object.entries(files).map(([name, xml]) => ({ name, bytes: Buffer.from(xml) }))
}

export const workbook = (options: Options): Buffer => stored(parts(options))

/** An archive of one deflated entry, whose headers state any size. */
export function deflated(name: string, content: Buffer, stated = content.length): Buffer {
  const packed = deflateRawSync(content, { level: 9 })
  const archive = stored([{ name, bytes: packed }])
  const central = archive.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]))
  archive.writeUInt16LE(8, 8)
  archive.writeUInt32LE(stated, 22)
  archive.writeUInt16LE(8, central + 10)
  archive.writeUInt32LE(stated, central + 24)
  return archive
}
