/** The suite "records": a million records, queried through saved views and ad hoc, with the indexes that the service has built for them. */
import { ScriptError } from '../../runtime.ts'
import type { Case, Suite } from '../case.ts'
import { type Filled, fill, newRecord, type ViewName, WORDS } from './data.ts'
import { askedOfOthers } from './others.ts'
import { watchLongWork } from './watched.ts'
import { createInBatches, importRecords, updateInBatches } from './writes.ts'

const CREATE_GOAL = 0.7
const GOAL_P99 = 1.5
/** Goals of a query that an index answers in its order, and of every other one. `goalMs` is that of the median for one caller. */
const ORDERED = { goal: 1.4, goalMs: 5 }
const ANY = { goal: 0.8, goalMs: 60 }
/** Where the bare server reads whole rows up to the page, of which the time may be 0.15 by the key, and 0.3 by a number. */
const DEEP = { goal: 6.7, goalMs: 60 }
const DEEP_BY_NUMBER = { goal: 3.3, goalMs: 100 }
/** The offset of page 100, or of the last page of a smaller table. */
const farIn = (records: number) => Math.min(9_900, records - 100)

export const records: Suite<Filled> = {
  defaults: { records: 1_000_000, seconds: 2 },
  fewest: 1_000,
  prepare: fill,
  bare: 'records/bare.ts',
  tellBare: ({ tableId, ownerId }, records) => ({ tableId, userId: ownerId, farIn: farIn(records), half: records / 2 }),
  tableOf: ({ tableId }) => tableId,
  cases: async ({ tableId, views }, { url, account, records }) => {
    const offset = farIn(records)
    const others = askedOfOthers(offset)
    const path = `/api/table/${tableId}/records`
    const page = (name: string, bare: string, body: object, goals: typeof ANY): Case => ({
      name,
      method: 'POST',
      ours: () => `${path}/query`,
      bare: () => bare,
      body: () => ({ limit: 100, ...body }),
      ...goals,
      goalP99: GOAL_P99,
    })
    const through = (view: ViewName) => {
      if (views[view]) return { view_id: views[view] }
      throw new ScriptError(`The data have no view ${view}, since an earlier version made them: make them again, in another folder`)
    }
    const words = Object.entries(WORDS)
    const cases: Case[] = [
      page('open and due, newest due first', '/openAndDue', through('openAndDue'), ORDERED),
      page("amount over x or city contains 'ber', by name", '/largeOrNear', through('largeOrNear'), ORDERED),
      page('no filter, by amount', '/byAmount', through('byAmount'), ORDERED),
      page('by status, then the largest amount', '/byStatusAndAmount', through('byStatusAndAmount'), ORDERED),
      page('name starts with, by name', '/startsWith', through('startsWith'), ORDERED),
      ...words.map(([kind, word]) => page(`search for a ${kind} word`, `/search/${word}`, { search: word }, ANY)),
      ...words.map(([kind, word]) =>
        page(`open and due, search for a ${kind} word`, `/searchOpenAndDue/${word}`, { ...through('openAndDue'), search: word }, ANY),
      ),
      page('page 100 by offset', '/offset', { ...through('byAmount'), offset }, ANY),
      page('offset 500,000 by id', '/deepById', { offset: records / 2 }, DEEP),
      page('offset 500,000 by amount', '/deepByAmount', { ...through('byAmount'), offset: records / 2 }, DEEP_BY_NUMBER),
      page(
        'page 100 by cursor',
        '/cursor',
        { ...through('byAmount'), cursor: await cursorAt(offset, url + path, account.secret, through('byAmount')) },
        ORDERED,
      ),
      {
        name: 'count of open and due',
        method: 'POST',
        ours: () => `${path}/count`,
        bare: () => '/count',
        body: () => through('openAndDue'),
        ...ANY,
        goalP99: GOAL_P99,
      },
      {
        name: 'create a record',
        method: 'POST',
        ours: () => `${path}/create`,
        bare: () => '/create',
        body: newRecord,
        goal: CREATE_GOAL,
        ignore: ['id', 'created_at', 'updated_at'],
      },
    ]
    return cases.map((one) => ({ ...one, ...(others[one.name] && { others: others[one.name] }) }))
  },
  steps: {
    'create in batches': { run: createInBatches },
    'update in batches': { run: updateInBatches },
    'import a million rows': { run: importRecords },
    'long work with readers and writers': { run: watchLongWork },
  },
}

const AT_ONCE = 1_000

/** Walks to that page by cursor, as a caller would. */
export async function cursorAt(offset: number, records: string, secret: string, view: object): Promise<string> {
  let cursor = ''
  for (let left = offset; left > 0; left -= AT_ONCE) {
    const answer = await fetch(`${records}/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...view, fields: ['id'], limit: Math.min(AT_ONCE, left), cursor }),
    })
    cursor = answer.headers.get('x-next-cursor') ?? ''
    await answer.arrayBuffer()
  }
  return cursor
}
