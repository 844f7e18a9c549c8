/** Walks by cursor in random orders while other records are created, changed and deleted (contract.md §9, Cursors). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Answer, testApp } from './support/app.ts'
import { compareRows, type Row, type Sort, type World } from './support/reference.ts'
import { makeRecords, makeTable, makeView } from './support/tables.ts'

const SEED = 20261129
const WALKS = 40
const STAYING = 40
const OTHERS = 20
/** Writes beside one walk: a walk in pages of few records is longer than these. */
const WRITES = 60

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)
const OPTIONS = ['Lead', 'Won', 'Lost']
const people = [account.owner, account.member].map(({ email }) => email)

/** Few values of each, so that many records share them, and every third cell is empty. */
const cells = {
  text: fc.constantFrom('b', 'B', 'ä', 'Oslo', '😀'),
  number: fc.constantFrom(-1.5, 0, 7),
  date: fc.constantFrom('2024-02-29', '2026-03-29'),
  checkbox: fc.boolean(),
  select: fc.constantFrom(...OPTIONS),
  user: fc.constantFrom(...people),
}
type Type = keyof typeof cells
const TYPES = Object.keys(cells) as Type[]
const data = fc.record(Object.fromEntries(TYPES.map((type) => [type, fc.option(cells[type] as fc.Arbitrary<unknown>, { freq: 2 })])))
const fields = TYPES.map((type) => ({
  name: type,
  type,
  ...(type === 'select' && { options: OPTIONS }),
  ...(type === 'number' && { decimals: 1 }),
}))

const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] => fc.sample(arbitrary, { numRuns: count, seed })

const companies = await makeTable(app, account, { fields: [{ name: 'Title', type: 'text' }, ...fields] })
const linked = await makeRecords(app, account, companies.id, sample(data, 6, SEED))
const links = fc.record({
  company: fc.option(fc.constantFrom(...linked), { freq: 3 }),
  partner: fc.option(fc.constantFrom(...linked), { freq: 3 }),
})
const record = fc.tuple(data, links).map(([own, of]) => ({ ...own, ...of, note: 'as made' }))
const deals = await makeTable(app, account, {
  fields: [
    ...fields,
    { name: 'Note', type: 'text' },
    { name: 'Company', type: 'lookup', table: companies.id },
    { name: 'Partner', type: 'lookup', table: companies.id },
  ],
})
const staying = await makeRecords(app, account, deals.id, sample(record, STAYING, SEED + 1))

const sortable = [
  ...[...TYPES, 'company', 'partner', 'id'].map((column) => ({ column, type: TYPES.find((type) => type === column) ?? 'lookup' })),
  ...TYPES.flatMap((type) => ['company', 'partner'].map((lookup) => ({ column: `${lookup}.${type}`, type }))),
  { column: 'company.id', type: 'number' },
].map((each) => (each.column === 'id' ? { ...each, type: 'number' } : each))
const orders = fc
  .uniqueArray(fc.constantFrom(...sortable), { minLength: 1, maxLength: 3, selector: ({ column }) => column })
  .chain((chosen) =>
    fc.tuple(
      ...chosen.map((each) =>
        fc
          .record({ isDescending: fc.boolean(), nulls: fc.constantFrom(undefined, 'first', 'last') })
          .map((more): Sort => ({ ...each, ...more }) as Sort),
      ),
    ),
  )

const spelled = (sorts: readonly Sort[]) =>
  sorts.map(({ column, isDescending, nulls }) => ({ field: column, dir: isDescending ? 'D' : 'A', ...(nulls && { nulls }) }))

