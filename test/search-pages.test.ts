/** Searches of a large table: whichever way they are answered (docs/decisions/0028), the page is that of a plain search of all records. */
import { afterEach, beforeAll, expect, test } from 'vitest'
import { adapt } from '../src/indexes/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { type Sql, sql } from '../src/platform/database/database.ts'
import { planOf } from '../src/platform/database/query-plan.ts'
import { testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { fillTable, makeTable, makeView } from './support/tables.ts'

interface Stored {
  id: number
  name: string
  notes: string
  stage: number
  due: string | null
  met: string | null
}

const RECORDS = 24_000
const app = await testApp()
const account = await app.account()
const queries = queriesOf(app.db)
let table = 0
let stored: Stored[] = []

/** A word of the notes in so many of a thousand records, spread evenly. */
const word = (text: string, ofThousand: number, seed: number) =>
  `case when abs(hashint4extended(i, ${seed})) % 1000 < ${ofThousand} then ' ${text}' else '' end`

beforeAll(async () => {
  const { id } = await makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Notes', type: 'long_text' },
      { name: 'Stage', type: 'select', options: ['New', 'Open', 'Ambers'] },
      { name: 'Due', type: 'date' },
      { name: 'Met', type: 'date' },
    ],
  })
  table = id
  const words = [
    word('Harbour', 45, 1),
    word('contract', 400, 2),
    word('zeppelin', 2, 3),
    word('amber', 50, 4),
    word('kara arbo bola', 50, 5),
    word('KÜSTEN-straße', 50, 6),
    "case when i > 23990 then ' karbola' else '' end",
  ]
  await fillTable(app, table, RECORDS, {
    name: `case when i % 200 = 0 then 'harbour ' else 'Company ' end || i`,
    notes: `'note' || ${words.join(' || ')}`,
    stage: '1 + i % 2',
    due: `case when i % 40 > 0 then date '2026-01-01' + i * 7 % 900 end`,
    met: `case when i % 3 = 0 then date '2026-01-01' + i * 11 % 900 end`,
  })
  await app.db.write(sql([`vacuum analyze t${table}.records`] as unknown as TemplateStringsArray))
  for (const view of [
    { order_by: 'due' },
    { order_by: 'met' },
    { order: [{ field: 'met', nulls: 'last' }] },
    { filters: [{ column: 'stage', compare: '=', value: 'Open' }], order_by: 'due' },
  ])
    await makeView(app, account, table, view)
  await adapt(systemContext(app.deps), { table_id: table })
  stored = await read()
})

afterEach(() => Object.assign(app.db, queries))

const read = () =>
  app.db.read<Stored>(sql([`select id, name, notes, stage, due, met from t${table}.records`] as unknown as TemplateStringsArray))

/** The ids of the records with the words, in the order, as a plain search finds them. */
function expected(search: string, { by = 'id', dir = 'A', where = () => true }: Order = {}): number[] {
  const words = search.toLowerCase().split(' ')
  const sign = dir === 'A' ? 1 : -1
  const key = (record: Stored) => (by === 'id' ? '' : (record[by] ?? ''))
  return stored
    .filter((record) => where(record) && words.every((one) => [record.name, record.notes].some((text) => finds(text.toLowerCase(), one))))
    .sort((a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id - b.id))
    .map(({ id }) => id)
}

/** Words of one or two characters match beginnings of words only. */
const finds = (text: string, one: string) =>
  one.length > 2 ? text.includes(one) : text.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(one))

interface Order {
  by?: 'id' | 'name' | 'due' | 'met'
  dir?: 'A' | 'D'
  where?: (record: Stored) => boolean
}

const isByTrigrams = (text: string) => text.includes(' offset 0) r')

interface Found {
  ids: number[]
  cursor: string | null
  /** How many statements asked the indexes for rare trigrams in the first records of the order, and in all records. */
  windows: number
  inAll: number
}

