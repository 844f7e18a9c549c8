/** CSV as RFC 4180 has it, safe to open in a spreadsheet: how cells, lists in a cell and lines are written, and read back. */

/** Texts that a spreadsheet may take for a formula, and those that are shielded already. */
const FORMULA = /^'*[=+\-@\t\r\n]/
const SHIELDED = /^'+[=+\-@\t\r\n]/

/** Puts an apostrophe before a text that a spreadsheet would run; `unshielded` removes only an apostrophe that this has added. */
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

/**
 * Reads the values of such a cell; returns null if a quote is not closed. Blanks around values and empty values do not count. Each
 * character is looked at once: a single expression for a value and its blanks would take cubic time on blanks before a lone quote.
 */
export function splitList(text: string): string[] | null {
  const values: string[] = []
  for (let at = 0; ; at++) {
    const begin = endOf(BLANKS, text, at)
    const isQuoted = text[begin] === '"'
    const end = isQuoted ? endOfQuotes(text, begin) : endOf(PLAIN, text, begin)
    if (end === null) return null
    const value = text.slice(begin, end)
    if (isQuoted) values.push(value.slice(1, -1).replaceAll('""', '"'))
    else if (value.trim() !== '') values.push(value.trim())
    at = endOf(BLANKS, text, end)
    if (at === text.length) return values
    if (text[at] !== ',') return null
  }
}

const BLANKS = /\s*/y
const PLAIN = /[^",]*/y

/** The end of the match that begins at `from`. */
function endOf(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from
  expression.test(text)
  return expression.lastIndex
}

/** The position after the closing quote; null if there is none. A doubled quote does not close. */
function endOfQuotes(text: string, begin: number): number | null {
  for (let at = begin + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at < 0) return null
    if (text[at + 1] !== '"') return at + 1
  }
}
