/** The suite "foundation": a page of records through a view, a record, a task, and the usual writes. */
import type { Suite } from '../case.ts'
import { changedCells, type Filled, fill, newBatch, newRecord, newTask } from './data.ts'

/** Properties that differ between two answers to the same create. */
const STAMPS = ['id', 'created_at', 'updated_at', 'change_id']
const READ_GOAL = 0.8
const WRITE_GOAL = 0.7
/** Of a single record, whose history and event the bare server does not write. */
const CHANGE_GOAL = 0.6
/** Bare knows neither the types of the time nor the table's present fields. */
const HISTORY = { goal: 0.3, goalMs: 5 }

export const foundation: Suite<Filled> = {
  defaults: { records: 1_000, seconds: 3 },
  prepare: fill,
  bare: 'foundation/bare.ts',
  tellBare: ({ tableId, ownerId }) => ({ tableId, userId: ownerId }),
  cases: ({ tableId, viewId, recordIds, taskIds, changedId }) => {
    const record = (index: number) => recordIds[index % recordIds.length]
    const task = (index: number) => taskIds[index % taskIds.length]
    return [
      {
        name: 'query 100 records through a view',
        method: 'POST',
        ours: () => `/api/table/${tableId}/records/query`,
        bare: () => '/query',
        body: () => ({ view_id: viewId, limit: 100 }),
        goal: 1.5,
      },
      {
        name: 'query 100 records, bare writes text as well',
        method: 'POST',
        ours: () => `/api/table/${tableId}/records/query`,
        bare: () => '/query/written',
        body: () => ({ view_id: viewId, limit: 100 }),
        goal: READ_GOAL,
      },
      { name: 'get a task', method: 'GET', ours: (i) => `/api/task/${task(i)}/get`, bare: (i) => `/task/${task(i)}`, goal: READ_GOAL },
      {
        name: 'get a record',
        method: 'GET',
        ours: (i) => `/api/table/${tableId}/record/${record(i)}/get`,
        bare: (i) => `/record/${record(i)}`,
        goal: READ_GOAL,
      },
      {
        name: 'history of a record with 10,000 changes',
        method: 'GET',
        ours: () => `/api/table/${tableId}/record/${changedId}/history`,
        bare: () => `/record/${changedId}/history`,
        ...HISTORY,
      },
      {
        name: 'create a task',
        method: 'POST',
        ours: (i) => `/api/tasks/onRecord/${tableId}/${record(i)}/create`,
        bare: (i) => `/record/${record(i)}/task`,
        body: newTask,
        goal: WRITE_GOAL,
        ignore: STAMPS,
      },
      {
        name: 'create a record',
        method: 'POST',
        ours: () => `/api/table/${tableId}/records/create`,
        bare: () => '/record',
        body: newRecord,
        goal: CHANGE_GOAL,
        ignore: STAMPS,
      },
      {
        name: 'update a record',
        method: 'POST',
        ours: (i) => `/api/table/${tableId}/record/${record(i)}/update`,
        bare: (i) => `/record/${record(i)}/update`,
        body: changedCells,
        goal: CHANGE_GOAL,
        ignore: STAMPS,
      },
      {
        name: 'create a batch of 100 records',
        method: 'POST',
        ours: () => `/api/table/${tableId}/records/create_batch`,
        bare: () => '/records',
        body: newBatch,
        goal: WRITE_GOAL,
        ignore: STAMPS,
      },
      {
        name: 'comment on a task',
        method: 'POST',
        ours: (i) => `/api/task/${task(i)}/comments/create`,
        bare: (i) => `/task/${task(i)}/comment`,
        body: () => ({ content: 'They have accepted the offer.' }),
        goal: WRITE_GOAL,
        ignore: STAMPS,
      },
    ]
  },
}