async function page(body: object, of = table): Promise<Found> {
  let [windows, inAll] = [0, 0]
  const counting = queriesWith(queries, async (statement) => {
    if (!isByTrigrams(statement.text)) return
    const plan = JSON.stringify(await planOf(queries, statement as Sql))
    expect(plan).toMatch(/"Bitmap Index Scan".*"idx_text_/)
    if (plan.includes('BitmapAnd')) windows++
    else inAll++
  })
  Object.assign(app.db, counting)
  const answer = await app.as(account.admin).post(`/api/table/${of}/records/query`, { limit: 100, fields: ['id'], ...body })
  Object.assign(app.db, queries)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return { ids: answer.body.map(({ id }: { id: number }) => id), cursor: answer.headers.get('x-next-cursor'), windows, inAll }
}

const orders = (['id', 'due', 'met'] as const).flatMap((by) => (['A', 'D'] as const).map((dir) => ({ by, dir })))

test.each(['A', 'D'] as const)('a middling word is found with the empty values at the other end, too (%s)', async (dir) => {
  const usual = expected('harbour', { by: 'met', dir })
  const isEmpty = (id: number) => stored.find((record) => record.id === id)?.met === null
  const [empty, filled] = [usual.filter(isEmpty), usual.filter((id) => !isEmpty(id))]
  const all = dir === 'A' ? [...filled, ...empty] : [...empty, ...filled]
  expect(Math.min(empty.length, filled.length)).toBeGreaterThan(100)
  const order = [{ field: 'met', dir, nulls: dir === 'A' ? 'last' : 'first' }]
  expect(await page({ search: 'harbour', order })).toMatchObject({ ids: all.slice(0, 100), windows: 1 })
  const ids: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const found: Found = await page({ search: 'harbour', order, cursor, limit: 500 })
    ids.push(...found.ids)
    cursor = found.cursor
  }
  expect(ids).toEqual(all)
})

test.each(orders)('a middling word is searched in the first records of the order $by $dir', async ({ by, dir }) => {
  const all = expected('harbour', { by, dir })
  expect(all.length).toBeGreaterThan(1_000)
  const first = await page({ search: 'harbour', order_by: by, order_dir: dir })
  expect(first).toMatchObject({ ids: all.slice(0, 100), windows: 1 })
  expect((await page({ search: 'HARBOUR', order_by: by, order_dir: dir, offset: 150 })).ids).toEqual(all.slice(150, 250))
  expect((await page({ search: 'harbour', order_by: by, order_dir: dir, offset: all.length - 20 })).ids).toEqual(all.slice(-20))
})

test.each(orders)('a walk by cursor through a middling word in the order $by $dir meets each record once', async ({ by, dir }) => {
  const ids: number[] = []
  let windows = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next = await page({ search: 'harbour', order_by: by, order_dir: dir, cursor })
    ids.push(...next.ids)
    windows += next.windows
    cursor = next.cursor
  }
  expect(ids).toEqual(expected('harbour', { by, dir }))
  expect(windows).toBeGreaterThan(0)
})

test.each([...orders, { by: 'name', dir: 'A' } as const, { by: 'name', dir: 'D' } as const])(
  'a rare word is searched by a trigram in all records, in the order $by $dir',
  async ({ by, dir }) => {
    const all = expected('zeppelin', { by, dir })
    expect(all.length).toBeGreaterThan(30)
    const order = { search: 'Zeppelin', order_by: by, order_dir: dir }
    expect(await page(order)).toMatchObject({ ids: all, inAll: 1 })
    expect(await page({ ...order, offset: 25, limit: 5 })).toMatchObject({ ids: all.slice(25, 30), inAll: 1 })
    const ids: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const next = await page({ ...order, limit: 7, cursor, fields: ['name', 'stage', 'id'] })
      expect(next).toMatchObject({ windows: 0, inAll: 1 })
      ids.push(...next.ids)
      cursor = next.cursor
    }
    expect(ids).toEqual(all)
  },
)

