/** Tells the separator of the cells of a file from its first rows. */
import { AppError } from '../../platform/errors.ts'
import { type Row, RowParser } from './rows.ts'

/** One of SEPARATORS, or the one that the first line of the file names. */
export type Separator = string

/** In the order in which those are tried that fit equally well, unless the comma separates. */
const SEPARATORS = ['\t', ';', '|', ','] as const
const ROWS = 100
/** So much of a file is looked at, or so many line ends of it, and more only for a first row that is longer. */
const SAMPLE = 262_144
const SAMPLE_LINE_ENDS = 1_000
const MAX_FIRST_ROW = 1_048_576
const STEP = 4_096

/** The beginning of a file, and the whole file from there on. */
export interface Sampled {
  sample: string
  isWhole: boolean
  text: AsyncIterable<string>
}

/** Reads the beginning of a text, and passes it on with the rest. */
export async function sampled(text: AsyncIterable<string>): Promise<Sampled> {
  const iterator = text[Symbol.asyncIterator]()
  let begun = ''
  let [lineEnds, isWhole] = [0, false]
  while (!isWhole && lineEnds < SAMPLE_LINE_ENDS && begun.length < (lineEnds ? SAMPLE : MAX_FIRST_ROW)) {
    const next = await iterator.next()
    if (next.done) isWhole = true
    else {
      begun += next.value
      lineEnds += next.value.match(LINE_END)?.length ?? 0
    }
  }
  // The same rows are looked at, however the file arrives.
  const sample = begun.slice(0, endOfSample(begun))
  async function* all(): AsyncGenerator<string> {
    try {
      yield begun
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  return { sample, isWhole: isWhole && sample.length === begun.length, text: all() }
}

const LINE_END = /[\r\n]/g

function endOfSample(begun: string): number {
  let end = 0
  let count = 0
  for (const { index } of begun.matchAll(LINE_END)) {
    if (index >= SAMPLE && count) return SAMPLE
    end = index + 1
    if (++count === SAMPLE_LINE_ENDS) return end
  }
  return count && end > SAMPLE ? end : Math.min(begun.length, count ? SAMPLE : MAX_FIRST_ROW)
}

/** A line before the header that names the separator, as Excel reads and writes it. Some programs fill it to the width of the header. */
const NAMED = /^\uFEFF?"?sep=([^\p{L}\p{N}\s"]|\t)"?\1* *(\r\n|\n|\r)/iu

/** @returns the separator, and the length of the line; undefined for a file whose first line names none */
export function namedSeparator(sample: string): { separator: Separator; length: number } | undefined {
  const [line, separator] = NAMED.exec(sample) ?? []
  return line !== undefined && separator !== undefined ? { separator, length: line.length } : undefined
}

interface Candidate {
  separator: Separator
  /** The cells of the first row that have a name. */
  header: string[]
  /** The rows below the header, of the first hundred, that have as many cells; more only if those have nothing. */
  fitting: number
  rows: number
  /** Whether it separates any of these rows. */
  isUsed: boolean
}

/**
 * The separator by which most of the first rows have as many cells as the header; of several the one with most cells. If the table is
 * known, the one whose header names its fields.
 * @param isName whether a text is the name of a column
 */
export function separatorOf({ sample, isWhole }: Omit<Sampled, 'text'>, isName?: (cell: string) => boolean): Separator {
  const firstLine = /[^\r\n\uFEFF][^\r\n]*/.exec(sample)?.[0].trim() ?? ''
  // A row that is the name of one field is one column, which no separator may divide.
  if (isName?.(firstLine)) return [',', ';', '\t', '|'].find((one) => !sample.includes(one)) ?? ','
  const candidates = SEPARATORS.map((separator) => candidateOf(separator, sample, isWhole)).filter(({ header }) => header.length > 1)
  const named = isName ? bestNamed(candidates, isName) : candidates
  return chosen(named, sample)
}

function candidateOf(separator: Separator, sample: string, isWhole: boolean): Candidate {
  const [first, ...below] = firstRows(separator, sample, isWhole)
  const header = [...(first?.cells ?? [])]
  while (header.at(-1) === '') header.pop()
  const fitting = below.filter(({ cells }) => cells.length >= header.length && cells.slice(header.length).every((cell) => cell === ''))
  return {
    separator,
    header,
    fitting: fitting.length,
    rows: below.length,
    isUsed: !below.length || below.some(({ cells }) => cells.length > 1),
  }
}

/** The header and the first rows. A row that is not valid by the separator ends them. */
function firstRows(separator: Separator, sample: string, isWhole: boolean): Row[] {
  const parser = new RowParser(separator)
  const rows: Row[] = []
  try {
    for (let at = 0; at < sample.length && rows.length <= ROWS; at += STEP) {
      parser.add(sample.slice(at, at + STEP))
      rows.push(...parser.take())
    }
    if (isWhole && rows.length <= ROWS) parser.end()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
  return [...rows, ...parser.take()].slice(0, ROWS + 1)
}

/** Those whose header names fields of the table only; otherwise those that name most of them. */
function bestNamed(candidates: readonly Candidate[], isName: (cell: string) => boolean): Candidate[] {
  const counted = candidates.map((candidate) => ({ candidate, names: candidate.header.filter(isName).length }))
  const all = counted.filter(({ candidate, names }) => names === candidate.header.length)
  const most = Math.max(0, ...counted.map(({ names }) => names))
  return (all.length ? all : counted.filter(({ names }) => names === most)).map(({ candidate }) => candidate)
}

function chosen(candidates: readonly Candidate[], sample: string): Separator {
  const fits = candidates.filter(({ fitting, rows }) => 2 * fitting >= rows)
  const used = candidates.filter(({ isUsed }) => isUsed)
  const best = fits.length ? fits : used.filter(({ fitting }) => fitting === Math.max(...used.map((one) => one.fitting)))
  const cells = Math.max(0, ...best.map(({ header }) => header.length))
  const widest = best.filter(({ header }) => header.length === cells).map(({ separator }) => separator)
  if (widest.length > 1 && !TEXT_COMMA.test(sample.replaceAll(/"[^"]*"/g, ''))) return widest.find((separator) => separator !== ',') ?? ','
  return widest.includes(',') ? ',' : (widest[0] ?? ',')
}

/** A comma that is neither a decimal one nor one of a sentence. */
const TEXT_COMMA = /(?<!\d),(?![ \t\u00a0])|,(?![\d \t\u00a0])/
