/** Writes and reads the cells, lists and lines of CSV files (RFC 4180) that are safe to open in a spreadsheet. */

/** Matches texts that a spreadsheet may take for a formula, also if apostrophes precede them already. */
const FORMULA = /^'*[=+\-@\t\r\n]/
const SHIELDED = /^'+[=+\-@\t\r\n]/

/** Puts an apostrophe before a text that a spreadsheet would evaluate. `unshielded` removes only such an apostrophe. */
export const shielded = (text: string): string => (FORMULA.test(text) ? `'${text}` : text)

export const unshielded = (text: string): string => (SHIELDED.test(text) ? text.slice(1) : text)

/** Returns one line with its line end. The last of empty cells is quoted, because readers skip empty lines and those of separators. */
export function csvLine(cells: readonly string[]): string {
  const line = cells.map(csvCell).join(',')
  return `${line}${cells.every((cell) => cell === '') ? '""' : ''}\r\n`
}

/** Cells with leading or trailing blanks are quoted, too, because some readers trim them. Ctrl-Z at the beginning of a line ends a file. */
export const csvCell = (text: string): string => (NEEDS_QUOTES.test(text) || text.startsWith(CTRL_Z) ? quoted(text) : text)

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/
const CTRL_Z = '\x1a'

const quoted = (text: string) => `"${quotedPart(text)}"`

/** The text that such a cell has been made of, or an apostrophe before it too. */
export const textOfCell = (cell: string): string => unshielded(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)

/** A part of a cell that is in quotes. */
export const quotedPart = (text: string): string => text.replaceAll('"', '""')

/** Joins several values into one cell: `Red, "Green, dark"`. */
export const joinList = (values: readonly string[]): string => values.map(listElement).join(', ')

/** One of several values in a cell. A value with a comma, a quote, or leading or trailing blanks is quoted. */
export const listElement = (value: string): string => (value === '' || NEEDS_QUOTES.test(value) ? quoted(value) : value)

/**
 * Splits such a cell into its values; returns null if a quote is not closed. Blanks around values and empty values are ignored. The time
 * is linear: a single regular expression for a value and its blanks would take cubic time on blanks before an unclosed quote.
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

/** Returns the end of the match that begins at `from`. */
function endOf(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from
  expression.test(text)
  return expression.lastIndex
}

/** Returns the position after the closing quote, ignoring doubled quotes; null if no quote closes. */
function endOfQuotes(text: string, begin: number): number | null {
  for (let at = begin + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at < 0) return null
    if (text[at + 1] !== '"') return at + 1
  }
}
