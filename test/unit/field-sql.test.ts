/**
 * Keeps the SQL by which each type of field is compared, sorted, grouped and indexed word for word, because existing indexes rely on it.
 */
import { describe, expect, test } from 'vitest'
import { CALC_FIELDS, type FieldDef, indexKey, KEY_FIELD, type TableDef } from '../../src/fields/definition.ts'
import { FIELD_TYPES, type FieldType } from '../../src/fields/registry.ts'
import { planIndexes, type TableStatistics } from '../../src/indexes/plan.ts'
import { shapeOf } from '../../src/indexes/shape.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { PageEnd } from '../../src/platform/http/answers/cursor.ts'
import { printAfter } from '../../src/records/query/order-sql.ts'
import { printPage, selectList } from '../../src/records/query/print.ts'
import type { ResolvedPage, Selection } from '../../src/records/query/selection.ts'
import { resolveOrder } from '../../src/views/filters/order.ts'
import { parseConditions } from '../../src/views/filters/parse.ts'
import { resolveTree } from '../../src/views/filters/resolve-conditions.ts'

const option = (id: number) => ({ id, title: `Option ${id}` })
const field = (id: string, type: FieldType, more: Partial<FieldDef> = {}): FieldDef => ({
  ...KEY_FIELD,
  id,
  name: id,
  type,
  decimals: null,
  key: false,
  ...(type.includes('select') && { options: [option(1), option(2), option(3)] }),
  ...(type.includes('lookup') && { lookup_table_id: 102, lookup: { title_field: 'name' } }),
  ...more,
})

const table: TableDef = {
  id: 101,
  space_id: 1,
  account_id: 1,
  name: 'Deals',
  version: 1,
  hasHistory: true,
  isConverting: false,
  fields: [
    KEY_FIELD,
    ...FIELD_TYPES.map((type) => field(type, type)),
    field('cents', 'number', { decimals: 2 }),
    field('rounding', 'number', { decimals: 2, is_rounding: true }),
    field('disordered', 'select', { options: [option(2), option(1)] }),
    field('emptied', 'select', { removed_options: [4, 5] }),
    field('emptied_list', 'multi_select', { removed_options: [4, 5] }),
    field('orphan', 'lookup', { lookup: null }),
    field('untitled', 'lookup', { lookup_table_id: 103, lookup: { title_field: null } }),
    ...CALC_FIELDS,
  ],
}

const queryContext = {
  moment: { now: new Date('2026-03-29T10:15:00Z'), timeZone: 'Europe/Berlin', weekStart: 'monday' as const },
  me: { id: 7, email: 'ann@example.com' },
  accountId: 1,
  lookups: new Map([
    [102, { titleField: 'name' }],
    [103, { titleField: null }],
  ]),
}

const COMPARES = ['=', '!=', '>', '<', '>=', '<=', 'contains', 'starts_with', 'ends_with', 'is_empty', 'is_not_empty']
const VALUES = [
  'Option 1',
  'op',
  '12.5',
  12,
  true,
  '2026-03-29',
  '2026-03-29 10:00:00',
  'today',
  '-3h',
  '09:30',
  'ann@example.com',
  '@me',
  7,
]

const pageSql = (selection: Partial<Selection>, more: Partial<ResolvedPage> = {}) =>
  printPage({
    selection: { table, where: { all: [] }, words: [], ...selection },
    ...{
      order: [],
      queryContext,
      fields: [KEY_FIELD],
      include: new Set<never>(),
      limit: 10,
      offset: 0,
      isCounted: false,
      ignored: [],
      unknownOptions: [],
    },
    ...more,
  }).statement
const printed = ({ text, values }: { text: string; values: unknown[] }) => `${text.replaceAll(/\s+/g, ' ')} ← ${JSON.stringify(values)}`

/** Returns a line for each condition of the field and each text that it is printed as; refused values have no line. */
function conditionLines({ id }: FieldDef): string[] {
  const lines = new Map<string, string>()
  for (const compare of COMPARES) {
    for (const value of compare.startsWith('is_') ? [undefined] : VALUES) {
      const sql = conditionOf({ column: id, compare, value })
      if (sql && !lines.has(`${compare} ${sql.text}`))
        lines.set(`${compare} ${sql.text}`, `${id} ${compare} ${JSON.stringify(value)}: ${printed(sql)}`)
    }
  }
  return [...lines.values()]
}

