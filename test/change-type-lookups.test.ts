/** Compares the counts of a job over cells that refer to records with the same rules in plain JavaScript. */
import { beforeAll, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { raw, sql } from '../src/platform/database/database.ts'
import { joinList } from '../src/platform/writers/csv-format.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.owner)

const MANY = 1_300
const OPTIONS = ['Open', 'Done', 'New, old']
const titleOf = (id: number): string | null => {
  const titles = [
    null,
    ...OPTIONS,
    ' Open ',
    'Done, Open',
    'Deal',
    '😀'.repeat(id % 250),
    'ß'.repeat(id % 400),
    'x'.repeat(165),
    'y'.repeat(500),
  ]
  return titles[id % titles.length] || null
}

/** Returns pseudo-random numbers that are the same in each run. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * sides)
  }
}

const newTable = async (fields: object[]) => (await makeTable(app, account, { fields })).id

/** Creates a table whose records have titles and gaps between their ids. @returns titles by id */
async function makeNamed(far?: number): Promise<{ table: number; titles: Map<number, string> }> {
  const table = await newTable([
    { name: 'Number', type: 'number' },
    { name: 'Title', type: 'text' },
  ])
  const ids = Array.from({ length: MANY }, (_, index) => index + 1).filter((id) => id % 5 !== 3)
  if (far) ids.push(far)
  await app.db.write(sql`
    insert into ${raw(`t${table}.records`)} (id, created_at, updated_at, title) overriding system value
    select id, now(), now(), title from unnest(${ids}::int[], ${ids.map(titleOf)}::text[]) n (id, title)`)
  return { table, titles: new Map(ids.map((id) => [id, titleOf(id) ?? String(id)])) }
}

/** Creates a table with a record for each cell; ids begin at 1. */
async function tableOf(field: object, cells: readonly unknown[], column: string): Promise<number> {
  const table = await newTable([{ name: 'Cell', ...field }])
  await app.db.write(sql`
    insert into ${raw(`t${table}.records`)} (created_at, updated_at, cell)
    select now(), now(), (c.cell #>> '{}')::${raw(column)} from jsonb_array_elements(${JSON.stringify(cells)}::jsonb) with ordinality c (cell, at) order by at`)
  return table
}

/** Returns the converted cell, or null if it does not convert. */
interface Fate {
  words: string
  converts: boolean
}

async function expectReport(table: number, body: object, fates: (Fate | null)[]): Promise<void> {
  const answer = await as.post(`/api/table/${table}/field/cell/changeType`, { ...body, dry_run: true })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const failing = fates.flatMap((fate, index) =>
    fate && !fate.converts ? [{ record_id: index + 1, value: [...fate.words].slice(0, 500).join('') }] : [],
  )
  await runConversion(systemContext(app.deps), answer.body.job_id)
  expect((await as.get(`/api/job/${answer.body.job_id}`)).body).toEqual({
    state: 'done',
    done: fates.length,
    total: fates.length,
    error: null,
    converts: fates.filter((fate) => fate?.converts).length,
    fails: failing.slice(0, 100),
    failing: failing.length,
  })
}

const partsOf = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim().replace(/^"(.*)"$/, '$1'))
    .filter(Boolean)

