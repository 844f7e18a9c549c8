/** Requests that the previous release knows, sent to both: rows are the same byte for byte, other answers have new keys at most. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { everyTypeRecords, everyTypeTable, otherRecords, otherTable } from '../scripts/every-type.ts'
import { TYPES } from '../src/fields/registry.ts'
import { call, signIn } from './support/programs.ts'
import { openReleases, type Release } from './support/releases.ts'

const releases = await openReleases()
const { space_id, owner, member } = releases.previous.login
const RELEASES: Release[] = ['previous', 'current']
/** The keys that contract.md has added to answers since the previous release (§8 to §11). */
const ADDED = ['failing', 'version', 'change_id', 'colors', 'is_owner']
/** What an answer says beside its body. */
const HEADERS = ['content-type', 'x-total-count', 'x-ignored']

let cookie = ''
let path = ''
let records: number[] = []
let view_id = 0

const make = async (release: Release, to: string, body: object) => {
  const answer = await call(releases.url(`${release} web`), to, { cookie, body })
  expect(answer.status, `${to}: ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}

beforeAll(async () => {
  await releases.run('previous web', 'current web')
  cookie = await signIn(releases.url('previous web'), owner)
  const create = `/api/space/${space_id}/tables/create`
  const others = await make('previous', create, otherTable)
  const linked = otherRecords.map((data) => ({ data }))
  const companies = await make('previous', `/api/table/${others.id}/records/create_batch`, { records: linked })
  const table = await make('previous', create, everyTypeTable(others.id))
  path = `/api/table/${table.id}`
  const { body: me } = await call(releases.url('previous web'), '/api/auth/me', { cookie })
  const found = { users: [me.id], others: companies.map(({ id }: { id: number }) => id) }
  const data = everyTypeRecords(new Date('2026-03-20T12:00:00Z'), found)
  const made = await make('previous', `${path}/records/create_batch`, { records: data.map((each) => ({ data: each })) })
  records = made.map(({ id }: { id: number }) => id)
  const filters = [{ column: 'number', compare: '>', value: 0 }]
  view_id = (await make('previous', `${path}/views/create`, { name: 'Positive', type: 'grid', filters, order_by: 'date' })).id
  await make('previous', `${path}/record/${records[0]}/comments/create`, { content: 'A comment' })
  await make('previous', `/api/tasks/onRecord/${path.split('/').at(-1)}/${records[0]}/create`, { title: 'Call', due_date: '2030-01-01' })
})
afterAll(async () => {
  expect(releases.troubles()).toEqual([])
  await releases.close()
})

/** The bytes of the answer with its status and headers. */
async function ask(release: Release, to: string, body?: object) {
  const response = await fetch(releases.url(`${release} web`) + to, {
    method: body ? 'POST' : 'GET',
    headers: { cookie, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const next = response.headers.has('x-next-cursor')
  return { status: response.status, headers: HEADERS.map((name) => response.headers.get(name)), next, text: await response.text() }
}

/** The answer of this release without the keys that are new, if the previous one does not have them. */
function withoutAdded(current: unknown, previous: unknown): unknown {
  if (Array.isArray(current)) return current.map((each, index) => withoutAdded(each, Array.isArray(previous) ? previous[index] : undefined))
  if (typeof current !== 'object' || current === null) return current
  const before = (previous ?? {}) as Record<string, unknown>
  const kept = Object.entries(current).filter(([key]) => key in before || !ADDED.includes(key))
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutAdded(value, before[key])]))
}

/** Values that differ between two creates: ids and the times at which they were made. */
const blank = (text: string): string =>
  text.replaceAll(/"(id|table_id|record_id|updated_at|created_at)":("[^"]*"|\d+)/g, '"$1":0').replaceAll(/ \d+(?=")/g, ' 0')

/** A value of each kind that conditions take. */
const VALUES: Record<string, unknown> = {
  ...{ number: 1.5, checkbox: true, date: '2026-03-20', datetime: '2026-03-20', time: '09:30', select: 'Won', multi_select: 'red' },
  ...{ user: '@me', multi_user: owner.email, lookup: 1, multi_lookup: 2 },
}
const PARTS = ['contains', 'starts_with', 'ends_with']

test('rows of every condition, order and page are the same byte for byte', async () => {
  const bodies: object[] = [
    {},
    { limit: 3, offset: 2, count: true },
    { fields: ['date', 'select'] },
    { search: 'al' },
    { search: 'person example' },
  ]
  for (const [type, { compares, sort, isMultiple }] of Object.entries(TYPES)) {
    for (const compare of Object.keys(compares)) {
      const isPart = PARTS.includes(compare) && !isMultiple
      const value = compare.startsWith('is_') ? undefined : isPart ? 'a' : (VALUES[type] ?? 'Alpha')
      bodies.push({ filters: [{ column: type, compare, value }] })
    }
    if (sort) bodies.push(...['A', 'D'].map((order_dir) => ({ order_by: type, order_dir, cursor: '', limit: 7 })))
  }
  const [won, red] = [
    { column: 'select', compare: 'EQ', value: 'Won' },
    { field: 'multi_select', compare: 'C', value: 'red' },
  ]
  bodies.push(
    { filters: [won, { ...red, connector: 'OR' }, { column: 'number', compare: 'NEMPTY' }] },
    { filter: { any: [won, { all: [red, { any: [] }] }, { all: [] }] }, order: [{ field: 'select' }, { field: 'number', dir: 'D' }] },
    { where: { checkbox: true, number: ['>', 1] }, order_by: 'text' },
    { filters: [{ column: 'select', compare: '=', value: 'Nothing' }] },
    {
      filters: [
        { column: 'date', compare: '>', value: '-30y' },
        { column: 'datetime', compare: '<', value: 'start_of_year+900m' },
      ],
    },
    ...[{ view_id }, { view_id, order_by: 'number', filters: [won] }, { view_id, append_filters: true, filters: [won], search: 'e' }],
  )
  for (const body of bodies) {
    const [previous, current] = [await ask('previous', `${path}/records/query`, body), await ask('current', `${path}/records/query`, body)]
    expect({ body, ...current }).toEqual({ body, ...previous })
    expect(previous.status, JSON.stringify(body)).toBe(200)
  }
  const exported = await Promise.all(RELEASES.map((release) => ask(release, `${path}/export.csv?view_id=${view_id}`)))
  expect(exported[1]).toEqual(exported[0])
})

test('other reads have new keys at most', async () => {
  const record = `${path}/record/${records[0]}`
  const space = `/api/space/${space_id}`
  const won = { filters: [{ column: 'select', compare: '=', value: 'Won' }] }
  const reads: [string, object?][] = [
    ...['/api/auth/me', '/api/spaces/list', `${space}/get`, `${space}/tables/list`, `${space}/members/list`].map((to): [string] => [to]),
    ...[`${path}/get`, `${path}/views/list`, `${path}/view/${view_id}/get`, `${path}/indexes`].map((to): [string] => [to]),
    ...[
      `${record}/get`,
      `${record}/comments/get`,
      `${record.replace('/api/table', '/api/tasks/onRecord').replace('/record', '')}/list`,
    ].map((to): [string] => [to]),
    ...['/api/tasks/list', '/api/tasks/badgeCount', '/api/notifications/list', '/api/notifications/unreadCount'].map(
      (to): [string, object] => [to, {}],
    ),
    [`${path}/records/count`, won],
    [`${path}/records/query`, { ...won, explain: true, record_id: records[0] }],
    ...['select', 'checkbox', 'user', 'date'].map((by): [string, object] => [`${path}/records/groups`, { ...won, by }]),
    [`${path}/views/check`, { name: 'Checked', type: 'grid', ...won }],
    ['/api/email/smtpOptions', { tableId: Number(path.split('/').at(-1)) }],
  ]
  for (const [to, body] of reads) {
    const [previous, current] = [await ask('previous', to, body), await ask('current', to, body)]
    const before = JSON.parse(previous.text)
    expect([to, current.status, withoutAdded(JSON.parse(current.text), before)]).toEqual([to, previous.status, before])
    expect([to, current.headers]).toEqual([to, previous.headers])
    expect(previous.status, to).toBe(200)
  }
})

test('writes are answered with new keys at most', async () => {
  const data = { text: 'New', number: '1.239', multi_select: ['red', 'blue'], user: member.email, datetime: '2026-03-20T10:00:00+02:00' }
  const answers = await Promise.all(
    RELEASES.map(async (release) => {
      const at = (to: string, body: object) => ask(release, to, body)
      const made = await at(`${path}/records/create`, { data })
      const record = `${path}/record/${JSON.parse(made.text).id}`
      const task = await at(`/api/tasks/create`, { title: 'Task 1', due_date: '2030-01-01' })
      return [
        made,
        await at(`${record}/update`, { data: { text: 'Changed', select: 'Lost', checkbox: null } }),
        await at(`${path}/records/create_batch`, { records: [{ data }, { data: { lookup: null } }] }),
        await at(`${record}/comments/create`, { content: `Hello` }),
        task,
        ...[await at(`/api/task/${JSON.parse(task.text).id}/markDone`, {}), await at(`/api/task/${JSON.parse(task.text).id}/delete`, {})],
        await at(`${path}/views/create`, { name: `View ${release === 'current' ? 1 : 2}`, type: 'grid', order_by: 'text', order_dir: 'D' }),
        await at(`${record}/delete`, {}),
      ].map(({ status, headers, text }) => ({ status, headers, body: JSON.parse(blank(text)) }))
    }),
  )
  const [previous = [], current = []] = answers
  expect(current.map((each, index) => ({ ...each, body: withoutAdded(each.body, previous[index]?.body) }))).toEqual(previous)
  expect(previous.map(({ status }) => status)).toEqual(Array(9).fill(200))
})
