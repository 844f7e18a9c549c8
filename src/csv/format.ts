/** CSV as RFC 4180 has it, safe to open in a spreadsheet: how cells, lists in a cell and lines are written, and read back. */

/** What a spreadsheet may take for a formula, or for one that is shielded already. */
const FORMULA = /^'*[=+\-@\t\r\n]/
const SHIELDED = /^'+[=+\-@\t\r\n]/

/** An apostrophe before what a spreadsheet would run; `unshielded` takes away just what this puts there. */
export const shielded = (text: string): string => (FORMULA.test(text) ? `'${text}` : text)

export const unshielded = (text: string): string => (SHIELDED.test(text) ? text.slice(1) : text)

/** One line with its end. A single empty cell is quoted, because an empty line is no row. */
export function csvLine(cells: readonly string[]): string {
  if (cells.length === 1 && cells[0] === '') return '""\r\n'
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** Blanks at the edges are quoted too: some readers would trim them. */
const csvCell = (text: string) => (/[",\r\n]|^\s|\s$/.test(text) ? quoted(text) : text)

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

/** Several values in one cell: `Red, "Green, dark"`. A value with a comma, a quote or blanks at its edges is quoted. */
export function joinList(values: readonly string[]): string {
  return values.map((value) => (value === '' || /[",\r\n]|^\s|\s$/.test(value) ? quoted(value) : value)).join(', ')
}

/** One value of a list, and the comma after it or the end. */
const VALUE = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y

/** The values of such a cell; null where a quote stands alone. Blanks around values and empty values do not count. */
export function splitList(text: string): string[] | null {
  const values: string[] = []
  for (let at = 0; ; ) {
    VALUE.lastIndex = at
    const match = VALUE.exec(text)
    if (!match) return null
    const [, inQuotes, plain = '', end] = match
    const value = inQuotes?.replaceAll('""', '"') ?? plain.trim()
    if (value !== '' || inQuotes !== undefined) values.push(value)
    if (end === '') return values
    at = VALUE.lastIndex
  }
}
