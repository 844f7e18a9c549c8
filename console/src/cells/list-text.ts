/** Lists as one text, in the form of files of comma-separated values: `Red, "Green, dark"` (docs/csv.md). */

const NEEDS_QUOTES = /[",\n\r]|^\s|\s$/

export const joinList = (values: readonly string[]): string =>
  values.map((value) => (NEEDS_QUOTES.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(', ')

/** The values of a list, each once and without the blanks around it. Commas, semicolons and line ends separate values outside of quotes. */
export function splitList(text: string): string[] {
  const values: string[] = []
  const part = /\s*(?:"((?:[^"]|"")*)"\s*(?=[,;\n]|$)|([^,;\n]*))(?:[,;\n]|$)/y
  while (part.lastIndex < text.length) {
    const match = part.exec(text)
    if (!match) break
    const value = match[1] === undefined ? (match[2] ?? '').trim() : match[1].replaceAll('""', '"')
    if (value !== '' && !values.includes(value)) values.push(value)
  }
  return values
}
