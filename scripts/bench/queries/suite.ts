/** The suite "queries": what grids and boards of a million records ask for beside pages, and what it costs beside simpler requests. */
import type { Bench, Case, Suite } from '../case.ts'
import { type Target, timesAlone } from '../drive.ts'
import { median } from '../measure.ts'
import { cursorAt } from '../records/suite.ts'
import { CITY, type Filled, fill, LARGE, STAGES } from './data.ts'

const GOAL = 0.8
/** Of requests whose goal is their time. */
const OTHER_GOAL = 0.5
const FIELDS = ['name', 'stage', 'amount']
/** All fields but the lookup. */
const ROW = [...FIELDS, 'active', 'notes', 'created_at', 'created_by', 'updated_at', 'updated_by']
const THREE_KEYS = { order: [{ field: 'stage' }, { field: 'active' }, { field: 'amount', dir: 'D' }] }
const PER_GROUP = 20
/** The rows before page 1,000, or half of a smaller table. */
const beforeLate = (records: number) => Math.min(99_900, records / 2)

const middleOf = (records: number) => Math.ceil(records / 2)

export const queries: Suite<Filled> = {
  defaults: { records: 1_000_000, seconds: 2 },
  fewest: 1_000,
  prepare: fill,
  bare: 'queries/bare.ts',
  tellBare: ({ tableId, companiesId, ownerId }, records) => ({
    tableId,
    companiesId,
    ownerId,
    middle: middleOf(records),
    late: beforeLate(records),
  }),
  secretOf: ({ secret }) => secret,
  cases: async ({ tableId, secret }, { url, records }) => {
    const path = `/api/table/${tableId}`
    const ask = (name: string, operation: string, body: object, more: Partial<Case> = {}): Case => ({
      name,
      method: 'POST',
      ours: () => `${path}/${operation}`,
      bare: () => `/${name.replaceAll(' ', '-')}`,
      body: () => body,
      goal: GOAL,
      ...more,
    })
    const page = (name: string, body: object, more?: Partial<Case>) =>
      ask(name, 'records/query', { limit: 100, fields: ROW, ...body }, more)
    const measures = [{ fn: 'count' }, { fn: 'sum', field: 'amount' }, { fn: 'max', field: 'amount' }]
    const middle = `record/${middleOf(records)}`
    const late = await cursorAt(beforeLate(records), `${url}${path}/records`, secret, THREE_KEYS)
    return [
      ask(
        'sums of a filter with an index',
        'records/aggregate',
        { measures, where: { amount: ['>', LARGE] } },
        { goal: OTHER_GOAL, goalMs: 50 },
      ),
      ask('sums of all by a select', 'records/aggregate', { measures, by: [{ field: 'stage' }] }, { goal: OTHER_GOAL, goalMs: 1_000 }),
      ask(
        `board of ${STAGES.length} columns of ${PER_GROUP}`,
        'records/board',
        { by: 'stage', per_group: PER_GROUP, order_by: 'amount', order_dir: 'D', fields: FIELDS },
        { goal: 0.67, ignore: ['next_cursor'] },
      ),
      ask('neighbours by amount', `${middle}/neighbours`, { order_by: 'amount' }, { goal: OTHER_GOAL }),
      ask('position by amount', `${middle}/neighbours`, { order_by: 'amount', position: true }, { goal: OTHER_GOAL, goalMs: 300 }),
      ask('position by name', `${middle}/neighbours`, { order_by: 'name', position: true }, { goal: OTHER_GOAL, goalMs: 300 }),
      page('linked filter', { where: { 'company.city': CITY } }),
      page('linked order', { order_by: 'company.name' }),
      page('page with badges', { include: ['badges'] }),
      page('three keys, page 2 by cursor', { ...THREE_KEYS, cursor: await cursorAt(100, `${url}${path}/records`, secret, THREE_KEYS) }),
      page('three keys, page 1,000 by cursor', { ...THREE_KEYS, cursor: late }),
    ]
  },
  steps: { 'beside a simpler request': { run: compareOwn } },
}

/** Prints how many times the time of a simpler request one takes, for one caller. */
async function compareOwn({ url, records, pids }: Bench, { tableId, secret }: Filled): Promise<void> {
  const path = `/api/table/${tableId}`
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const target = (to: string, body?: object): Target => ({
    ...{ name: 'ours', pid: pids.ours, method: body ? 'POST' : 'GET', url, headers, path: () => path + to },
    ...(body && { body: () => body }),
  })
  const walk = async (rows: number) => {
    const cursor = await cursorAt(rows, `${url}${path}/records`, secret, THREE_KEYS)
    return target('/records/query', { ...THREE_KEYS, limit: 100, fields: ROW, cursor })
  }
  const record = `/record/${middleOf(records)}`
  const pairs: [string, Target, Target][] = [
    ['neighbours by amount, beside a get', target(`${record}/neighbours`, { order_by: 'amount' }), target(`${record}/get`)],
    ['page 1,000 by cursor, beside page 2', await walk(beforeLate(records)), await walk(100)],
  ]
  for (const [name, one, other] of pairs) {
    const [slow, quick] = [median(await timesAlone(one)), median(await timesAlone(other))]
    const times = slow / quick
    console.log(
      `\n${name}: ${slow.toFixed(1)} and ${quick.toFixed(1)} ms, ${times.toFixed(1)} times (goal 2${times > 2 ? ', missed' : ''}).`,
    )
  }
}