test.each(['zeppelin', 'harbour'])('%s is searched as usual in an order of several keys', async (search) => {
  const order = [
    { field: 'stage', dir: 'D' },
    { field: 'due', dir: 'A' },
  ]
  const view = await makeView(app, account, table, { order })
  const all = expected(search)
    .map((id) => stored.find((record) => record.id === id) as Stored)
    .sort((a, b) => b.stage - a.stage || ((a.due ?? '') < (b.due ?? '') ? -1 : (a.due ?? '') > (b.due ?? '') ? 1 : a.id - b.id))
  expect(await page({ search, view_id: view.id })).toMatchObject({ ids: all.slice(0, 100).map(({ id }) => id), windows: 0, inAll: 0 })
})

test('a rare word beside others and conditions is searched by its trigram in all records', async () => {
  const where = { stage: 'Open', due: ['<=', '2027-06-01'] }
  const isOpen = ({ stage, due }: Stored) => stage === 2 && due !== null && due <= '2027-06-01'
  const found = await page({ search: 'zeppelin', where, order_by: 'due', order_dir: 'D' })
  expect(found).toMatchObject({ ids: expected('zeppelin', { by: 'due', dir: 'D', where: isOpen }), inAll: 1 })
  for (const search of ['contract zeppelin', 'harbour zeppelin', 'zeppelin com', 'zeppelin c'])
    expect(await page({ search }), search).toMatchObject({ ids: expected(search), inAll: 1 })
})

test('conditions of the index narrow the first records of the order', async () => {
  const where = { stage: 'Open', due: ['<=', '2027-06-01'] }
  const all = expected('harbour', { by: 'due', dir: 'D', where: ({ stage, due }) => stage === 2 && due !== null && due <= '2027-06-01' })
  const found = await page({ search: 'harbour', where, order_by: 'due', order_dir: 'D' })
  expect(found).toMatchObject({ ids: all.slice(0, 100), windows: 1 })
})

test.each([
  ['a frequent word', 'contract'],
  ['a rare word', 'zeppelin'],
  ['an absent word', 'harboxyz'],
  ['a middling and a frequent word', 'harbour contract'],
  ['a middling and a rare word', 'zeppelin harbour'],
  ['two middling words', 'harbour kara'],
  ['a part of a word', 'arbou'],
  ['a word with other letters', 'küsten-straße'],
  ['signs that mean something in a pattern', 'har%bour'],
])('%s finds what a plain search finds', async (_, search) => {
  for (const { by, dir } of orders) {
    const { ids } = await page({ search, order_by: by, order_dir: dir })
    expect(ids).toEqual(expected(search, { by, dir }).slice(0, 100))
  }
})

test.each([
  ['one letter', 'a harbour'],
  ['one letter that begins few words', 'harbour z'],
  ['two letters inside of other words', 'ar harbour'],
  ['two letters of another alphabet', 'harbour kü'],
  ['a digit', 'harbour 1'],
  ['a letter that begins no word', 'harbour q'],
])('%s beside a middling word starts a word', async (_, search) => {
  for (const { by, dir } of orders) {
    const all = expected(search, { by, dir })
    const { ids, windows } = await page({ search, order_by: by, order_dir: dir })
    expect(ids).toEqual(all.slice(0, 100))
    if (all.length > 200) expect(windows).toBeGreaterThan(0)
    expect((await page({ search, order_by: by, order_dir: dir, cursor: '' })).ids).toEqual(all.slice(0, 100))
  }
})

test('a word that is rarer than its parts is found in the whole table, and not sought in the first records again', async () => {
  const found = await page({ search: 'karbola' })
  expect(found).toMatchObject({ ids: expected('karbola'), windows: 1 })
  expect(await page({ search: 'karbola' })).toMatchObject({ ids: found.ids, windows: 0 })
})

test('a word that is the title of an option finds the records with the option, too', async () => {
  await app.db.write(sql([`update t${table}.records set stage = 3 where id <= 300`] as unknown as TemplateStringsArray))
  try {
    const { ids, windows } = await page({ search: 'amber' })
    expect({ ids, windows }).toEqual({ ids: Array.from({ length: 100 }, (_, index) => index + 1), windows: 0 })
  } finally {
    await app.db.write(sql([`update t${table}.records set stage = 1 + id % 2 where id <= 300`] as unknown as TemplateStringsArray))
  }
})

