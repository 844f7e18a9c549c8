/** Tables as text with tabs, as spreadsheets write and read them. */

/** A value with a tab, a line break or a quote is quoted, and its quotes are doubled, as Excel, LibreOffice and Google Sheets do. */
export const writeTsv = (rows: readonly (readonly string[])[]): string => rows.map((cells) => cells.map(quoted).join('\t')).join('\n')

const quoted = (text: string) => (/[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/**
 * Reads a table. A value is quoted only if a tab, a line break or the end follows its last quote: `"Ann" said` is a text like any other.
 * One line break at the end belongs to the last row.
 */
export function readTsv(text: string): string[][] {
  const rows: string[][] = [[]]
  let at = 0
  while (at <= text.length) {
    const { value, end } = quotedValue(text, at) ?? plainValue(text, at)
    rows.at(-1)?.push(value)
    if (end >= text.length) break
    at = end + 1
    if (text[end] === '\t') continue
    if (text[end] === '\r' && text[at] === '\n') at++
    if (at === text.length) break
    rows.push([])
  }
  return rows
}

interface Value {
  value: string
  /** The place of the tab or the line break after it. */
  end: number
}

function plainValue(text: string, at: number): Value {
  let end = at
  while (end < text.length && !isBreak(text[end])) end++
  return { value: text.slice(at, end), end }
}

function quotedValue(text: string, at: number): Value | null {
  if (text[at] !== '"') return null
  let end = at + 1
  for (;;) {
    end = text.indexOf('"', end)
    if (end === -1) return null
    if (text[end + 1] !== '"') break
    end += 2
  }
  const after = text[end + 1]
  return after === undefined || isBreak(after)
    ? { value: withLineFeeds(text.slice(at + 1, end).replaceAll('""', '"')), end: end + 1 }
    : null
}

const isBreak = (character: string | undefined) => character === '\t' || character === '\n' || character === '\r'
const withLineFeeds = (text: string) => text.replace(/\r\n?/g, '\n')
