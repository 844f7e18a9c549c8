/** The suite "foundation": a page of records through a view, a record, a task, and the creation of both. */
import type { Suite } from '../case.ts'
import { type Filled, fill, newRecord, newTask } from './data.ts'

/** Properties that differ between two answers to the same create. */
const STAMPS = ['id', 'created_at', 'updated_at']

export const foundation: Suite<Filled> = {
  defaults: { records: 1_000, seconds: 3 },
  prepare: fill,
  bare: 'foundation/bare.ts',
  tellBare: ({ tableId, ownerId }) => ({ tableId, userId: ownerId }),
  cases: ({ tableId, viewId, recordIds, taskIds }) => {
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
        goal: 0.8,
      },
      { name: 'get a task', method: 'GET', ours: (i) => `/api/task/${task(i)}/get`, bare: (i) => `/task/${task(i)}`, goal: 0.4 },
      {
        name: 'get a record',
        method: 'GET',
        ours: (i) => `/api/table/${tableId}/record/${record(i)}/get`,
        bare: (i) => `/record/${record(i)}`,
        goal: 0.4,
      },
      {
        name: 'create a task',
        method: 'POST',
        ours: (i) => `/api/tasks/onRecord/${tableId}/${record(i)}/create`,
        bare: (i) => `/record/${record(i)}/task`,
        body: newTask,
        goal: 0.5,
        ignore: STAMPS,
      },
      {
        name: 'create a record',
        method: 'POST',
        ours: () => `/api/table/${tableId}/records/create`,
        bare: () => '/record',
        body: newRecord,
        goal: 0.5,
        ignore: STAMPS,
      },
    ]
  },
}