describe.each([
  ['whose ids are close together', undefined],
  ['with an id of nine digits', 999_999_999],
  ['with an id of ten digits', 2_147_483_647],
])('records of a table %s', (_, far) => {
  let named: Awaited<ReturnType<typeof makeNamed>>
  const idOf = (word: string) => (/^[0-9]{1,9}$/.test(word) && named.titles.has(Number(word)) ? Number(word) : null)
  beforeAll(async () => {
    named = await makeNamed(far)
  })

  const roll = dice(far ?? 7)
  /** Returns ids that mostly exist. */
  const someId = () => (roll(12) ? (roll(MANY / 5) + 1) * 5 - 1 : ([3, 8, 0, -1, MANY + 50, 999_999_999, 2_147_483_647][roll(7)] ?? 0))
  const words = [
    '007',
    '0000000012',
    '2147483648',
    '9'.repeat(30),
    '',
    ' ',
    'NULL',
    '{1}',
    '{1',
    '2}',
    '-1',
    '+1',
    '1.0',
    '1 2',
    '1e1',
    '"1"',
    '１',
    '\t1',
    '4\n',
    '\u00a04\u202f',
    '\ufeff4',
    '\u200b4',
  ]
  const someWord = () => (roll(9) ? `${someId()}` : (words[roll(words.length)] ?? ''))
  const some = <Item>(count: number, make: () => Item) => Array.from({ length: count }, make)
  const everyId = (count: number) => [...named.titles.keys()].slice(0, count).join(',')

  test('texts become lookups', async () => {
    const texts = [...words, ' 4 ', '4', '04 ', null, ...some(300, someWord)]
    const table = await tableOf({ type: 'long_text' }, texts, 'text')
    await expectReport(
      table,
      { type: 'lookup', table: named.table },
      texts.map((text) => (text === null ? null : { words: text, converts: idOf(text.trim()) !== null })),
    )
  })

  test('texts become lists of lookups', async () => {
    const separators = [', ', ', ', ', ', ',', ' , ', ',,', ' ']
    const lists = some(600, () => some(roll(4) + 1, someWord).join(separators[roll(separators.length)]))
    const edges = [
      '4,4',
      '{4},{5}',
      '4},{5',
      '{4,5}',
      '[1:1]={4}',
      ',',
      ' ,',
      ', 4,',
      '4, 5, 6',
      '4,5, 6',
      '04, 5',
      '4, 0000000005',
      'NULL, 4',
      '4, NULL',
      null,
    ]
    const large = [
      everyId(1_000),
      everyId(1_001),
      `${everyId(1_000)},${everyId(500)}`,
      `${everyId(999)}, 3`,
      everyId(1_000).replaceAll(',', ', '),
    ]
    const texts = [...words, ...edges, ...large, ...lists]
    const table = await tableOf({ type: 'long_text' }, texts, 'text')
    await expectReport(
      table,
      { type: 'multi_lookup', table: named.table },
      texts.map((text) => {
        if (text === null) return null
        const ids = partsOf(text).map(idOf)
        return { words: text, converts: ids.length > 0 && !ids.includes(null) && new Set(ids).size <= 1_000 }
      }),
    )
  })

  test('numbers become lookups, and lists of one', async () => {
    const numbers = [0, -4, 4, 4.5, 3, 1_000_000_000, 2_147_483_648, 1e15, null, ...some(200, someId)]
    const table = await tableOf({ type: 'number', decimals: 2 }, numbers, 'numeric')
    const fates = numbers.map((number) => (number === null ? null : { words: String(number), converts: idOf(String(number)) !== null }))
    await expectReport(table, { type: 'lookup', table: named.table }, fates)
    await expectReport(table, { type: 'multi_lookup', table: named.table }, fates)
  })

  test('lookups become texts, numbers and options by their title, if the record still exists', async () => {
    const ids = [null, 3, ...Array.from({ length: 60 }, (_, index) => index + 1), ...some(200, someId)]
    const table = await tableOf({ type: 'lookup', table: named.table }, ids, 'int')
    const fates = (converts: (title: string) => boolean) =>
      ids.map((id) => {
        const title = named.titles.get(id ?? 0)
        return title === undefined ? null : { words: title, converts: converts(title) }
      })
    const all = fates(() => true)
    await expectReport(table, { type: 'text' }, all)
    await expectReport(table, { type: 'long_text' }, all)
    await expectReport(table, { type: 'number' }, all)
    const isOption = (word: string) => OPTIONS.includes(word.trim())
    await expectReport(table, { type: 'select', options: OPTIONS }, fates(isOption))
    const areOptions = (title: string) => isOption(title) || (partsOf(title).length > 0 && partsOf(title).every(isOption))
    await expectReport(table, { type: 'multi_select', options: OPTIONS }, fates(areOptions))
    await expectReport(
      table,
      { type: 'multi_lookup' },
      ids.map((id) => (id === null ? null : { words: '', converts: true })),
    )
  })

  test('lists of lookups become texts if the remaining titles fit, and lookups if they have one element', async () => {
    const lists = [
      null,
      [],
      [3],
      [4],
      [3, 4],
      [4, 4],
      [3, 3],
      ...some(400, () => some(roll(6), someId)),
      ...some(20, () => some(700 + roll(700), someId)),
    ]
    const cells = lists.map((list) => list && `{${list}}`)
    const table = await tableOf({ type: 'multi_lookup', table: named.table }, cells, 'int[]')
    const wordsOf = (list: number[] | null) => {
      const titles = (list ?? []).flatMap((id) => named.titles.get(id) ?? [])
      return titles.length ? joinList(titles) : null
    }
    for (const [type, max] of [
      ['text', 500],
      ['url', 2_000],
      ['long_text', 100_000],
    ] as const) {
      const fates = lists.map((list) => {
        const joined = wordsOf(list)
        return joined === null ? null : { words: joined, converts: joined.length <= max }
      })
      expect(new Set(fates.map((fate) => fate?.converts))).toEqual(new Set([undefined, true, false]))
      await expectReport(table, { type }, fates)
    }
    const fates = lists.map((list) => {
      const joined = wordsOf(list)
      return list?.length === 1 || joined !== null ? { words: joined ?? '', converts: list?.length === 1 } : null
    })
    await expectReport(table, { type: 'lookup' }, fates)
  })
})

test('titles of lookups become options, however many records the cells refer to', async () => {
  const { table: people } = await makeNamed()
  await app.db.write(sql`update ${raw(`t${people}.records`)} set title = case when id % 2 = 0 then ' Even' else 'Odd' end`)
  const table = await tableOf({ type: 'lookup', table: people }, [1, 2, 2, 3, 4, null], 'int')
  const { status, body } = await as.post(`/api/table/${table}/field/cell/changeType`, { type: 'select' })
  expect(status, JSON.stringify(body)).toBe(200)
  await runConversion(systemContext(app.deps), body.job_id)
  expect((await as.get(`/api/job/${body.job_id}`)).body).toMatchObject({ state: 'done', converts: 4, failing: 0 })
  const { body: records } = await as.post(`/api/table/${table}/records/query`, {})
  expect(records.map(({ cell }: { cell: unknown }) => cell)).toEqual(['Odd', 'Even', 'Even', null, 'Even', null])
})
