/** The rules that hold for every tree of sources: names, the sizes of files and folders, and no cycles. */
import { type SourceFacts, WIDEST_LINE } from './source-facts.ts'

export interface Finding {
  path: string
  line?: number
  /** The problem, in a few words. */
  what: string
  why: string
  instead: string
  /** True for a finding that is only reported and does not fail the check. */
  isWarning?: boolean
}

/** A folder with more files than this should be split into rooms by concept. */
const MOST_FILES = 16

const WARN_LINES = 300
const MOST_LINES = 350

export const VAGUE =
  /^(index|utils?|helpers?|common|types?|lib|misc|shared|constants?|interfaces?|manager|handlers?|controllers?|models?|data)$/

const SOURCES = /^(console\/)?src\//
const isOurs = (to: string) => SOURCES.test(to)
const withoutRoot = (path: string) => path.replace(SOURCES, '')

/** Finds a file whose name does not tell what it holds. */
export function vague(path: string): Finding[] {
  const file = path.slice(path.lastIndexOf('/') + 1)
  if (!VAGUE.test(file.replace(/\.tsx?$/, ''))) return []
  const instead = 'Name it after the one thing it holds (reminder.ts, date-tokens.ts); if it holds several, those are several files.'
  return [{ path, what: `${file} says nothing`, why: 'Readers guess the file from its name before they look.', instead }]
}

/** A folder with too many files holds more than one concept. */
export function crowded(sources: SourceFacts[]): Finding[] {
  const counts = new Map<string, number>()
  for (const { path } of sources) {
    const folder = path.slice(0, path.lastIndexOf('/'))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES)
    .map(([folder, count]) => ({
      path: folder,
      what: `${count} files`,
      why: `A list of more than ${MOST_FILES} names is searched, not read.`,
      instead: 'Give the files of one concept a room of their own, one level deep.',
    }))
}

export function size({ path, lines }: SourceFacts): Finding[] {
  if (lines <= WARN_LINES) return []
  const why = `A file fits in a head: about ${WARN_LINES} lines, at most ${MOST_LINES}.`
  const instead = 'It is two concepts by now: split it by concept, not by verb.'
  return [{ path, what: `${lines} lines`, why, instead, isWarning: lines <= MOST_LINES }]
}

export function width({ path, wideLines }: SourceFacts): Finding[] {
  const why = `A line of more than ${WIDEST_LINE} characters is not read to its end.`
  const instead = 'Say it in fewer words: a comment states the rule. Give parts of an expression a name.'
  return wideLines.map((line) => ({ path, line, what: `has more than ${WIDEST_LINE} characters`, why, instead }))
}

/** Reports each cycle of imports once. Imports of types count, too; Biome 2.3 has such a rule only among its experimental ones. */
export function cycles(sources: SourceFacts[]): Finding[] {
  const needs = new Map(sources.map(({ path, imports }) => [path, [...new Set(imports.map(({ to }) => to).filter((to) => isOurs(to)))]]))
  const found = new Map<string, string[]>()
  const done = new Set<string>()
  const trail: string[] = []

  function follow(path: string): void {
    const start = trail.indexOf(path)
    if (start >= 0) {
      const cycle = trail.slice(start)
      found.set([...cycle].sort().join(), cycle)
      return
    }
    if (done.has(path)) return
    trail.push(path)
    for (const next of needs.get(path) ?? []) follow(next)
    trail.pop()
    done.add(path)
  }
  for (const path of needs.keys()) follow(path)

  return [...found.values()].map((cycle) => ({
    path: cycle[0] ?? '',
    what: `a cycle: ${[...cycle, cycle[0]].map((path) => path && withoutRoot(path)).join(' → ')}`,
    why: 'None of them can be understood, tested or loaded without the others.',
    instead: 'Move what both need into a third file that needs neither; for types, to the file that owns the noun.',
  }))
}
