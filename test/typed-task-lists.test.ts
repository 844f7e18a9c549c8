/** The types of the typed client's lists of tasks, beside what the service answers: what a row has depends on what was asked. */
import type { TRPCClientError } from '@trpc/client'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { AppRouter, ChangedTasks, Client, DeletedTask, Task, TaskInContext } from '../src/client.ts'
import type { DeletedTask as ServedDeletedTask, TaskInContext as ServedTaskInContext } from '../src/tasks/lists/schema.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const { member } = account
const table = await makeTable(app, account, { records: [{ name: 'Acme' }] })
const place = { table_id: table.id, record_id: table.records[0] as number }
const client = app.as(member).rpc

const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('the call should fail'),
    ({ data }: TRPCClientError<AppRouter>) => data,
  )

type ListInput = Parameters<Client['tasks']['list']['query']>[0]

describe('the lists of tasks', () => {
  const all = { tab: 'all', include_done: true } as const

  test('have the names of a context for those who ask for it, and for them only', async () => {
    await client.tasks.createOnRecord.mutate({ ...place, title: 'Call them' })

    const { rows: plain, total } = await client.tasks.listOnRecord.query(place)
    expectTypeOf(plain).toEqualTypeOf<Task[]>()
    expectTypeOf(total).toEqualTypeOf<number | undefined>()
    // @ts-expect-error The context was not asked for.
    expect(plain[0]?.assignee_name).toBeUndefined()
    // @ts-expect-error Deleted tasks were not asked for.
    expect(plain[0]?.deleted_at).toBeUndefined()

    const { rows: named } = await client.tasks.listOnRecord.query({ ...place, include: ['context'] })
    expectTypeOf(named).toEqualTypeOf<TaskInContext[]>()
    expect(named[0]).toMatchObject({ record_title: 'Acme', comment_count: 0, table_name: expect.any(String) })

    const { rows: alsoNamed } = await client.tasks.list.query({ ...all, include: ['context', 'context'] })
    expectTypeOf(alsoNamed).toEqualTypeOf<TaskInContext[]>()
    expect(alsoNamed[0]?.assignee_name).toBe(member.name)

    const { rows: empty } = await client.tasks.list.query({ ...all, include: [] })
    expectTypeOf(empty).toEqualTypeOf<Task[]>()
    expect(empty[0]).not.toHaveProperty('assignee_name')

    const { rows: perhaps } = await client.tasks.list.query({ ...all, include: Math.random() < 2 ? ['context'] : undefined })
    expectTypeOf(perhaps[0]?.assignee_name).toEqualTypeOf<string | undefined>()
  })

  test('have deleted tasks for those who ask for what changed, and for them only', async () => {
    const { id: task_id } = await client.tasks.create.mutate({ title: 'Short-lived' })
    await client.tasks.delete.mutate({ task_id })

    const page = await client.tasks.list.query({ ...all, updated_since: '2026-01-01 00:00:00' })
    expectTypeOf(page).toEqualTypeOf<ChangedTasks>()
    expect(page.rows.find(({ id }) => id === task_id)).toEqual({ id: task_id, deleted_at: expect.any(String) })
    for (const row of page.rows) {
      // @ts-expect-error A deleted task has no title.
      expect(typeof row.title === 'string').toBe(row.deleted_at === undefined)
      if (row.deleted_at !== undefined) expectTypeOf(row).toEqualTypeOf<DeletedTask>()
      else expectTypeOf(row.title).toEqualTypeOf<string>()
      if (!('deleted_at' in row)) expectTypeOf(row.title).toEqualTypeOf<string>()
      if (!row.deleted_at) expectTypeOf(row.title).toEqualTypeOf<string>()
    }

    const named = await client.tasks.listOnRecord.query({ ...place, updated_since: '2026-01-01 00:00:00', include: ['context'] })
    expectTypeOf(named).toEqualTypeOf<ChangedTasks<TaskInContext>>()

    const { rows } = await client.tasks.list.query({ ...all, updated_since: null })
    expectTypeOf(rows).toEqualTypeOf<Task[]>()
    const since = [null, '2026-01-01 00:00:00'].at(-1)
    const { rows: either } = await client.tasks.list.query({ ...all, updated_since: since })
    expectTypeOf(either).toEqualTypeOf<ChangedTasks['rows']>()
  })

  test('are walked by their cursors, with the type of a page', async () => {
    for (const title of ['One', 'Two', 'Three']) await client.tasks.create.mutate({ title })
    const ids: number[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: ChangedTasks = await client.tasks.list.query({ ...all, updated_since: '2026-01-01 00:00:00', cursor, limit: 2 })
      ids.push(...page.rows.map(({ id }) => id))
      cursor = page.next_cursor
    }
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(2)
  })

  test('refuse what their input does not have', async () => {
    // @ts-expect-error The key is misspelled.
    expect(await failure(client.tasks.list.query({ tabs: 'all' }))).toMatchObject({ httpStatus: 400 })
    // @ts-expect-error There is no such name.
    expect(await failure(client.tasks.list.query({ include: ['counts'] }))).toMatchObject({ httpStatus: 400 })
    // @ts-expect-error A time is a text.
    expect(await failure(client.tasks.list.query({ updated_since: new Date(0).getTime() }))).toMatchObject({ httpStatus: 400 })
    // @ts-expect-error The record is missing.
    expect(await failure(client.tasks.listOnRecord.query({ table_id: table.id }))).toMatchObject({ httpStatus: 400 })
    const given: ListInput = { tab: 'my' }
    expectTypeOf((await client.tasks.list.query(given)).rows[0]?.id).toEqualTypeOf<number | undefined>()
  })

  test('have the types that the service declares', () => {
    expectTypeOf<TaskInContext>().branded.toEqualTypeOf<ServedTaskInContext>()
    expectTypeOf<DeletedTask>().toExtend<ServedDeletedTask>()
    expectTypeOf<keyof ServedDeletedTask>().toEqualTypeOf<keyof DeletedTask>()
  })
})
