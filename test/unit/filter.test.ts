import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/platform/errors.ts'
import {
  isAllOf,
  leavesOf,
  type ParsedCondition,
  parseConditions,
  parseFilters,
  precedence,
  type Tree,
} from '../../src/views/filters/parse.ts'

/** Returns the tree in infix form: `(a and b) or c`. */
function spell(tree: Tree<ParsedCondition>): string {
  if (isAllOf(tree)) return tree.all.length === 1 ? spell(tree.all[0] as Tree<ParsedCondition>) : `(${tree.all.map(spell).join(' and ')})`
  if ('any' in tree) return `(${tree.any.map(spell).join(' or ')})`
  if ('not' in tree) return `not ${spell(tree.not)}`
  return tree.column
}

function refusal(run: () => unknown): { message: string; paths: string[] } {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError) return { message: error.message, paths: (error.issues ?? []).map(({ path }) => path.join('.')) }
    throw error
  }
  throw new Error('It was accepted')
}

const filter = (column: string, connector?: string) => ({ column, compare: '=', value: 1, ...(connector && { connector }) })

describe('the normal form', () => {
  test('the first connector is AND, whatever is sent; others default to AND', () => {
    const sent = [filter('a', 'OR'), filter('b'), filter('c', 'or'), { ...filter('d'), connector: null }]
    expect(parseFilters(sent).map(({ connector }) => connector)).toEqual(['AND', 'AND', 'OR', 'AND'])
  })

  test('field is an alias of column', () => {
    expect(parseFilters([{ field: 'a', compare: '=', value: 1 }])).toEqual([{ column: 'a', compare: '=', value: 1, connector: 'AND' }])
  })

  test('is_empty and is_not_empty have no value, even if one is sent', () => {
    expect(parseFilters([{ column: 'a', compare: 'EMPTY', value: 'x' }])).toEqual([{ column: 'a', compare: 'is_empty', connector: 'AND' }])
  })

  test.each([
    ...[
      ['eq', '='],
      ['NE', '!='],
      ['neq', '!='],
      ['GT', '>'],
      ['gte', '>='],
      ['LT', '<'],
      ['lte', '<='],
      ['C', 'contains'],
    ],
    ...[
      ['Contains', 'contains'],
      ['sw', 'starts_with'],
      ['STARTS_WITH', 'starts_with'],
      ['EW', 'ends_with'],
      ['ends_with', 'ends_with'],
    ],
    ...[
      ['EMPTY', 'is_empty'],
      ['Is_Empty', 'is_empty'],
      ['NEMPTY', 'is_not_empty'],
      ['is_not_empty', 'is_not_empty'],
      ['<=', '<='],
    ],
  ])('%s is %s', (spelling, compare) => {
    expect(parseFilters([{ column: 'a', compare: spelling, value: 1 }])[0]?.compare).toBe(compare)
  })

  test('it does not change when it is parsed again', () => {
    const once = parseFilters([filter('a', 'OR'), { field: 'b', compare: 'nempty' }, filter('c', 'or')])
    expect(parseFilters(once)).toEqual(once)
  })

  test('an empty input is no filter', () => {
    expect(parseFilters(undefined)).toEqual([])
    expect(parseFilters(null)).toEqual([])
  })
})

