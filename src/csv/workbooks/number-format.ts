/** What the format of a cell makes of its number: a day, a time of day, a duration, or a number (ECMA-376 part 1, 18.8.30 and 18.8.31). */

export type Format = { kind: 'number' } | { kind: 'moment'; hasDate: boolean } | { kind: 'duration'; text: (days: number) => string }

const NUMBER: Format = { kind: 'number' }
const DATE: Format = { kind: 'moment', hasDate: true }
const TIME: Format = { kind: 'moment', hasDate: false }

/** The formats below 164 that a workbook need not write down. The others of them are numbers and texts. */
const BUILT_IN: Readonly<Record<number, string>> = {
  ...Object.fromEntries([14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58].map((id) => [id, 'd'])),
  ...Object.fromEntries([18, 19, 20, 21, 32, 33, 45, 47].map((id) => [id, 'h'])),
  46: '[h]:mm:ss',
}

/** @param written the formats of the workbook by number @returns the format of a value, which may depend on its sign */
export function formatOf(id: number, written: ReadonlyMap<number, string>): (days: number) => Format {
  const code = written.get(id) ?? BUILT_IN[id] ?? ''
  const sections = sectionsOf(code)
  const shown = sections.map(sectionFormat)
  // A section that shows nothing, such as that of zero in `h:mm;;`, leaves the value what the others say.
  const usual = shown.find(({ kind }) => kind !== 'number') ?? NUMBER
  if (usual === NUMBER || shown.length === 1) return () => usual
  return (days) => {
    const own = shown[sectionOf(sections, days)]
    return own && own.kind !== 'number' ? own : usual
  }
}

/** A text in quotes, a character after its backslash, a blank as wide as one, a filling character, or what is in brackets. */
const LITERAL = /"[^"]*"?|\\.|_.|\*./g
const PIECES = /"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|AM\/PM|A\/P|h+|m+|s+|\.0+|./gis

/** The sections for positive and negative numbers, zero and text. */
function sectionsOf(code: string): string[] {
  const sections = ['']
  for (const [piece] of code.matchAll(PIECES)) {
    if (piece === ';') sections.push('')
    else sections[sections.length - 1] += piece
  }
  // The fourth section is that of texts.
  return sections.slice(0, 3)
}

const CONDITION = /\[([<>=]+)\s*(-?[\d.]+)\]/

function sectionOf(sections: readonly string[], days: number): number {
  if (!sections.some((section) => CONDITION.test(section))) return days < 0 ? 1 : days === 0 && sections.length > 2 ? 2 : 0
  const met = sections.findIndex((section) => {
    const [, compare, operand] = CONDITION.exec(section) ?? []
    return compare === undefined || isMet(days, compare, Number(operand))
  })
  return Math.max(0, met)
}

function isMet(days: number, compare: string, operand: number): boolean {
  if (compare === '<>') return days !== operand
  if (days === operand) return compare.includes('=')
  return compare.includes(days < operand ? '<' : '>')
}

const ELAPSED = /^\[(h+|m+|s+)\]$/i

function sectionFormat(section: string): Format {
  const pieces = [...section.matchAll(PIECES)].map(([piece]) => piece)
  if (pieces.some((piece) => ELAPSED.test(piece))) return { kind: 'duration', text: (days) => durationText(pieces, days) }
  const letters = section.replaceAll(LITERAL, '').replaceAll(/\[[^\]]*\]/g, '')
  // Digits are those of numbers, except for fractions of a second.
  if (/general|standard|[0#?]/i.test(letters.replaceAll(/\.0+/g, ''))) return NUMBER
  const hasTime = /[hs]|AM\/PM|A\/P/i.test(letters)
  // Beside hours or seconds, the letter m means minutes.
  if (/[dy]/i.test(letters) || (!hasTime && /m/i.test(letters))) return DATE
  if (!hasTime) return NUMBER
  return /m{3,}/i.test(letters) ? DATE : TIME
}

const SECONDS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1 }

/** Writes a duration as the sheet shows it: its first unit has no end, so that a day and a half is `36:00` in `[h]:mm`. */
function durationText(pieces: readonly string[], days: number): string {
  const decimals = Math.max(0, ...pieces.map((piece) => (/^\.0+$/.test(piece) ? piece.length - 1 : 0)))
  // Hours are fractions of a day that no double holds, so that the smallest unit is rounded first.
  const ticks = Math.round(Math.abs(days) * 86_400 * 10 ** decimals)
  const seconds = Math.floor(ticks / 10 ** decimals)
  const unit = (letters: string, isFirst: boolean) => {
    const size = SECONDS[letters.charAt(0).toLowerCase()] ?? 1
    const count = Math.floor((isFirst ? seconds : seconds % (size * (size === 3_600 ? 24 : 60))) / size)
    return String(count).padStart(letters.length, '0')
  }
  const text = pieces.map((piece) => {
    const first = ELAPSED.exec(piece)?.[1]
    if (first) return unit(first, true)
    if (/^(h+|m+|s+)$/i.test(piece)) return unit(piece, false)
    return /^\.0+$/.test(piece) ? `.${String(ticks % 10 ** decimals).padStart(decimals, '0')}` : literalText(piece)
  })
  const shown = text.join('').trim()
  // The section of negative numbers may write the sign itself, or brackets for it.
  return days < 0 && ticks > 0 && !/^[-(]/.test(shown) ? `-${shown}` : shown
}

/** What a piece of a format shows that is no part of the value. */
function literalText(piece: string): string {
  if (piece.startsWith('"')) return piece.slice(1).replace(/"$/, '')
  if (piece.startsWith('\\')) return piece.slice(1)
  if (piece.startsWith('_')) return ' '
  return /^(\[|\*|@)/.test(piece) || /^(AM\/PM|A\/P)$/i.test(piece) ? '' : piece
}
