/** Tables as HTML, as spreadsheets and pages put them on the clipboard. */

/** What a table of ours carries beside its texts, so that values keep their ids between cells of Gridpost. */
export interface CopiedValues {
  /** The fields of the columns, with what decides whether another field takes their values. */
  fields: readonly {
    id: string
    type: string
    table?: number | undefined
    options?: readonly string[] | undefined
    linked?: string | undefined
  }[]
  rows: readonly (readonly unknown[])[]
}

const MARK = 'data-gridpost'

/** @param cells the HTML of each cell @param values left out if it would be too long */
export function writeHtmlTable(cells: readonly (readonly string[])[], values: CopiedValues | null): string {
  const rows = cells.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')
  const mark = values ? ` ${MARK}="${escapeHtml(JSON.stringify(values))}"` : ''
  return `<meta charset="utf-8"><table${mark}><tbody>${rows}</tbody></table>`
}

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export interface ReadTable {
  texts: string[][]
  values: CopiedValues | null
}

/** The tags that end a line of text within a cell. */
const LINE_ENDS = new Set(['br', '/p', '/div', '/li'])
const CELL_BOUNDS = new Set(['tr', 'td', 'th', '/td', '/th', '/tr', '/table'])
const HIDDEN = new Set(['style', 'script', 'title'])

interface Reading {
  rows: string[][]
  /** For each column, how many rows below still belong to a merged cell. */
  covered: number[]
  cell: { text: string; columns: number; rows: number } | null
  depth: number
  /** The element whose text is not shown. */
  hidden: string | null
  values: CopiedValues | null
}

/**
 * Reads the first table of a piece of HTML; null if it has none. A merged cell has its text in its first cell, and the others are empty.
 * Nothing of the HTML is made into elements, so nothing in it is loaded or run.
 */
export function readHtmlTable(html: string): ReadTable | null {
  const start = html.search(/<table[\s>]/i)
  if (start === -1) return null
  const reading: Reading = { rows: [], covered: [], cell: null, depth: 0, hidden: null, values: null }
  for (const [, comment, tag, attributes = '', text = ''] of html.slice(start).matchAll(PARTS)) {
    if (comment !== undefined) continue
    const name = tag?.toLowerCase()
    if (reading.hidden) reading.hidden = name === `/${reading.hidden}` ? null : reading.hidden
    else if (name === undefined) addText(reading, text)
    else readTag(reading, name, attributes)
    if (name === '/table' && reading.depth === 0) break
  }
  endCell(reading)
  return { texts: evened(reading.rows), values: reading.values }
}

const PARTS = /(<!--[\s\S]*?-->|<![^>]*>)|<(\/?[a-z][\w:-]*)((?:"[^"]*"|'[^']*'|[^'"<>])*)>|([^<]+|<)/gi

function readTag(reading: Reading, name: string, attributes: string): void {
  if (HIDDEN.has(name)) reading.hidden = name
  if (name === 'table' && reading.depth === 0) reading.values = readValues(attributes)
  if (name === 'table') reading.depth++
  else if (name === '/table') reading.depth--
  if (reading.depth > 1) return
  if (LINE_ENDS.has(name) && reading.cell) reading.cell.text += '\n'
  if (CELL_BOUNDS.has(name)) endCell(reading)
  if (name === 'tr') reading.rows.push([])
  else if (name === 'td' || name === 'th') beginCell(reading, attributes)
}

function beginCell(reading: Reading, attributes: string): void {
  if (!reading.rows.length) reading.rows.push([])
  reading.cell = { text: '', columns: spanOf(attributes, 'colspan'), rows: spanOf(attributes, 'rowspan') }
}

function addText({ cell }: Reading, text: string): void {
  if (cell) cell.text += text.replace(/[ \t\r\n\f]+/g, ' ')
}

/** Puts the cell that was read into its row, after the cells that merged ones of earlier rows cover. */
function endCell(reading: Reading): void {
  const { cell, covered, rows } = reading
  const row = rows.at(-1)
  if (!cell || !row) return
  reading.cell = null
  const isCovered = () => (covered[row.length] ?? 0) >= rows.length
  while (isCovered()) row.push('')
  for (let column = 0; column < cell.columns; column++) {
    covered[row.length] = rows.length + cell.rows - 1
    row.push(column === 0 ? textOf(cell.text) : '')
  }
}

const textOf = (html: string) =>
  decoded(html)
    .replace(/ *\n */g, '\n')
    .replace(/^[ \n]+|[ \n]+$/g, '')

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

function decoded(html: string): string {
  return html.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

function spanOf(attributes: string, name: string): number {
  const span = Number(new RegExp(`\\b${name}\\s*=\\s*["']?(\\d{1,5})`, 'i').exec(attributes)?.[1] ?? 1)
  return Math.min(Math.max(span, 1), 1_000)
}

function readValues(attributes: string): CopiedValues | null {
  const json = new RegExp(`\\b${MARK}\\s*=\\s*"([^"]*)"`, 'i').exec(attributes)?.[1]
  if (json === undefined) return null
  try {
    const values = JSON.parse(decoded(json)) as Partial<CopiedValues>
    const isWhole = Array.isArray(values.fields) && Array.isArray(values.rows) && values.rows.every(Array.isArray)
    return isWhole ? (values as CopiedValues) : null
  } catch {
    // Another program may have changed what it took over; the texts of the cells are enough.
    return null
  }
}

/** All rows with as many cells as the longest has, without empty rows at the end. */
function evened(rows: string[][]): string[][] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  return rows.filter((row) => row.length > 0).map((row) => [...row, ...Array.from({ length: columns - row.length }, () => '')])
}
