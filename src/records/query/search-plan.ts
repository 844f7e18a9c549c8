/**
 * Decides how a search of a large table is answered: by the trigram indexes within the first records of the order, or by the usual statement
 * (docs/decisions/0028). It only decides about the cost; both ways give the same answer.
 */

import { frequencyOf, type TrigramSample } from '../../indexes/trigrams.ts'

/** A word of a search, and its trigram that the indexes are asked for; null where each record is looked at instead. */
export interface SearchedWord {
  word: string
  trigram: string | null
}

export interface SearchPlan {
  words: readonly SearchedWord[]
  /** The number of records at the beginning of the order that are searched first. */
  window: number
}

/** A trigram in more of the records than this is not worth reading its list. */
const FREQUENT = 0.15

/** Measured costs in microseconds of PostgreSQL (docs/decisions/0028): of a record, of an entry of a list, and of the further statements. */
const COST = { lookAtRecord: 2.3, readEntry: 0.2, checkFound: 4, countInOrder: 0.1, window: 1_200 }
/** A bitmap of more records may not fit into the usual work_mem of 4 MB. Then it knows only their pages, of which each record is checked. */
const MAX_IN_BITMAP = 50_000
/** A window is so much larger than the page needs on average, because records with a word are spread unevenly. */
const MARGIN = 2

/**
 * Returns a window that is cheaper than the usual statement, which walks along the order or asks the indexes for all records; else null.
 * @param wanted the number of records up to the end of the page
 * @param known the part of the records that contain all words, if it was measured
 */
export function planSearch(words: readonly string[], sample: TrigramSample, wanted: number, known?: number): SearchPlan | null {
  const rated = words.map((word) => rate(word, sample))
  const indexed = rated.filter(({ trigram }) => trigram !== null)
  if (!indexed.length) return null
  const share = known ?? rated.reduce((product, { frequency }) => product * frequency, 1)
  // Words that a window has not met at all: no estimate is left to choose by.
  if (share === 0) return null
  const { records } = sample
  const window = Math.ceil((MARGIN * wanted) / share)
  const reading = indexed.reduce((sum, { frequency }) => sum + records * frequency * COST.readEntry, 0)
  const mostFound = records * Math.max(...indexed.map(({ frequency }) => frequency))
  if (window > records / 2 || Math.max(window, mostFound) > MAX_IN_BITMAP) return null
  const costs = {
    walk: Math.min(wanted / share, records) * COST.lookAtRecord,
    all: reading + share * records * COST.checkFound,
    window: COST.window + reading + window * (COST.countInOrder + share * COST.checkFound),
  }
  if (costs.window >= Math.min(costs.walk, costs.all)) return null
  return { words: rated.map(({ word, trigram }) => ({ word, trigram })), window }
}

interface Rated extends SearchedWord {
  /** An upper limit of the part of the records that contain the word. */
  frequency: number
}

/**
 * Finds the rarest trigram of the word. The lists of the others would take longer to read than the records that they exclude to look at.
 * Only letters and digits of ASCII are rated, because the sample names other trigrams by their hashes.
 */
function rate(word: string, sample: TrigramSample): Rated {
  let best: Rated = { word, trigram: null, frequency: 1 }
  for (const [run] of word.matchAll(/[a-zA-Z0-9]{3,}/g))
    for (let at = 0; at + 3 <= run.length; at++) {
      const trigram = run.slice(at, at + 3).toLowerCase()
      const frequency = frequencyOf(trigram, sample)
      if (frequency < best.frequency) best = { word, frequency, trigram: frequency > FREQUENT ? null : trigram }
    }
  return best
}
