/** A million records, queried through saved views and ad hoc. */
import type { Case, Suite } from '../case.ts'
import { type Filled, fill, type ViewName, WORDS } from './data.ts'

const GOAL = 0.8
/** The median for one caller: of everything, and of what the order of an index can answer. */
const MOST_MS = 60
const ORDERED_MS = 5

export const records: Suite<Filled> = {
  defaults: { records: 1_000_000, seconds: 1 },
  prepare: fill,
  bare: 'records/bare.ts',
  tellBare: ({ tableId }) => ({ tableId }),
  cases: ({ tableId, views }) => {
    const page = (name: string, bare: string, body: object, goalMs: number): Case => ({
      name,
      method: 'POST',
      ours: () => `/api/table/${tableId}/records/query`,
      bare: () => bare,
      body: () => ({ limit: 100, ...body }),
      goal: GOAL,
      goalMs,
    })
    const through = (view: ViewName) => ({ view_id: views[view] })
    const words = Object.entries(WORDS)
    return [
      page('open and due, newest due first', '/openAndDue', through('openAndDue'), ORDERED_MS),
      page("amount over x or city contains 'ber', by name", '/largeOrNear', through('largeOrNear'), ORDERED_MS),
      page('no filter, by amount', '/byAmount', through('byAmount'), ORDERED_MS),
      page('name starts with, by name', '/startsWith', through('startsWith'), ORDERED_MS),
      ...words.map(([kind, word]) => page(`search for a ${kind} word`, `/search/${word}`, { search: word }, MOST_MS)),
      ...words.map(([kind, word]) =>
        page(`open and due, search for a ${kind} word`, `/searchOpenAndDue/${word}`, { ...through('openAndDue'), search: word }, MOST_MS),
      ),
      page('page 100 by offset', '/offset', { ...through('byAmount'), offset: 9_900 }, MOST_MS),
      {
        name: 'count of open and due',
        method: 'POST',
        ours: () => `/api/table/${tableId}/records/count`,
        bare: () => '/count',
        body: () => through('openAndDue'),
        goal: GOAL,
        goalMs: MOST_MS,
      },
    ]
  },
}
