/** Writes openapi.json from the procedures; with --check only reports whether it is up to date. Then names what is against its rules. */
import { readFileSync, writeFileSync } from 'node:fs'
import { apiDocument } from '../src/router.ts'
import { type RuledDocument, ruleBreaches } from './openapi-rules.ts'

const path = new URL('../openapi.json', import.meta.url)
const document = await apiDocument()
const json = `${JSON.stringify(document, null, 2)}\n`

if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== json) {
    console.error('openapi.json is out of date: run `npm run openapi` and commit it')
    process.exitCode = 1
  }
} else writeFileSync(path, json)

for (const breach of ruleBreaches(document as RuledDocument)) {
  console.error(breach)
  process.exitCode = 1
}