describe('AND binds tighter than OR', () => {
  test.each([
    [['a'], 'a'],
    [['a', 'AND b'], '(a and b)'],
    [['a', 'OR b'], '(a or b)'],
    [['a', 'OR b', 'AND c'], '(a or (b and c))'],
    [['a', 'AND b', 'OR c'], '((a and b) or c)'],
    [['OR a', 'OR b'], '(a or b)'],
    [['a', 'AND b', 'OR c', 'AND d', 'OR e'], '((a and b) or (c and d) or e)'],
  ])('%j is %s', (parts, expected) => {
    const sent = parts.map((part) => (part.includes(' ') ? filter(part.split(' ')[1] as string, part.split(' ')[0]) : filter(part)))
    expect(spell(precedence(parseFilters(sent), ['filters']))).toBe(expected)
  })

  test('it evaluates like sums of products from left to right', () => {
    const terms = fc.array(fc.tuple(fc.boolean(), fc.constantFrom('AND', 'OR')), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(terms, (list) => {
        const filters = list.map(([, connector], index) => ({
          column: String(index),
          compare: '=' as const,
          value: 1,
          connector: connector as 'AND' | 'OR',
        }))
        filters[0] = { ...(filters[0] as (typeof filters)[0]), connector: 'AND' }
        const holds = (tree: Tree<ParsedCondition>): boolean =>
          isAllOf(tree) ? tree.all.every(holds) : 'any' in tree ? tree.any.some(holds) : isTrue(tree as ParsedCondition)
        const isTrue = ({ column }: ParsedCondition) => list[Number(column)]?.[0] ?? false
        const script = list
          .map(([value], index) => `${index === 0 ? '' : filters[index]?.connector === 'OR' ? ' || ' : ' && '}${value}`)
          .join('')
        // biome-ignore lint/security/noGlobalEval: JavaScript has SQL's precedence of && and ||.
        expect(holds(precedence(filters, []))).toBe(eval(script))
      }),
      { seed: 20261120 },
    )
  })
})

describe('where', () => {
  test('a value means =, a pair is compare and value, and one word tests for emptiness', () => {
    const tree = parseConditions({ where: { status: 'Active', age: ['>', 21], note: ['is_empty'] } })
    expect(leavesOf(tree).map(({ column, compare, value }) => [column, compare, value])).toEqual([
      ['status', '=', 'Active'],
      ['age', '>', 21],
      ['note', 'is_empty', undefined],
    ])
  })

  test('it is joined to filters and filter by AND', () => {
    const tree = parseConditions({
      filters: [filter('a'), filter('b', 'OR')],
      where: { c: 1 },
      filter: { any: [filter('d'), filter('e')] },
    })
    expect(spell(tree)).toBe('((a or b) and c and (d or e))')
  })
})

describe('groups', () => {
  test('nest five deep', () => {
    const nested = (depth: number): object => (depth === 0 ? filter('a') : { all: [nested(depth - 1)] })
    expect(spell(parseConditions({ filter: nested(5) }))).toBe('a')
    expect(refusal(() => parseConditions({ filter: nested(6) })).message).toContain('must not be nested deeper than 5')
  })

  test('a not counts as one of the five', () => {
    const nested = (depth: number): object => (depth === 0 ? filter('a') : { not: nested(depth - 1) })
    expect(spell(parseConditions({ filter: nested(5) }))).toBe('not not not not not a')
    expect(refusal(() => parseConditions({ filter: nested(6) }))).toEqual({
      message: expect.stringContaining('must not be nested deeper than 5'),
      paths: ['filter.not.not.not.not.not'],
    })
  })

  test('a filter may be one condition', () => {
    expect(parseConditions({ filter: { field: 'a', compare: 'eq', value: 1 } })).toEqual({
      all: [{ column: 'a', compare: '=', value: 1, path: ['filter'] }],
    })
  })

  test('a condition with all is no group', () => {
    const condition = { column: 'a', compare: '=', value: [1, 2], all: true }
    expect(parseConditions({ filter: { any: [condition, { ...condition, all: false }] } })).toEqual({
      all: [
        {
          any: [
            { ...condition, path: ['filter', 'any', 0] },
            { column: 'a', compare: '=', value: [1, 2], path: ['filter', 'any', 1] },
          ],
        },
      ],
    })
  })

  test('may be empty', () => {
    expect(parseConditions({ filter: { any: [] } })).toEqual({ all: [{ any: [] }] })
  })
})