async function page(body: object): Promise<Answer> {
  const answer = await app.as(account.viewer).post(`${deals.path}/records/query`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer
}

async function write(path: string, body: object): Promise<void> {
  const answer = await owner.post(`${deals.path}/${path}`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

/** Creates, changes and deletes records until the walk is over, and changes what is no key of those that stay. */
async function writeBeside(seed: number, isOver: () => boolean): Promise<void> {
  const others = await makeRecords(app, account, deals.id, sample(record, OTHERS, seed))
  const writes = sample(fc.tuple(fc.constantFrom('create', 'update', 'delete', 'note'), fc.nat(), record), WRITES, seed)
  for (const [kind, at, values] of writes) {
    if (isOver()) break
    const [other] = others.splice(at % others.length, 1)
    if (kind === 'create') others.push(...(await makeRecords(app, account, deals.id, [values])))
    else if (kind === 'update') await write(`record/${other}/update`, { data: values })
    else if (kind === 'delete') await write(`record/${other}/delete`, {})
    else await write(`record/${staying[at % STAYING]}/update`, { data: { note: `changed ${at}` } })
    if (kind !== 'delete' && other !== undefined) others.push(other)
    if (!others.length) break
  }
  if (others.length) await write('records/delete_batch', { record_ids: others })
}

test(`each record that keeps its keys comes exactly once, in the order of the keys (seed ${SEED})`, async () => {
  const world: World = { zone: 'UTC', now: new Date(), me: account.owner, options: OPTIONS }
  const columns = sortable.map(({ column }) => column)
  const rows: Row[] = (await page({ fields: columns, limit: 1000 })).body
  let walks = 0
  await fc.assert(
    fc.asyncProperty(
      orders,
      fc.integer({ min: 3, max: 9 }),
      fc.boolean(),
      fc.boolean(),
      fc.nat(),
      async (sorts, limit, isView, isPaid, seed) => {
        const order = spelled(sorts)
        const filters = isPaid ? [{ column: 'checkbox', compare: '=', value: true }] : []
        const query = isView ? { view_id: (await makeView(app, account, deals.id, { filters, order })).id } : { filters, order }
        const expected = rows.filter(({ checkbox }) => !isPaid || checkbox === true).sort((a, b) => compareRows(a, b, sorts, world))
        const seen: number[] = []
        const walk = { isOver: false }
        const writing = writeBeside(seed, () => walk.isOver)
        try {
          for (let cursor: string | null = ''; cursor !== null; ) {
            const answer = await page({ ...query, fields: ['note'], limit, cursor })
            seen.push(...answer.body.map(({ id }: { id: number }) => id))
            cursor = answer.headers.get('x-next-cursor')
          }
        } finally {
          walk.isOver = true
          await writing
        }
        const said = JSON.stringify({ order, isView, isPaid })
        expect(
          seen.filter((id) => staying.includes(id)),
          said,
        ).toEqual(expected.map(({ id }) => id))
        walks++
      },
    ),
    { seed: SEED, numRuns: WALKS, endOnFailure: true },
  )
  expect(walks).toBe(WALKS)
})

test('a cursor goes with no other linked field, place of empty values or order of options, and with no offset', async () => {
  const by = (...order: object[]) => ({ order, limit: 2, fields: ['note'] })
  const refused = async (body: object) => {
    const { status, body: answer } = await app.as(account.viewer).post(`${deals.path}/records/query`, body)
    return [status, answer.message]
  }
  const another = [400, 'Cursor belongs to another query']
  const [city, size] = [{ field: 'company.text' }, { field: 'company.number', dir: 'D' }]
  const cursor = (await page({ ...by(city, size), cursor: '' })).headers.get('x-next-cursor')
  const others = [
    by({ field: 'partner.text' }, size),
    by(city, { ...size, field: 'partner.number' }),
    by({ field: 'text' }, size),
    by(size, city),
    by(city, { ...size, dir: 'A' }),
    by(city, { ...size, nulls: 'first' }),
    by(city),
    by(city, size, { field: 'id', dir: 'D' }),
  ]
  for (const other of others) expect(await refused({ ...other, cursor }), JSON.stringify(other)).toEqual(another)
  expect(await refused({ ...by(city, size), cursor, offset: 1 })).toEqual([400, 'offset: does not go with a cursor'])
  // Where empty values come by default may be said or not.
  expect((await page({ ...by(city, { ...size, nulls: 'last' }), cursor })).body).toHaveLength(2)

  const staged = by({ field: 'company.select' }, city)
  const ofStages = (await page({ ...staged, cursor: '' })).headers.get('x-next-cursor')
  expect((await owner.post(`${companies.path}/field/select/update`, { options: OPTIONS.toReversed() })).status).toBe(200)
  expect(await refused({ ...staged, cursor: ofStages })).toEqual(another)
})

test('a cursor through a view ends with a change of its order, and goes with no other view', async () => {
  const order = [
    { field: 'company.text', nulls: 'last' },
    { field: 'number', dir: 'D' },
  ]
  const [view, other] = [
    await makeView(app, account, deals.id, { order }),
    await makeView(app, account, deals.id, { order: order.slice(1) }),
  ]
  const start = await page({ view_id: view.id, limit: 3, cursor: '' })
  const cursor = start.headers.get('x-next-cursor')
  const rest = await page({ view_id: view.id, limit: 1000, cursor })
  expect([...start.body, ...rest.body]).toEqual((await page({ order, limit: 1000 })).body)
  const refused = async (view_id: number) =>
    (await app.as(account.viewer).post(`${deals.path}/records/query`, { view_id, cursor })).body.message
  expect(await refused(other.id)).toBe('Cursor belongs to another query')
  await write(`view/${view.id}/update`, { order: [order[0], { field: 'number' }] })
  expect(await refused(view.id)).toBe('Cursor belongs to another query')
})
