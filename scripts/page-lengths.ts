/** Finds pages of the documentation that are longer than a reader has patience for. Words are counted as `wc -w` counts them. */
import type { Finding } from './tree-rules.ts'

interface Limit {
  most: number
  why: string
  instead: string
}

const ANSWERS: Pick<Limit, 'why' | 'instead'> = {
  why: 'A reader looks for one answer on this page, and reads past everything else.',
  instead:
    'Say each thing once, in a table or a plain sentence. What was tried or measured before is in git; a topic of its own gets a page.',
}
/** The pages that grow most. Others may be as long as their topic, and count among all. */
const PAGES: Record<string, Limit> = {
  'CHANGELOG.md': {
    most: 2_500,
    why: 'Users read it before an upgrade, to find what they have to do.',
    instead: 'Merge the unreleased entries about one thing, and leave out what no caller and no operator notices.',
  },
  'docs/benchmarks.md': { most: 3_000, ...ANSWERS },
  'docs/operations.md': { most: 3_500, ...ANSWERS },
  'docs/reliability.md': { most: 1_500, ...ANSWERS },
  'docs/scaling.md': { most: 1_500, ...ANSWERS },
}
const DECISION: Limit = {
  most: 600,
  why: 'A decision is read by somebody who wants to change what it explains, before they do.',
  instead: 'Keep the choice that stands, its reason and what follows from it. Cut how it came about, or split what are two choices.',
}
const ALL: Limit = {
  most: 51_570,
  why: 'Nobody can keep more pages than this true.',
  instead: 'Shorten a page that repeats another one. If a new page answers what no page did, raise the limit by its words.',
}

const isDecision = (path: string) => /^docs\/decisions\/\d/.test(path)
const wordsIn = (text: string) => text.split(/\s+/).filter(Boolean).length

/** @param files text by path from the root; what is not in `docs/` does not count among all */
export function longPages(files: Record<string, string>): Finding[] {
  const counts = Object.entries(files).map(([path, text]) => ({ path, words: wordsIn(text) }))
  const all = counts.filter(({ path }) => path.startsWith('docs/')).reduce((sum, { words }) => sum + words, 0)
  return [
    ...counts.flatMap(({ path, words }) => tooLong(path, words, isDecision(path) ? DECISION : PAGES[path])),
    ...tooLong('docs/', all, ALL),
  ]
}

function tooLong(path: string, words: number, limit: Limit | undefined): Finding[] {
  if (!limit || words <= limit.most) return []
  return [{ path, what: `has ${words} words, at most ${limit.most} are allowed`, why: limit.why, instead: limit.instead }]
}
