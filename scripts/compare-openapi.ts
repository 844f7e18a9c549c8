/**
 * Compares the shape of two OpenAPI documents: `node scripts/compare-openapi.ts before.json after.json`. Prints a line per difference, by its
 * path: `+` for an addition, `~` for a change, `-` for what is gone. Exits with 1 if anything of the first document has changed or is gone.
 */
import { readFileSync } from 'node:fs'
import { type Json, shapeDifferences } from './openapi-shape.ts'

const MARKS = { added: '+', changed: '~', gone: '-' }

const [before, after] = process.argv.slice(2)
if (!before || !after) throw new Error('Usage: node scripts/compare-openapi.ts <before.json> <after.json>')

const found = shapeDifferences(documentAt(before), documentAt(after))
for (const { kind, at, before: old, after: current } of found) {
  console.log(
    `${MARKS[kind]} ${at}: ${kind === 'changed' && old !== undefined ? `${brief(old)} → ` : ''}${brief(kind === 'gone' ? old : current)}`,
  )
}
const affecting = found.filter(({ kind }) => kind !== 'added').length
console.log(`${affecting} changed or gone, ${found.length - affecting} added`)
process.exitCode = affecting ? 1 : 0

function documentAt(path: string): Json {
  return JSON.parse(readFileSync(path, 'utf8')) as Json
}

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