test('records that are deleted while the first records are searched are no longer on the page, which is full', async () => {
  const all = expected('harbour')
  const leaving = new Set(all.slice(0, 130))
  const rows = stored.filter(({ id }) => leaving.has(id))
  let isDone = false
  Object.assign(
    app.db,
    queriesWith(queries, async ({ text }) => {
      if (isDone || !isByTrigrams(text)) return
      isDone = true
      await queries.write(
        sql`delete from ${sql([`t${table}.records`] as unknown as TemplateStringsArray)} where id = any(${[...leaving]}::int[])`,
      )
    }),
  )
  try {
    const answer = await app.as(account.admin).post(`/api/table/${table}/records/query`, { search: 'harbour', fields: ['id'], limit: 100 })
    expect(isDone).toBe(true)
    expect(answer.body.map(({ id }: { id: number }) => id)).toEqual(all.slice(130, 230))
  } finally {
    for (const { id, name, notes, stage, due, met } of rows)
      await app.db.write(
        sql`insert into ${sql([`t${table}.records`] as unknown as TemplateStringsArray)} (id, created_at, updated_at, name, notes, stage, due, met)
          values (${id}::int, now(), now(), ${name}, ${notes}, ${stage}::int, ${due}::date, ${met}::date)`,
      )
  }
})

test('the end of the searched records is kept for a minute, and records that come and go meanwhile are on the page and not', async () => {
  // Spelled as in no other test: what they have measured is kept for the word.
  const search = { search: 'HARBour', order_by: 'id', order_dir: 'D', limit: 100 } as const
  const all = expected('harbour', { dir: 'D' })
  let places = 0
  Object.assign(
    app.db,
    queriesWith(queries, ({ text }) => {
      if (/^select .* as key from .* offset /s.test(text)) places++
    }),
  )
  const ids = async () => {
    const answer = await app.as(account.admin).post(`/api/table/${table}/records/query`, { ...search, fields: ['id'] })
    return answer.body.map(({ id }: { id: number }) => id)
  }
  const records = sql([`t${table}.records`] as unknown as TemplateStringsArray)
  expect([await ids(), await ids()]).toEqual([all.slice(0, 100), all.slice(0, 100)])
  // None if another test has just asked for the same place.
  const asked = places
  expect(asked).toBeLessThanOrEqual(1)

  const added = { id: RECORDS + 1_000_000, text: 'A harbour' }
  await app.db.write(sql`insert into ${records} (id, created_at, updated_at, name) values (${added.id}::int, now(), now(), ${added.text})`)
  expect([await ids(), places]).toEqual([[added.id, ...all.slice(0, 99)], asked])
  await app.db.write(sql`delete from ${records} where id = ${added.id}`)

  // So many are gone that the records up to the kept end do not fill the page any more.
  const gone = all.slice(0, -150)
  await app.db.write(sql`update ${records} set notes = 'gone', name = 'gone' where id = any(${gone}::int[])`)
  try {
    expect(await ids()).toEqual(all.slice(-150, -50))
    expect(places).toBeGreaterThan(asked)
  } finally {
    const before = stored.filter(({ id }) => gone.includes(id))
    await app.db.write(sql`update ${records} r set notes = before.notes, name = before.name
      from unnest(${before.map(({ id }) => id)}::int[], ${before.map(({ notes }) => notes)}::text[], ${before.map(({ name }) => name)}::text[])
        as before (id, notes, name) where r.id = before.id`)
  }
})

