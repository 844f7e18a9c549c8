/** The words in the SQL of the source, which a field may have as its id. */
import { globSync, readFileSync } from 'node:fs'
import { readFacts } from '../../scripts/source-facts.ts'
import { namesFields } from '../../scripts/sql-rules.ts'
import { isReserved, SLUG } from '../../src/fields/slug.ts'

/** Every word of the statements of `src/` that can meet fields, if it could be the id of one, and every letter. */
export function sqlWords(): string[] {
  const sources = readFacts(Object.fromEntries(globSync('src/**/*.ts').map((path) => [path, readFileSync(path, 'utf8')])))
  const words = new Set('abcdefghijklmnopqrstuvwxyz')
  for (const { text } of sources.filter(namesFields).flatMap(({ sql }) => sql)) {
    for (const [word] of text.toLowerCase().matchAll(/\b[a-z][a-z0-9_]*/g)) words.add(word)
  }
  return [...words].filter((word) => SLUG.test(word) && !isReserved(word)).sort()
}
