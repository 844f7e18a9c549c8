/**
 * The text of a mail in parts: what its sender wrote, and what the mail program put there (the quoted mail, its introduction, a signature),
 * which is shown folded. The service knows the forms of mail programs, and answers the sender's words as `visibleText`; here its lines are
 * found again in the whole text, so that nothing of it is lost.
 */

export interface Part {
  kind: 'said' | 'quoted'
  /** Its lines. Those of all parts, one after the other, are the whole text. */
  lines: readonly string[]
}

/**
 * @param text the whole text
 * @param visible the words of the sender in it, as the service has read them
 */
export function partsOf(text: string, visible: string): Part[] {
  const lines = linesOf(text)
  const words = linesOf(visible).flatMap((line) => line.trim() || [])
  return joined(byWords(lines, words) ?? byMarks(lines))
}

const linesOf = (text: string): string[] => text.replace(/\r\n?/g, '\n').split('\n')

type Marked = [kind: Part['kind'] | 'blank', line: string]

/** The lines with what they are; undefined if the words are not all found in them. */
function byWords(lines: readonly string[], words: readonly string[]): Marked[] | undefined {
  const places = new Map<string, number>()
  for (const [at, line] of lines.entries()) places.set(line.trim(), at)
  let next = 0
  const marked = lines.flatMap((line, at): Marked[] => {
    const word = words[next]
    const plain = line.trim()
    if (!plain) return [['blank', line]]
    if (word === undefined) return [['quoted', line]]
    if (plain === word) {
      next += 1
      return [['said', line]]
    }
    // A program may put its introduction behind the last words, or the first words behind its introduction.
    const isWholeLine = (places.get(word) ?? -1) > at
    if (isWholeLine || plain.startsWith('>') || !(plain.startsWith(word) || plain.endsWith(word))) return [['quoted', line]]
    next += 1
    const start = plain.startsWith(word) ? line.indexOf(word) : line.lastIndexOf(word)
    return [
      ['quoted', line.slice(0, start)] as Marked,
      ['said', word] as Marked,
      ['quoted', line.slice(start + word.length)] as Marked,
    ].filter(([, piece]) => piece.trim())
  })
  return next === words.length ? marked : undefined
}

/** Lines with a quote mark are quoted, whatever is around them. */
const byMarks = (lines: readonly string[]): Marked[] =>
  lines.map((line) => [line.startsWith('>') ? 'quoted' : line.trim() ? 'said' : 'blank', line])

/** Blank lines belong to what is above them. */
function joined(marked: readonly Marked[]): Part[] {
  const parts: { kind: Part['kind']; lines: string[] }[] = []
  for (const [kind, line] of marked) {
    const last = parts.at(-1)
    if (last && (kind === 'blank' || kind === last.kind)) last.lines.push(line)
    else parts.push({ kind: kind === 'blank' ? 'said' : kind, lines: [line] })
  }
  // A text that begins with a quote may have blank lines above it.
  const [first, second] = parts
  if (first && second && first.lines.every((line) => !line.trim()))
    return [{ ...second, lines: [...first.lines, ...second.lines] }, ...parts.slice(2)]
  return parts
}

/** The lines of a part without the blank ones around them. */
export function textOf({ lines }: Part): string {
  const first = lines.findIndex((line) => line.trim())
  return first < 0 ? '' : lines.slice(first, lines.findLastIndex((line) => line.trim()) + 1).join('\n')
}

/** The beginning of a long text, cut at the end of a line or a word; the text itself if it is short. */
export function beginningOf(text: string, { lines: mostLines, characters }: { lines: number; characters: number }): string {
  const short = text.split('\n', mostLines).join('\n')
  if (short.length <= characters) return short
  const cut = short.slice(0, characters)
  return cut.slice(0, Math.max(cut.lastIndexOf('\n'), cut.lastIndexOf(' '), characters - 100)).trimEnd()
}
