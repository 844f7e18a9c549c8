/** Tests records/groups: how many records have each value of a field. */
import { describe, expect, test } from 'vitest'
import { type Caller, testApp } from './support/app.ts'
import { makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const { body: table } = await app.as(account.owner).post(`/api/space/${account.space}/tables/create`, {
  name: 'Deals',
  fields: [
    { name: 'Name', type: 'text' },
    { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
    { name: 'Paid', type: 'checkbox' },
    { name: 'Owner', type: 'user' },
    { name: 'Due', type: 'date' },
    { name: 'Starts', type: 'datetime' },
    { name: 'Tags', type: 'multi_select', options: ['Red'] },
    { name: 'Type', type: 'number' },
  ],
})
const path = `/api/table/${table.id}`
const records = [
  { name: 'a', stage: 'Won', paid: true, owner: account.member.email, due: '2026-03-29', starts: '2026-03-28 23:00:00', type: 1 },
  { name: 'b', stage: 'Lead', owner: account.owner.email, due: '2026-03-30', starts: '2026-03-29 21:59:59', type: 2 },
  { name: 'c', stage: 'Lead', paid: true, owner: account.owner.email, due: '2026-04-01', starts: '2026-03-29 22:00:00', type: 1 },
  { name: 'd', paid: false, due: '2026-03-29', starts: '2024-02-29 12:00:00' },
  { name: 'e' },
]
await app.as(account.owner).post(`${path}/records/create_batch`, { records: records.map((data) => ({ data })) })

const ask = (body: object, caller: Caller = account.viewer) => app.as(caller).post(`${path}/records/groups`, body)

/** Returns the groups as `value count`, with `-` for an empty value. */
async function groups(body: object, caller?: Caller): Promise<string> {
  const answer = await ask(body, caller)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
    .map(({ value, count }: { value: { name: string } | string | null; count: number }) => `${Object(value).name ?? value ?? '-'} ${count}`)
    .join(', ')
}

async function inZone<T>(timezone: string, run: () => Promise<T>): Promise<T> {
  await app.db.prisma.user.update({ where: { id: account.viewer.id }, data: { timezone } })
  return run()
}

describe('records in groups', () => {
  test('by a select start with the empty one, then follow the order of the options, with or without records', async () => {
    expect(await groups({ by: 'stage' })).toBe('- 2, Lead 2, Won 1, Lost 0')
    expect(await groups({ by: 'stage', where: { stage: 'Won' } })).toBe('Lead 0, Won 1, Lost 0')
    await app.as(account.owner).post(`${path}/field/stage/update`, { options: ['Lost', 'Won', 'Lead'] })
    expect(await groups({ by: 'stage' })).toBe('- 2, Lost 0, Won 1, Lead 2')
    expect((await ask({ by: 'stage' })).body[0]).toEqual({ value: null, count: 2 })
  })

  test('by a checkbox count an empty cell as false', async () => {
    expect(await groups({ by: 'paid' })).toBe('false 3, true 2')
    expect(await groups({ by: 'paid', search: 'nothing' })).toBe('false 0, true 0')
  })

  test('by a user are those that records contain, by name', async () => {
    expect(await groups({ by: 'owner' })).toBe('- 2, Max Member 1, Olga Owner 2')
    expect(await groups({ by: 'created_by' })).toBe('Olga Owner 5')
    const { id, email, name } = account.member
    expect((await ask({ by: 'owner', where: { name: 'a' } })).body).toEqual([{ value: { id, email, name }, count: 1 }])
  })

  test('by a date are named by the first day of a day, a week or a month', async () => {
    expect(await groups({ by: 'due' })).toBe('- 1, 2026-03-29 2, 2026-03-30 1, 2026-04-01 1')
    expect(await groups({ by: 'due', unit: 'week' })).toBe('- 1, 2026-03-23 2, 2026-03-30 2')
    expect(await groups({ by: 'due', unit: 'month' })).toBe('- 1, 2026-03-01 3, 2026-04-01 1')
    // A date has no zone.
    expect(await inZone('Pacific/Kiritimati', () => groups({ by: 'due' }))).toBe('- 1, 2026-03-29 2, 2026-03-30 1, 2026-04-01 1')
  })

  test.each([
    ['UTC', 'day', '- 1, 2024-02-29 1, 2026-03-28 1, 2026-03-29 2'],
    // This day has 23 hours.
    ['Europe/Berlin', 'day', '- 1, 2024-02-29 1, 2026-03-29 2, 2026-03-30 1'],
    ['Europe/Berlin', 'week', '- 1, 2024-02-26 1, 2026-03-23 2, 2026-03-30 1'],
    ['Europe/Berlin', 'month', '- 1, 2024-02-01 1, 2026-03-01 3'],
    ['Asia/Kathmandu', 'day', '- 1, 2024-02-29 1, 2026-03-29 1, 2026-03-30 2'],
    ['Pacific/Kiritimati', 'day', '- 1, 2024-03-01 1, 2026-03-29 1, 2026-03-30 2'],
    ['America/New_York', 'day', '- 1, 2024-02-29 1, 2026-03-28 1, 2026-03-29 2'],
  ])('by a datetime are local days of %s, by %s', async (zone, unit, expected) => {
    expect(await inZone(zone, () => groups({ by: 'starts', unit }))).toBe(expected)
  })

  test('of a day match a filter for that day, also at the edges of the calendar', async () => {
    const { body: ages } = await app
      .as(account.owner)
      .post(`/api/space/${account.space}/tables/create`, { name: 'Ages', fields: [{ name: 'At', type: 'datetime' }] })
    const instants = [
      '0001-01-01 00:00:00',
      '0001-01-01 12:00:00',
      '0001-01-01 23:59:59',
      '2011-12-30 09:59:59',
      '2011-12-30 10:00:00',
      '2026-04-23 22:00:00',
      '9999-12-31 08:00:00',
      '9999-12-31 23:30:00',
    ]
    await app.as(account.owner).post(`/api/table/${ages.id}/records/create_batch`, { records: instants.map((at) => ({ data: { at } })) })
    // The week that contains the first day would begin with a Sunday of the year 0.
    const sundays = await makeView(app, account, ages.id, { type: 'calendar', config: { startField: 'at', weekStart: 'sunday' } })
    for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Apia', 'Africa/Cairo', 'Etc/GMT+12', 'America/St_Johns']) {
      await inZone(zone, async () => {
        const { body } = await app.as(account.viewer).post(`/api/table/${ages.id}/records/groups`, { by: 'at' })
        expect(
          body.reduce((sum: number, { count }: { count: number }) => sum + count, 0),
          zone,
        ).toBe(instants.length)
        for (const { value, count } of body) {
          const { body: found } = await app.as(account.viewer).post(`/api/table/${ages.id}/records/count`, { where: { at: value } })
          expect(found.count, `${zone} ${value}`).toBe(count)
        }
        const weeks = await app.as(account.viewer).post(`/api/table/${ages.id}/records/groups`, { by: 'at', unit: 'week' })
        expect(weeks.status).toBe(200)
        for (const unit of ['day', 'week', 'month']) {
          const { body: units } = await app
            .as(account.viewer)
            .post(`/api/table/${ages.id}/records/groups`, { by: 'at', unit, view_id: sundays.id })
          expect(units[0].value, `${zone} ${unit}`).toBe('0001-01-01')
        }
      })
    }
  })

  test('contain only the records that filters, search and a view select', async () => {
    const view = await app.as(account.owner).post(`${path}/views/create`, {
      name: 'From March',
      type: 'calendar',
      config: { startField: 'due', weekStart: 'sunday' },
      filters: [{ column: 'due', compare: '>=', value: '2026-03-29' }],
    })
    const view_id = view.body.id
    expect(await groups({ view_id, by: 'due', unit: 'week' })).toBe('2026-03-29 4')
    const ignored = await ask({ view_id, by: 'stage', where: { nope: 1 } })
    expect([ignored.status, ignored.headers.get('x-ignored')]).toEqual([200, 'where'])
    expect(await groups({ view_id, by: 'stage', filters: [{ column: 'paid', compare: '=', value: true }], append_filters: true })).toBe(
      'Lost 0, Won 1, Lead 1',
    )
    expect(
      await groups({
        by: 'stage',
        filter: {
          any: [
            { column: 'name', compare: '=', value: 'a' },
            { column: 'type', compare: '=', value: 2 },
          ],
        },
      }),
    ).toBe('Lost 0, Won 1, Lead 1')
    expect(await groups({ by: 'stage', search: 'won' })).toBe('Lost 0, Won 1, Lead 0')
  })

  test('are the same by RPC, and every reader may request them', async () => {
    for (const caller of [
      account.owner,
      account.member,
      account.viewer,
      account.keys.account,
      account.keys.accountReadOnly,
      account.keys.personalViewer,
    ])
      expect(await app.as(caller).rpc.records.groups.query({ table_id: table.id, by: 'paid' })).toEqual({
        rows: (await ask({ by: 'paid' }, caller)).body,
      })
  })

  test('answer strangers as reading the table does', async () => {
    const refusals = [account.outsider, account.keys.accountOutsider, account.keys.accountOtherSpace, null].map(
      async (caller) => (await ask({ by: 'paid' }, caller)).status,
    )
    expect(await Promise.all(refusals)).toEqual([404, 404, 403, 401])
  })

  test.each<[string, object, string]>([
    ['no field', {}, 'by'],
    ['an unknown field', { by: 'nope' }, 'by'],
    ['a column of the database', { by: 'xmin' }, 'by'],
    ['a field that is not a text', { by: 1 }, 'by'],
    ['a text field', { by: 'name' }, 'by'],
    ['a list', { by: 'tags' }, 'by'],
    ['the key', { by: 'id' }, 'by'],
    ['a unit for a select', { by: 'stage', unit: 'day' }, 'unit'],
    ['another unit', { by: 'due', unit: 'year' }, 'unit'],
    ['a wrong filter', { by: 'stage', where: { type: 'x' } }, 'where'],
    ['an order', { by: 'stage', order_by: 'stage' }, 'order_by'],
  ])('%s: 400 naming it', async (_, body, name) => {
    const answer = await ask(body)
    expect([answer.status, answer.body.issues?.[0].path[0]]).toEqual([400, name])
  })

  test('a view of another table is 404', async () => {
    for (const view_id of [2_000_000_000, -1, 'x']) expect((await ask({ by: 'stage', view_id })).body.message).toBe('View not found')
  })
})
