import { describe, expect, test } from 'vitest'
import { deadPaths } from '../../scripts/doc-paths.ts'

const there = new Set(['docs/csv.md', 'src/app.ts', 'src/platform/', 'LICENSE'])
const dead = (path: string, text: string) =>
  deadPaths({ [path]: text }, (target) => there.has(target)).map(({ line, what }) => `${line}: ${what}`)

describe('paths in documents', () => {
  test.each([
    ['a link from the root', 'README.md', 'See [CSV](docs/cvs.md).', '1: names docs/cvs.md, which does not exist'],
    ['a link from a folder', 'docs/concepts.md', '\n[why](decisions/9.md#when)', '2: names docs/decisions/9.md, which does not exist'],
    ['a source', 'docs/csv.md', 'as `src/scope.ts` does', '1: names src/scope.ts, which does not exist'],
    ['a folder', 'docs/csv.md', 'in src/plumbing/', '1: names src/plumbing/, which does not exist'],
    ['a file of a list', 'test/durations.json', '{\n  "test/gone.test.ts": 2\n}', '2: names test/gone.test.ts, which does not exist'],
    ['a document in a comment', 'src/app.ts', '// why: docs/decisions/9.md', '1: names docs/decisions/9.md, which does not exist'],
  ])('finds %s', (_, path, text, expected) => {
    expect(dead(path, text)).toEqual([expected])
  })

  test.each([
    ['what exists', 'docs/csv.md', '[app](../src/app.ts), [here](csv.md#part), src/app.ts and src/platform/, [licence](../LICENSE)'],
    ['addresses and parts of the page', 'README.md', '[a](https://example.com/src/a.ts) [b](#part)'],
    ['patterns', 'README.md', '`test/<feature>.test.ts`, `src/**/router.ts`, `src/tasks/{a,b}.ts`'],
    ['paths in code', 'src/app.ts', "import './scope.ts' // src/scope.ts"],
  ])('leaves %s alone', (_, path, text) => {
    expect(dead(path, text)).toEqual([])
  })
})