describe('invalid input is refused by name', () => {
  test.each<[string, unknown, string[]]>([
    ['no array', { column: 'a' }, ['filters']],
    ['a text', 'a = 1', ['filters']],
    ['an element that is not an object', [1, null, 'a', ['a', '=', 1]], ['filters.0', 'filters.1', 'filters.2', 'filters.3']],
    ['a missing column', [{ compare: '=', value: 1 }], ['filters.0.column']],
    ['a column that is not a text', [{ column: 1, compare: '=', value: 1 }], ['filters.0.column']],
    ['column and field', [{ column: 'a', field: 'a', compare: '=', value: 1 }], ['filters.0.field']],
    ['a missing compare', [{ column: 'a', value: 1 }], ['filters.0.compare']],
    ['an unknown compare', [filter('a'), { column: 'a', compare: 'like', value: 1 }], ['filters.1.compare']],
    ['a compare of the prototype', [{ column: 'a', compare: 'constructor', value: 1 }], ['filters.0.compare']],
    ['a missing value', [{ column: 'a', compare: '=' }], ['filters.0.value']],
    ['null as value', [{ column: 'a', compare: '=', value: null }], ['filters.0.value']],
    ['an unknown connector', [filter('a'), filter('b', 'XOR')], ['filters.1.connector']],
    ['an unknown key', [{ ...filter('a'), id: 3 }], ['filters.0.id']],
    ['too many', Array.from({ length: 201 }, () => filter('a')), ['filters']],
    ['an empty list', [{ ...filter('a'), value: [] }], ['filters.0.value']],
    ['a list of 201', [{ ...filter('a'), value: Array(201).fill(1) }], ['filters.0.value']],
    ['a list with null', [{ ...filter('a'), value: [1, null] }], ['filters.0.value.1']],
    ['a list beside another compare', [{ column: 'a', compare: '>', value: [1] }], ['filters.0.value']],
    ['all beside !=', [{ column: 'a', compare: '!=', value: [1], all: true }], ['filters.0.all']],
    ['all beside one value', [{ ...filter('a'), all: true }], ['filters.0.all']],
    ['an all that is no boolean', [{ ...filter('a'), value: [1], all: 'true' }], ['filters.0.all']],
    ['a not in filters', [{ not: filter('a') }], ['filters.0.not', 'filters.0.column']],
    ['ten thousand', Array.from({ length: 10_000 }, () => filter('a')), ['filters']],
  ])('%s', (_, filters, paths) => {
    expect(refusal(() => parseFilters(filters)).paths).toEqual(paths)
  })

  test.each<[string, object, string[]]>([
    ['where that is an array', { where: [] }, ['where']],
    ['where with an unknown compare', { where: { a: ['like', 'x'] } }, ['where.a.0']],
    ['where with three elements', { where: { a: ['>', 1, 2] } }, ['where.a']],
    ['where with null', { where: { a: null } }, ['where.a']],
    ['where with an empty pair', { where: { a: [] } }, ['where.a.0']],
    ['a group that is an array', { filter: [] }, ['filter']],
    ['a group that is an empty object', { filter: {} }, ['filter']],
    ['a group that is a text', { filter: 'a = 1' }, ['filter']],
    ['a group with two keys', { filter: { all: [], any: [] } }, ['filter']],
    ['a not beside a condition', { filter: { ...filter('a'), not: filter('b') } }, ['filter']],
    ['a not of nothing', { filter: { not: {} } }, ['filter.not']],
    ['a not of null', { filter: { not: null } }, ['filter']],
    ['a not of null in a group', { filter: { all: [{ not: null }] } }, ['filter.all.0.not', 'filter.all.0.column']],
    ['a not of a list', { filter: { not: [filter('a')] } }, ['filter.not']],
    ['where with a list', { where: { a: ['=', [1, 2]] } }, ['where.a']],
    ['a group without a list', { filter: { all: {} } }, ['filter.all']],
    [
      'a bad condition deep in a group',
      { filter: { all: [{ any: [{ column: 'a', compare: '~', value: 1 }] }] } },
      ['filter.all.0.any.0.compare'],
    ],
    [
      'more than 200 conditions in all forms together',
      { filters: Array.from({ length: 150 }, () => filter('a')), filter: { all: Array.from({ length: 51 }, () => filter('a')) } },
      [''],
    ],
  ])('%s', (_, input, paths) => {
    expect(refusal(() => parseConditions(input)).paths).toEqual(paths)
  })

  test('any input is either parsed or refused with a reason', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        for (const key of ['filters', 'where', 'filter']) {
          try {
            parseConditions({ [key]: input })
          } catch (error) {
            expect(error).toBeInstanceOf(AppError)
          }
        }
      }),
      { seed: 20261120, numRuns: 500 },
    )
  })
})
