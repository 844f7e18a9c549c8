/**
 * Sends random shapes in place of conditions, orders and cursors, and random values for every type. No answer is a 500, every refusal
 * names its key, and every accepted query runs. On failure the seed is printed.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FIELD_TYPES } from '../src/fields/registry.ts'
import { AppError } from '../src/platform/errors.ts'
import { tableDefinitions } from '../src/tables/definition-cache.ts'
import { resolveOrder } from '../src/views/filters/order.ts'
import { parseConditions } from '../src/views/filters/parse.ts'
import { resolveTree } from '../src/views/filters/resolve-conditions.ts'
import { testApp } from './support/app.ts'
import { everyType } from './support/tables.ts'

const SEED = 20261121

const app = await testApp()
const account = await app.account({ timezone: 'America/St_Johns' })
const table = await everyType(app, account)
await app
  .as(account.owner)
  .post(`${table.path}/records/create`, { data: { text: 'x', number: 1, date: '2026-03-29', select: 'Open', user: '@me' } })
const definition = (await tableDefinitions(app.db, [table.id])).get(table.id)
if (!definition) throw new Error('The table is gone')

const fields = ['id', 'created_at', 'updated_by', ...FIELD_TYPES]
const odd = fc.constantFrom(
  '__proto__',
  'constructor',
  'xmin',
  'toString',
  'length',
  '',
  ' text',
  'TEXT',
  '"',
  "'",
  ';',
  '--',
  '%',
  '\\',
  '*',
  'r.id',
  '0',
  '😀',
  '\u2028',
  '\ufeff',
)
const compares = fc.constantFrom(
  '=',
  '!=',
  '>',
  '<',
  '>=',
  '<=',
  'contains',
  'STARTS_WITH',
  'ew',
  'is_empty',
  'NEMPTY',
  'neq',
  'like',
  '~',
  '==',
  '',
)
const scalars = fc.oneof(
  odd,
  fc.constantFrom(
    'today',
    '@me',
    'now',
    '-7d',
    'start_of_month',
    '+99999999d',
    '-1000y',
    '+1000y',
    'end_of_next_quarter-12000m',
    'a@example.com',
    'Open',
  ),
  fc.constantFrom(
    '2026-02-29',
    '0001-01-01',
    '9999-12-31',
    '2026-03-29 02:30:00',
    '2026-03-29T23:59:60Z',
    '24:00',
    '23:59:59',
    '0000-00-00',
    'infinity',
    'NaN',
    '1e400',
    '-0',
  ),
  fc.constantFrom(0, -0, 1, -1, 0.1, 1e15, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, -(2 ** 63), true, false, null),
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => text.replaceAll('\0', '')),
  fc.double(),
  fc.integer().map(String),
)
const column = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...fields) }, odd)

/** Returns shapes that often look enough like conditions to pass the first checks. */
const { shape } = fc.letrec<{ shape: unknown }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.record(
      {
        column,
        compare: compares,
        value: tie('shape'),
        all: fc.constantFrom(true, true, false, null, 'true'),
        connector: fc.constantFrom('AND', 'or', 'XOR', null, 1),
      },
      { requiredKeys: ['column', 'compare'] },
    ),
    fc.record({ field: column, compare: compares, value: scalars, dir: fc.constantFrom('A', 'd', 'up') }, { requiredKeys: ['field'] }),
    fc.record({ all: fc.array(tie('shape'), { maxLength: 4 }) }),
    fc.record({ any: fc.array(tie('shape'), { maxLength: 4 }) }),
    fc.record({ not: tie('shape') }),
    fc.array(tie('shape'), { maxLength: 4 }),
    fc.dictionary(column, fc.oneof(scalars, fc.tuple(compares, scalars), tie('shape')), { maxKeys: 3 }),
  ),
}))

test(`random shapes are parsed, or refused by name (seed ${SEED})`, () => {
  let accepted = 0
  const run = (read: () => unknown) => {
    try {
      read()
      accepted++
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      expect(error.code).toBe('BAD_REQUEST')
      expect(error.issues?.length).toBeGreaterThan(0)
      for (const { path, message } of error.issues ?? []) expect([Array.isArray(path), message.length > 5]).toEqual([true, true])
    }
  }
  fc.assert(
    fc.property(fc.record({ filters: shape, where: shape, filter: shape, order: shape }, { requiredKeys: [] }), (input) => {
      run(() => resolveTree(parseConditions(input), definition))
      run(() => resolveOrder(input, definition))
    }),
    { seed: SEED, numRuns: 5_000 },
  )
  expect(accepted).toBeGreaterThan(500)
})

test(`random shapes over HTTP are answered or refused, and never fail (seed ${SEED})`, async () => {
  const key = fc.constantFrom(
    'filters',
    'where',
    'filter',
    'order',
    'order_by',
    'order_dir',
    'search',
    'cursor',
    'fields',
    'limit',
    'offset',
    'count',
    'explain',
    'record_id',
    'view_id',
    'append_filters',
    'by',
    'unit',
    'per_group',
  )
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('query', 'query', 'count', 'groups', 'board'),
      fc.dictionary(key, shape, { maxKeys: 3 }),
      async (operation, body) => {
        const answer = await app.as(account.keys.account).post(`${table.path}/records/${operation}`, body)
        const isAllowed = [200, 400].includes(answer.status) || ['View not found', 'Record not found'].includes(answer.body.message)
        expect(isAllowed, `${JSON.stringify(body)} → ${JSON.stringify(answer.body)}`).toBe(true)
        if (answer.status === 200) accepted++
      },
    ),
    { seed: SEED, numRuns: 300 },
  )
  expect(accepted).toBeGreaterThan(10)
})

test(`every compare of every type accepts or refuses any value, and runs if it is accepted (seed ${SEED})`, async () => {
  let accepted = 0
  const one = fc.record({
    column: fc.constantFrom(...fields),
    compare: compares.filter((compare) => !['like', '~', '==', ''].includes(compare)),
    value: fc.oneof({ weight: 3, arbitrary: scalars }, { weight: 1, arbitrary: fc.array(scalars, { minLength: 1, maxLength: 3 }) }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 40, maxLength: 40 }), async (conditions) => {
      // Conditions that are accepted one by one are sent together; each runs, and a failure is told from a refusal.
      const taken = conditions.filter((condition) => {
        try {
          resolveTree(parseConditions({ filters: [condition] }), definition)
          return true
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          return false
        }
      })
      accepted += taken.length
      const body = { filter: { any: [...taken.slice(20), { not: { any: taken.slice(0, 20) } }] }, explain: true, record_id: 1 }
      const { status, body: answer } = await app.as(account.keys.account).post(`${table.path}/records/query`, body)
      expect(status, `${JSON.stringify(taken)} → ${JSON.stringify(answer)}`).toBe(200)
      const { explain: _, record_id: __, ...query } = body
      const ran = await app.as(account.keys.account).post(`${table.path}/records/query`, { ...query, count: true, cursor: '' })
      expect(ran.status, `${JSON.stringify(taken)} → ${JSON.stringify(ran.body)}`).toBe(200)
      expect(ran.body.length === 1).toBe(answer.record.matches)
    }),
    { seed: SEED, numRuns: 40 },
  )
  expect(accepted).toBeGreaterThan(200)
})
