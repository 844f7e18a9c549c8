/** A new field type takes one file and one line: the fixture `rating` is added to a copy of the service, under a name that no real type has. */
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIELD_TYPES, TYPES } from '../../src/fields/registry.ts'
import { rating } from '../fixtures/field-types/rating.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const SLOW = 120_000
let copy: string

/** Compiles the copy. @returns its errors */
async function compile(): Promise<string[]> {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', copy, '--singleThreaded'], { cwd: copy }).catch(
    (error: { stdout: string }) => error,
  )
  return stdout.split('\n').filter((line) => line !== '')
}

/** Returns everything in the copy that supports the new type. */
const CALLER = `import { isConvertible } from './conversions/rules.ts'
import { KEY_FIELD, parseCell } from './fields/definition.ts'
import { FIELD_TYPES } from './fields/registry.ts'
import { planIndexes } from './indexes/plan.ts'
import { NewField } from './tables/schema.ts'

const field = { ...KEY_FIELD, id: 'stars', name: 'Stars', type: 'fixture_rating' as const, key: false, decimals: null }
const table = { id: 1, space_id: 1, account_id: 1, name: 'T', version: 1, hasHistory: true, isConverting: false, fields: [KEY_FIELD, field] }
const indexes = planIndexes(table, [], [{ equal: [], sort: 'stars' }], { groups: new Map(), made: new Set() })
console.log(JSON.stringify({
  isListed: FIELD_TYPES.includes('fixture_rating'),
  isAccepted: NewField.safeParse({ name: 'Stars', type: 'fixture_rating' }).success,
  written: [parseCell(field, 4, 1), parseCell(field, 6, 1)],
  conversions: [isConvertible('text', 'fixture_rating'), isConvertible('fixture_rating', 'number'), isConvertible('fixture_rating', 'file')],
  indexes: indexes.map(({ on }) => on),
}))
`

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'new-field-type-'))
  await cp(join(root, 'src'), join(copy, 'src'), { recursive: true })
  for (const name of ['node_modules', 'generated', 'package.json']) await symlink(join(root, name), join(copy, name))
  await writeFile(join(copy, 'tsconfig.json'), JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['src'] }))
  await writeFile(join(copy, 'src/caller.ts'), CALLER)

  const fixture = await readFile(join(root, 'test/fixtures/field-types/rating.ts'), 'utf8')
  const moved = fixture.replaceAll('../../../src/fields/', '../').replaceAll('../../../src/', '../../')
  await writeFile(join(copy, 'src/fields/types/fixture-rating.ts'), moved)
  const registry = await readFile(join(copy, 'src/fields/registry.ts'), 'utf8')
  const line = "import { rating as made } from './types/fixture-rating.ts'\n"
  await writeFile(join(copy, 'src/fields/registry.ts'), `${line}${registry.replace('  file,\n', '  file,\n  fixture_rating: made,\n')}`)
}, SLOW)
afterAll(() => rm(copy, { recursive: true, force: true }))

describe('the types of fields', () => {
  test('convert only to existing types', () => {
    for (const type of FIELD_TYPES) expect(FIELD_TYPES).toEqual(expect.arrayContaining(Object.keys(TYPES[type].becomes)))
  })

  test('are named nowhere else: code that depends on a type asks its definition', () => {
    // Email offers a record's addresses to write to, and a record's title is its first text field (api.md).
    const allowed = ["src/email/service.ts type === 'email'", "src/fields/definition.ts type === 'text'"]
    const naming = new RegExp(`(?:\\btype (?:===|!==)|\\bcase) '(?:${FIELD_TYPES.join('|')})'`, 'g')
    const found = globSync('src/**/*.ts', { cwd: root }).flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(naming)].map(([text]) => `${path} ${text}`),
    )
    expect(found.sort()).toEqual(allowed)
  })
})

describe('a new type of field', () => {
  test('takes a file and a line in the table of types, and the whole service supports it', { timeout: SLOW }, async () => {
    expect(await compile()).toEqual([])
    const { stdout } = await run(process.execPath, [join(copy, 'src/caller.ts')], { cwd: copy })
    expect(JSON.parse(stdout)).toEqual({
      isListed: true,
      isAccepted: true,
      written: [
        { kind: 'cell', cell: 4 },
        { kind: 'wrong', reason: 'must be a number of stars, 1 to 5' },
      ],
      conversions: [true, true, false],
      indexes: ['("stars" nulls first, id)'],
    })
  })

  test('does not compile until it is complete: the compiler names what is missing', { timeout: SLOW }, async () => {
    const members = Object.keys(rating)
    for (const member of members) {
      const without = `import type { FieldTypeDefinition } from '../field-type.ts'
import { rating } from './fixture-rating.ts'

const { ${member}: _, ...incomplete } = rating
void _
export const ${member}Missing: FieldTypeDefinition = incomplete
`
      await writeFile(join(copy, `src/fields/types/without-${member}.ts`), without)
    }
    const errors = await compile()
    expect(errors).toHaveLength(members.length)
    for (const member of members)
      expect(errors.find((error) => error.startsWith(`src/fields/types/without-${member}.ts(`))).toContain(`'${member}' is missing`)
  })
})
