/** The suite "tasks": a million tasks of a thousand users. */
import type { Case, Suite } from '../case.ts'
import { type Filled, fill, WORD } from './data.ts'
import { mentionMany, sweepReminders } from './steps.ts'

const GOAL = 0.8
const GOAL_MS = 20
const TABS = ['my', 'delegated', 'all']

export const tasks: Suite<Filled> = {
  defaults: { records: 1_000_000, seconds: 1 },
  prepare: fill,
  bare: 'tasks/bare.ts',
  tellBare: ({ userId }) => ({ userId }),
  secretOf: ({ secret }) => secret,
  cases: ({ tableIds, recordsPerTable, taskIds }) => {
    const task = (index: number) => taskIds[index % taskIds.length]
    const place = (index: number) => `${tableIds[index % tableIds.length]}/${1 + (index % recordsPerTable)}`
    const goals = { goal: GOAL, goalMs: GOAL_MS }
    const list = (tab: string, search?: string): Case => ({
      name: `list, tab ${tab}${search ? ', with a search' : ''}`,
      method: 'POST',
      ours: () => '/api/tasks/list',
      bare: () => `/list/${tab}${search ? `/${search}` : ''}`,
      body: () => ({ tab, ...(search && { search }) }),
      ...goals,
    })
    return [
      { name: 'get a task', method: 'GET', ours: (i) => `/api/task/${task(i)}/get`, bare: (i) => `/task/${task(i)}`, ...goals },
      {
        name: 'list on a record',
        method: 'GET',
        ours: (i) => `/api/tasks/onRecord/${place(i)}/list`,
        bare: (i) => `/onRecord/${place(i)}`,
        ...goals,
      },
      ...TABS.flatMap((tab) => [list(tab), list(tab, WORD)]),
      { name: 'badgeCount', method: 'POST', ours: () => '/api/tasks/badgeCount', bare: () => '/badgeCount', body: () => ({}), ...goals },
    ]
  },
  steps: { 'a mention of fifty people': { run: mentionMany }, 'a sweep of due reminders': { run: sweepReminders } },
}