test.each(orders)(
  'the last row of a page ends the search of the same page in the order $by $dir, as long as it fills it',
  async ({ by, dir }) => {
    const search = { search: 'harBOUR', order_by: by, order_dir: dir, limit: 50, offset: 30 } as const
    const all = expected('harbour', { by, dir })
    const ends: unknown[] = []
    Object.assign(
      app.db,
      queriesWith(queries, ({ text, values }) => {
        if (isByTrigrams(text)) ends.push(values)
      }),
    )
    const ids = async () => {
      const answer = await app.as(account.admin).post(`/api/table/${table}/records/query`, { ...search, fields: ['id', 'notes', 'stage'] })
      return answer.body.map(({ id }: { id: number }) => id)
    }
    expect(await ids()).toEqual(all.slice(30, 80))
    expect(await ids()).toEqual(all.slice(30, 80))
    expect(ends.at(-1)).toContain(all[79])
    const records = sql([`t${table}.records`] as unknown as TemplateStringsArray)
    const [gone] = stored.filter(({ id }) => id === all[40])
    await app.db.write(sql`update ${records} set notes = 'gone', name = 'gone' where id = ${gone?.id}::int`)
    try {
      const left = all.filter((id) => id !== gone?.id)
      expect(await ids()).toEqual(left.slice(30, 80))
      expect(await ids()).toEqual(left.slice(30, 80))
      expect(ends.at(-1)).toContain(left[79])
    } finally {
      await app.db.write(sql`update ${records} set notes = ${gone?.notes}, name = ${gone?.name} where id = ${gone?.id}::int`)
    }
  },
)

test('trigrams are sampled again once PostgreSQL has other statistics', async () => {
  const { id } = await makeTable(app, account, { fields: [{ name: 'Notes', type: 'long_text' }] })
  await fillTable(app, id, RECORDS, { notes: `'note ' || i` })
  const records = sql([`t${id}.records`] as unknown as TemplateStringsArray)
  await app.db.write(sql`analyze ${records}`)
  await adapt(systemContext(app.deps), { table_id: id })
  let samples = 0
  const search = async (after: number) => {
    app.setClock(new Date(started + after))
    Object.assign(
      app.db,
      queriesWith(queries, ({ text }) => {
        if (text.includes('tablesample')) samples++
      }),
    )
    const answer = await app.as(account.admin).post(`/api/table/${id}/records/query`, { search: 'harbour', fields: ['id'], limit: 3 })
    Object.assign(app.db, queries)
    return answer.body.map((record: { id: number }) => record.id)
  }
  const started = Date.now()
  try {
    expect([await search(0), await search(20_000), samples]).toEqual([[], [], 1])
    await app.db.write(sql`update ${records} set notes = 'A harbour' where id > 10`)
    await app.db.write(sql`analyze ${records}`)
    expect([await search(25_000), samples]).toEqual([[11, 12, 13], 1])
    // The first search afterwards uses the old sample, while a new one is taken.
    expect([await search(40_000), await search(45_000), samples]).toEqual([[11, 12, 13], [11, 12, 13], 2])
  } finally {
    app.setClock(null)
  }
})

test('a table of long texts, of which a sample says little, is searched as usual', async () => {
  const { id } = await makeTable(app, account, { fields: [{ name: 'Notes', type: 'long_text' }] })
  await fillTable(app, id, RECORDS, {
    notes: `case when i % 10 = 0 then repeat('long ', 401) else '' end || case when i % 20 = 0 then 'harbour' else '' end`,
  })
  await app.db.write(sql([`analyze t${id}.records`] as unknown as TemplateStringsArray))
  await adapt(systemContext(app.deps), { table_id: id })
  const { ids, windows } = await page({ search: 'harbour' }, id)
  expect({ ids, windows }).toEqual({ ids: Array.from({ length: 100 }, (_, index) => 20 * (index + 1)), windows: 0 })
})

test('a table whose texts are not all indexed is searched as usual', async () => {
  const { id } = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }] })
  await fillTable(app, id, RECORDS, { name: `case when i % 20 = 0 then 'harbour ' else 'Company ' end || i` })
  await app.db.write(sql([`analyze t${id}.records`] as unknown as TemplateStringsArray))
  const answer = await app.as(account.admin).post(`/api/table/${id}/records/query`, { search: 'harbour', fields: ['id'], limit: 3 })
  expect(answer.body.map((record: { id: number }) => record.id)).toEqual([20, 40, 60])
})
