/** What a column of tasks needs (CONTRIBUTING.md, A first change: a column). Each failure names the place that was forgotten. */
import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import type { Changeable } from '../src/platform/http/answers/columns.ts'
import { NewTask, TaskUpdate, taskColumns } from '../src/tasks/schema.ts'
import { testApp } from './support/app.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)

/** The column of the table that no answer shows: that a reminder came too late. */
const NOT_SHOWN = ['reminder_missed']

const inTable = (
  await app.db.read<{ name: string }>(sql`
  select column_name as name from information_schema.columns where table_name = 'tasks' and table_schema = 'public'`)
).map(({ name }) => name)
const declared = Object.keys(taskColumns)

test('the table has each column that is declared', () => {
  const forgotten = declared.filter((name) => !inTable.includes(name))
  expect(forgotten, 'add them to the model Task in prisma/schema.prisma, and write a migration').toEqual([])
})

test('each column of the table is declared', () => {
  const forgotten = inTable.filter((name) => !declared.includes(name) && !NOT_SHOWN.includes(name))
  expect(forgotten, 'add them to taskColumns in src/tasks/schema.ts').toEqual([])
})

type Name = keyof Changeable<typeof taskColumns>

interface Sample {
  /** What is sent when the task is created and when it is updated. */
  created: unknown
  updated: unknown
  /** How answers show it, if not as it was sent. */
  shown?: readonly [created: unknown, updated: unknown]
  /** What the value needs beside it. */
  beside?: object
}

/** The columns that an update may change. Null for one that follows from others, and for files, which keys may not attach. */
const SAMPLES = {
  assignee_user_id: null,
  title: { created: 'Call', updated: 'Call back' },
  details: { created: 'Soon', updated: null },
  due_date: { created: '2030-01-04', updated: '2030-01-05' },
  due_time: { created: '10:00', updated: '11:30', shown: ['10:00:00', '11:30:00'], beside: { due_date: '2030-01-04' } },
  reminder_offset_mins: { created: 30, updated: 45, beside: { due_date: '2030-01-04', due_time: '10:00' } },
  reminder_time: { created: '08:00', updated: '09:00', shown: ['08:00:00', '09:00:00'], beside: { due_date: '2030-01-04' } },
  reminder_at: null,
  attachments: null,
  external_id: { created: 'a', updated: 'b' },
} satisfies Record<Name, Sample | null>

const samples = Object.entries<Sample | null>(SAMPLES).flatMap(([name, sample]) => (sample ? [[name, sample] as const] : []))

describe.each(samples)('%s', (name, { created, updated, shown = [created, updated], beside = {} }) => {
  test('is an input of a new task and of an update', () => {
    expect(Object.keys(NewTask.shape), 'add it to NewTask in src/tasks/schema.ts').toContain(name)
    expect(Object.keys(TaskUpdate.shape), 'add it to TaskUpdate in src/tasks/schema.ts').toContain(name)
  })

  test('is stored, and shown by every answer', async () => {
    const { create, keys, path } = await onRecord()
    const api = app.as(keys.personal)
    const made = await create(keys.personal, { title: 'Call', ...beside, [name]: created })
    expect(made.body[name], 'store it in src/tasks/creation.ts').toEqual(shown[0])
    const changed = await api.post(`/api/task/${made.body.id}/update`, { [name]: updated })
    expect(changed.body[name], 'store it in src/tasks/changes.ts').toEqual(shown[1])
    const [detail, list, since] = await Promise.all([
      api.get(`/api/task/${made.body.id}/get`),
      api.get(`${path}/list`),
      api.get(`${path}/list?updated_since=2000-01-01 00:00:00`),
    ])
    for (const [task, place] of [
      [detail.body, 'get'],
      [list.body[0], 'list'],
      [since.body[0], 'list with updated_since'],
    ])
      expect(task[name], `shown by ${place}`).toEqual(shown[1])
  })
})
