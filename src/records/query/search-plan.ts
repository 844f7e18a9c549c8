/**
 * Decides how a search of a large table is answered: by rare trigrams, in all records or in the first ones of the order, or by the usual
 * statement (docs/decisions/0028). All ways give the same answer, at different costs.
 */

import { frequencyOf, type TrigramSample } from '../../indexes/trigrams.ts'

/** A word of a search, and those of its trigrams that the indexes are asked for; none where each record is looked at instead. */
export interface SearchedWord {
  word: string
  trigrams: readonly string[]
}

export interface SearchPlan {
  words: readonly SearchedWord[]
  /** The number of records at the beginning of the order that are searched first; null for all records of the table. */
  window: number | null
}

/** The list of a trigram that more of the records have is not worth reading. */
const FREQUENT = 0.15

/** What PostgreSQL takes, in microseconds, for a record, an entry of a list, and the further statements (docs/decisions/0028). */
const COST = { lookAtRecord: 2.3, readEntry: 0.2, checkFound: 4, countInOrder: 0.1, window: 1_200 }
/** A bitmap of more records may not fit into the usual work_mem of 4 MB. It then has only their pages, and each record there is checked. */
const MAX_IN_BITMAP = 50_000
/** This bounds what a word costs that is rarer than its trigrams, because each record that has them is read. */
const MOST_CANDIDATES = 1_000
/** In all records a second trigram excludes those that have only the first, as long as its list is not much longer. */
const NOT_MUCH_LONGER = 3
/** A window is so much larger than the page needs on average, because records with a word are spread unevenly. */
const MARGIN = 2

/**
 * Returns a way that is cheaper than the usual statement, which walks along the order or asks the indexes for all records; else null.
 * @param wanted the number of records up to the end of the page
 * @param known the part of the records that contain all words, if it was measured
 */
export function planSearch(words: readonly string[], sample: TrigramSample, wanted: number, known?: number): SearchPlan | null {
  const rated = words.map((word) => rate(word, sample))
  const indexed = rated.filter(({ rarest }) => rarest.length)
  if (!indexed.length) return null
  const share = known ?? rated.reduce((product, { frequency }) => product * frequency, 1)
  // Words that a window has not met at all: no estimate is left to choose by.
  if (share === 0) return null
  const { records, sampled, cut } = sample
  const window = Math.ceil((MARGIN * wanted) / share)
  const reading = indexed.reduce((sum, { frequency }) => sum + records * frequency * COST.readEntry, 0)
  const found = indexed.map(({ frequency }) => records * frequency)
  const fewest = Math.min(...found)
  // Each long text may have the trigrams behind its beginning.
  const candidates = fewest + (records * cut) / sampled
  const costs = {
    walk: Math.min(wanted / share, records) * COST.lookAtRecord,
    wholeWords: reading + share * records * COST.checkFound,
    rareInAll: candidates * (COST.readEntry + COST.checkFound),
    window: COST.window + reading + window * (COST.countInOrder + share * COST.checkFound),
  }
  // If the part was measured, the words are rarer than their trigrams. Then the usual statement, which asks for whole words, reads less.
  if (known === undefined && candidates <= MOST_CANDIDATES && costs.rareInAll < Math.min(costs.walk, costs.window)) {
    const asked = indexed[found.indexOf(fewest)]
    return { words: rated.map((one) => ({ word: one.word, trigrams: one === asked ? one.rarest : [] })), window: null }
  }
  if (window > records / 2 || Math.max(window, ...found) > MAX_IN_BITMAP || costs.window >= Math.min(costs.walk, costs.wholeWords))
    return null
  return { words: rated.map(({ word, rarest }) => ({ word, trigrams: rarest.slice(0, 1) })), window }
}

interface Rated {
  word: string
  /** The rarest trigrams, two at most; none if all are frequent. */
  rarest: readonly string[]
  /** That of the rarest one: an upper limit of the part of the records that contain the word. */
  frequency: number
}

/** Only letters and digits of ASCII are rated, because the sample names other trigrams by their hashes. */
function rate(word: string, sample: TrigramSample): Rated {
  const runs = [...word.matchAll(/[a-zA-Z0-9]{3,}/g)].map(([run]) => run.toLowerCase())
  const trigrams = new Set(runs.flatMap((run) => Array.from({ length: run.length - 2 }, (_, at) => run.slice(at, at + 3))))
  const [first, second] = [...trigrams]
    .map((trigram) => ({ trigram, frequency: frequencyOf(trigram, sample) }))
    .sort((one, other) => one.frequency - other.frequency)
  if (!first) return { word, rarest: [], frequency: 1 }
  const { trigram, frequency } = first
  if (frequency > FREQUENT) return { word, rarest: [], frequency }
  const isWorthReading = second && second.frequency <= NOT_MUCH_LONGER * frequency
  return { word, rarest: isWorthReading ? [trigram, second.trigram] : [trigram], frequency }
}