function conditionOf(filter: object) {
  try {
    const where = resolveTree(parseConditions({ filters: [filter] }), table)
    const { text, values } = pageSql({ where })
    return { text: text.slice(text.indexOf(' where ') + 7, text.indexOf(' order by r.id')), values: values.slice(0, -2) }
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

function orderLines({ id }: FieldDef): string[] {
  try {
    return (['A', 'D'] as const).flatMap((order_dir) => {
      const order = resolveOrder({ order_by: id, order_dir }, table)
      const ends: PageEnd[] = [
        { keys: ['1'], id: 9 },
        { keys: [null], id: 9 },
      ]
      return [
        `${id} ${order_dir}: ${printed(pageSql({}, { order, walk: { fingerprint: '', after: null } }))}`,
        ...ends.map((end) => `${id} ${order_dir} after ${end.keys[0]}: ${printAfter(order, end, queryContext).map(printed).join(' | ')}`),
      ]
    })
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}

describe('the SQL of each type of field', () => {
  test('compares as before', async () => {
    await expect(table.fields.flatMap(conditionLines).join('\n')).toMatchFileSnapshot('snapshots/compares.txt')
  })

  test('sorts as before', async () => {
    await expect(table.fields.flatMap(orderLines).join('\n')).toMatchFileSnapshot('snapshots/orders.txt')
  })

  test('searches and reads columns as before', async () => {
    const search = pageSql({ words: ['op', 'option', 'a%b'] })
    const columns = selectList(table.fields).sql
    await expect(`${printed(search)}\n${columns}`).toMatchFileSnapshot('snapshots/search.txt')
  })

  test('is indexed by the texts of existing indexes', () => {
    const known: TableStatistics = { groups: new Map(), made: new Set() }
    const uses = table.fields.flatMap(({ id }) => [
      { equal: [], sort: id },
      { equal: [id], sort: null },
    ])
    const texts = planIndexes(table, [], uses, known).map(({ name, on }) => `${name} ${on}`)
    expect(texts.sort()).toMatchInlineSnapshot(`
      [
        "idx_sort__51ba9ae4 ("id", id)",
        "idx_sort_cents_9055bc75 ("cents" nulls first, id)",
        "idx_sort_cents_bbfa6897 ("cents", id)",
        "idx_sort_checkbox_1a02e078 (coalesce("checkbox", false) nulls first, id)",
        "idx_sort_created_at_6e9ce928 ("created_at" nulls first, id)",
        "idx_sort_created_by_6de839ff ("created_by", id)",
        "idx_sort_date_345e0d92 ("date", id)",
        "idx_sort_date_3673ce30 ("date" nulls first, id)",
        "idx_sort_datetime_bd12487b ("datetime" nulls first, id)",
        "idx_sort_disordered_6ad5b399 ("disordered", id)",
        "idx_sort_email_84ec7ce1 ("email", id)",
        "idx_sort_email_d096abb0 (lower("email") nulls first, id)",
        "idx_sort_emptied_0780bd01 ("emptied", id)",
        "idx_sort_emptied_fb276619 ("emptied" nulls first, id)",
        "idx_sort_lookup_53351c64 ("lookup", id)",
        "idx_sort_number_3869e297 ("number" nulls first, id)",
        "idx_sort_number_d7c977b2 ("number", id)",
        "idx_sort_orphan_fa165e81 ("orphan", id)",
        "idx_sort_phone_155d7f05 (lower("phone") nulls first, id)",
        "idx_sort_phone_57364d77 ("phone", id)",
        "idx_sort_rounding_22422c17 ("rounding", id)",
        "idx_sort_rounding_3154c2b7 ("rounding" nulls first, id)",
        "idx_sort_select_26574b2a ("select" nulls first, id)",
        "idx_sort_select_8dce0692 ("select", id)",
        "idx_sort_text_8568d06d ("text", id)",
        "idx_sort_text_f95cfe71 (lower("text") nulls first, id)",
        "idx_sort_time_3b5028cf ("time", id)",
        "idx_sort_time_aaca4084 ("time" nulls first, id)",
        "idx_sort_untitled_a97a24dc ("untitled", id)",
        "idx_sort_updated_at_27ca070e ("updated_at" nulls first, id)",
        "idx_sort_updated_by_6d5d24a6 ("updated_by", id)",
        "idx_sort_user_8f4beaa2 ("user", id)",
        "idx_text_email_45c233a2 using gin (lower("email") gin_trgm_ops)",
        "idx_text_long_text_356ce52a using gin (lower("long_text") gin_trgm_ops)",
        "idx_text_phone_9fdcfe60 using gin (lower("phone") gin_trgm_ops)",
        "idx_text_text_0b457dbd using gin (lower("text") gin_trgm_ops)",
        "idx_text_url_c4af7b16 using gin (lower("url") gin_trgm_ops)",
      ]
    `)
  })

  test('is indexed by expressions without parameters that depend only on the record', () => {
    for (const each of table.fields) {
      const key = indexKey(each)
      expect(key?.values ?? []).toEqual([])
      expect(key?.sql ?? '').not.toContain('select ')
    }
  })

  test('follows equality where an index can', () => {
    const lines = table.fields.flatMap(({ id }) =>
      VALUES.flatMap((value) => {
        try {
          const where = resolveTree(parseConditions({ filters: [{ column: id, compare: '=', value }] }), table)
          return `${id}: ${JSON.stringify(shapeOf(where, []))}`
        } catch (error) {
          if (error instanceof AppError) return []
          throw error
        }
      }),
    )
    expect([...new Set(lines)]).toMatchInlineSnapshot(`
      [
        "id: null",
        "text: {"equal":["text"],"sort":null}",
        "long_text: null",
        "email: {"equal":["email"],"sort":null}",
        "url: null",
        "phone: {"equal":["phone"],"sort":null}",
        "number: {"equal":["number"],"sort":null}",
        "checkbox: null",
        "date: {"equal":["date"],"sort":null}",
        "datetime: null",
        "time: {"equal":["time"],"sort":null}",
        "select: {"equal":["select"],"sort":null}",
        "multi_select: null",
        "user: {"equal":["user"],"sort":null}",
        "multi_user: null",
        "lookup: {"equal":["lookup"],"sort":null}",
        "multi_lookup: null",
        "cents: {"equal":["cents"],"sort":null}",
        "rounding: {"equal":["rounding"],"sort":null}",
        "disordered: {"equal":["disordered"],"sort":null}",
        "emptied: {"equal":["emptied"],"sort":null}",
        "emptied_list: null",
        "orphan: {"equal":["orphan"],"sort":null}",
        "untitled: {"equal":["untitled"],"sort":null}",
        "created_at: null",
        "created_by: {"equal":["created_by"],"sort":null}",
        "updated_at: null",
        "updated_by: {"equal":["updated_by"],"sort":null}",
      ]
    `)
  })
})
