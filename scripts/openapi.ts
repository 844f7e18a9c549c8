/** Writes openapi.json from the procedures; with --check only reports whether it is up to date. */
import { readFileSync, writeFileSync } from 'node:fs'
import { apiDocument } from '../src/router.ts'

const path = new URL('../openapi.json', import.meta.url)
const json = `${JSON.stringify(await apiDocument(), null, 2)}\n`

if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== json) {
    console.error('openapi.json is out of date: run `npm run openapi` and commit it')
    process.exitCode = 1
  }
} else writeFileSync(path, json)
