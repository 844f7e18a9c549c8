import { beforeEach, describe, expect, test } from 'vitest'
import { type TestAccount, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'
import { NOW, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { told } = taskSupport(app)
beforeEach(() => app.setClock(NOW))

type Due = { due_date: string; due_time?: string }

/** Returns the badge of a user in the zone who has one task of each due date, before and at the instants. */
async function badges(timezone: string, due: Due, instants: string[]) {
  app.setClock(new Date(instants[0] ?? NOW))
  const { member } = await app.account({ timezone })
  await app.as(member).post('/api/tasks/create', { title: 'Plan', ...due })
  const found = []
  for (const at of instants) {
    app.setClock(new Date(at))
    const { count, overdue } = (await app.as(member).post('/api/tasks/badgeCount')).body
    expect((await app.as(member).post('/api/notifications/unreadCount')).body.tasksDue).toBe(count)
    found.push(`${count}/${overdue}`)
  }
  return found
}

describe('a task with a calendar date', () => {
  // The last second of the day before, the first and the last second of the day, and the first of the day after, in local time.
  test.each([
    ['UTC', '2026-03-30', ['2026-03-29T23:59:59Z', '2026-03-30T00:00:00Z', '2026-03-30T23:59:59Z', '2026-03-31T00:00:00Z']],
    ['Pacific/Kiritimati', '2026-03-30', ['2026-03-29T09:59:59Z', '2026-03-29T10:00:00Z', '2026-03-30T09:59:59Z', '2026-03-30T10:00:00Z']],
    ['Etc/GMT+12', '2026-03-30', ['2026-03-30T11:59:59Z', '2026-03-30T12:00:00Z', '2026-03-31T11:59:59Z', '2026-03-31T12:00:00Z']],
    ['Asia/Kolkata', '2026-03-30', ['2026-03-29T18:29:59Z', '2026-03-29T18:30:00Z', '2026-03-30T18:29:59Z', '2026-03-30T18:30:00Z']],
    ['Asia/Kathmandu', '2026-03-30', ['2026-03-29T18:14:59Z', '2026-03-29T18:15:00Z', '2026-03-30T18:14:59Z', '2026-03-30T18:15:00Z']],
    // Days of 23, 25 and 23.5 hours, and one without a midnight.
    ['Europe/Berlin', '2026-03-29', ['2026-03-28T22:59:59Z', '2026-03-28T23:00:00Z', '2026-03-29T21:59:59Z', '2026-03-29T22:00:00Z']],
    ['Europe/Berlin', '2026-10-25', ['2026-10-24T21:59:59Z', '2026-10-24T22:00:00Z', '2026-10-25T22:59:59Z', '2026-10-25T23:00:00Z']],
    ['Australia/Lord_Howe', '2026-10-04', ['2026-10-03T13:29:59Z', '2026-10-03T13:30:00Z', '2026-10-04T12:59:59Z', '2026-10-04T13:00:00Z']],
    ['Africa/Cairo', '2026-04-24', ['2026-04-23T21:59:59Z', '2026-04-23T22:00:00Z', '2026-04-24T20:59:59Z', '2026-04-24T21:00:00Z']],
  ])('in %s on %s is due with the local day, and overdue after it', async (timezone, due_date, instants) => {
    expect(await badges(timezone, { due_date }, instants)).toEqual(['0/0', '1/0', '1/0', '1/1'])
  })
})

describe('a task with a time', () => {
  // A time is an instant: the task is due from the start of its local day, and overdue the second after the instant.
  test.each([
    [
      'Pacific/Kiritimati',
      '2026-03-30',
      '09:59:59',
      ['2026-03-29T09:59:59Z', '2026-03-29T10:00:00Z', '2026-03-30T09:59:59Z', '2026-03-30T10:00:00Z'],
    ],
    [
      'Etc/GMT+12',
      '2026-03-30',
      '12:00:00',
      ['2026-03-30T11:59:59Z', '2026-03-30T12:00:00Z', '2026-03-30T12:00:00Z', '2026-03-30T12:00:01Z'],
    ],
    [
      'Asia/Kathmandu',
      '2026-03-30',
      '18:14:59',
      ['2026-03-29T18:14:59Z', '2026-03-29T18:15:00Z', '2026-03-30T18:14:59Z', '2026-03-30T18:15:00Z'],
    ],
    // The last second of a day of 23 hours, and of one of 25.
    [
      'Europe/Berlin',
      '2026-03-29',
      '21:59:59',
      ['2026-03-28T22:59:59Z', '2026-03-28T23:00:00Z', '2026-03-29T21:59:59Z', '2026-03-29T22:00:00Z'],
    ],
    [
      'Europe/Berlin',
      '2026-10-25',
      '22:59:59',
      ['2026-10-24T21:59:59Z', '2026-10-24T22:00:00Z', '2026-10-25T22:59:59Z', '2026-10-25T23:00:00Z'],
    ],
    // These are within the hour that occurs twice.
    [
      'Europe/Berlin',
      '2026-10-25',
      '00:30:00',
      ['2026-10-24T21:59:59Z', '2026-10-25T00:30:00Z', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'],
    ],
  ])('in %s on %s at %s UTC is due within the local day, and overdue after its instant', async (timezone, due_date, due_time, instants) => {
    expect(await badges(timezone, { due_date, due_time }, instants)).toEqual(['0/0', '1/0', '1/0', '1/1'])
  })
})

describe('a calendar date', () => {
  const dates = ['2026-03-29', '2026-10-25', '2026-04-24', '2011-12-30', '2024-02-29', '1900-01-01', '0001-01-01', '9999-12-31']

  /** Returns the due date and time of the tasks by title, from each endpoint. */
  async function shown({ member, keys }: TestAccount, path: string, id: number) {
    const list = await app.as(keys.personal).get(`${path}/list?limit=200`)
    const mine = await app.as(member).post('/api/tasks/list', { include_done: true, limit: 200 })
    const rows = await app.as(member).rpc.tasks.list.query({ tab: 'all', include_done: true, limit: 200 })
    const one = await app.as(keys.account).get(`/api/task/${id}/get`)
    const found = [list.body, mine.body, rows.rows].map((tasks) => tasks.find((task: { id: number }) => task.id === id))
    return [...found, one.body].map(({ due_date, due_time }) => [due_date, due_time])
  }

  test.each(['UTC', 'Pacific/Kiritimati', 'Etc/GMT+12', 'Asia/Kathmandu', 'Africa/Cairo', 'Pacific/Apia'])(
    'is the same through every endpoint, in %s',
    async (timezone) => {
      const account = await app.account({ timezone })
      const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Analytical Engines' }] })
      const path = `/api/tasks/onRecord/${table}/${records[0]}`
      const { member, viewer } = account
      const { body: made } = await app.as(member).post(`${path}/create`, { title: 'Plan' })
      const update = async (body: object) => (await app.as(member).post(`/api/task/${made.id}/update`, body)).body
      for (const due_date of dates) {
        for (const due_time of [null, '00:00:00', '23:59:59']) {
          const expected = [due_date, due_time]
          const created = await app.as(member).post(`${path}/create`, { title: due_date, due_date, due_time, assignee_user_id: viewer.id })
          expect([created.body.due_date, created.body.due_time]).toEqual(expected)
          const changed = await update({ due_date, due_time })
          expect([changed.due_date, changed.due_time]).toEqual(expected)
          const renamed = await update({ title: `${due_date} ${due_time}` })
          expect([renamed.due_date, renamed.due_time]).toEqual(expected)
          expect(await shown(account, path, made.id)).toEqual([expected, expected, expected, expected])
          expect((await told(viewer.id)).at(-1)?.summary).toBe(
            `“${due_date}” is due on ${due_date}${due_time ? ` at ${due_time.slice(0, 5)} UTC` : ''}.`,
          )
        }
      }
      await app.as(member).post(`/api/task/${made.id}/markDone`)
      expect(await shown(account, path, made.id)).toEqual(Array(4).fill(['9999-12-31', '23:59:59']))
    },
  )
})
