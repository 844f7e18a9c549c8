/** Checks the house rules; `npm run check` runs it. Prints each finding with its reason and a fix. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { consoleFindings } from './console-rules.ts'
import { deadPaths } from './doc-paths.ts'
import { findings } from './house-rules.ts'
import { longPages } from './page-lengths.ts'
import { readFacts } from './source-facts.ts'
import type { Finding } from './tree-rules.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')
const textsOf = (paths: string[]) => Object.fromEntries(paths.map((path) => [path, read(path)]))

const sources = textsOf(globSync('src/**/*.ts', { cwd: root }).sort())
const consoleSources = textsOf(globSync('console/src/**/*.{ts,tsx}', { cwd: root }).sort())
const others = textsOf(globSync(['*.md', '{docs,src,examples}/**/*.md', 'scripts/**/*.ts'], { cwd: root }).sort())
const listsOfFiles = textsOf(['biome.json', 'vitest.config.ts', 'test/durations.json'])
const found = [
  ...findings(readFacts(sources), read('prisma/schema.prisma')),
  ...consoleFindings(readFacts(consoleSources)),
  ...deadPaths({ ...others, ...listsOfFiles, ...sources, ...consoleSources }, (path) => existsSync(`${root}${path}`)),
  ...longPages(others),
]
const errors = found.filter(({ isWarning }) => !isWarning)

for (const finding of found) console.log(printed(finding))
console.log(
  `${Object.keys({ ...sources, ...consoleSources }).length} files, ${errors.length} against the law of the tree, ${found.length - errors.length} warnings`,
)
process.exitCode = errors.length ? 1 : 0

function printed({ path, line, what, why, instead, isWarning }: Finding): string {
  return `${path}${line ? `:${line}` : ''} ${isWarning ? 'warning: ' : ''}${what}\n  Why: ${why}\n  Instead: ${instead}\n`
}
