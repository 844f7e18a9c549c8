import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ChangedTasks } from '../src/client.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import type { Statement } from '../src/platform/database/statements/statement.ts'
import { deleteTombstones } from '../src/tasks/deletion.ts'
import { type Caller, testApp } from './support/app.ts'
import { later, NOW, taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)
afterEach(() => app.setClock(null))

const at = (minutes: number) => later(minutes).toISOString().slice(0, 19).replace('T', ' ')

/** Creates a record with the tasks A, B, C, a minute apart from NOW on, by the member for the viewer. */
async function withTasks() {
  const account = await onRecord()
  const ids: number[] = []
  for (const [index, title] of ['A', 'B', 'C'].entries()) {
    app.setClock(later(index))
    ids.push((await account.create(account.member, { title, assignee_user_id: account.viewer.id })).body.id)
  }
  const [a = 0, b = 0, c = 0] = ids
  const changes = async (query: string, caller: Caller = account.member) => {
    const { status, body, headers } = await app.as(caller).get(`${account.path}/list?${query}`)
    if (status !== 200) return [status, body.message]
    return { rows: body.map(nameOf), total: headers.get('x-total-count'), next: headers.get('x-next-cursor') }
  }
  const mine = async (caller: Caller, input: object) => {
    const { status, body } = await app.as(caller).post('/api/tasks/list', input)
    return status === 200 ? body.map(nameOf) : [status, body.message]
  }
  const post = (caller: Caller, id: number, verb: string, body?: object) => app.as(caller).post(`/api/task/${id}/${verb}`, body)
  return { ...account, a, b, c, changes, mine, post }
}

const nameOf = (row: { title?: string; id: number; deleted_at?: string }) => row.title ?? `${row.id} ${row.deleted_at}`
const since = (minutes: number) => `updated_since=${encodeURIComponent(at(minutes))}`

describe('updated_since', () => {
  test('lists the tasks that changed in that second or later, oldest change first', async () => {
    const { a, b, c, changes, post, member, viewer } = await withTasks()
    expect(await changes(since(0))).toEqual({ rows: ['A', 'B', 'C'], total: '3', next: null })
    expect(await changes(since(1))).toMatchObject({ rows: ['B', 'C'] })
    app.setClock(later(5))
    await post(viewer, a, 'markDone')
    app.setClock(later(6))
    await post(member, b, 'update', { title: 'B2' })
    await post(member, c, 'update', { title: 'C' })
    expect(await changes(since(2))).toMatchObject({ rows: ['C', 'A', 'B2'], total: '3' })
    expect(await changes(since(7))).toEqual({ rows: [], total: '0', next: null })
    expect(await changes(`${since(0)}&status=open`)).toMatchObject({ rows: ['C', 'B2'] })
  })

  test('lists deleted tasks for 30 days', async () => {
    const { a, b, changes, post, member } = await withTasks()
    app.setClock(later(5))
    await post(member, b, 'delete')
    expect(await changes(since(0))).toEqual({ rows: ['A', 'C', `${b} ${at(5)}`], total: '3', next: null })
    app.setClock(later(6))
    await post(member, a, 'update', { title: 'A2' })
    expect(await changes(since(2))).toMatchObject({ rows: ['C', `${b} ${at(5)}`, 'A2'] })
    const context = systemContext(app.deps)
    await deleteTombstones({ ...context, now: later(5 + 30 * 24 * 60) })
    expect(await changes(since(5))).toMatchObject({ rows: [`${b} ${at(5)}`, 'A2'] })
    await deleteTombstones({ ...context, now: later(6 + 30 * 24 * 60) })
    expect(await changes(since(5))).toMatchObject({ rows: ['A2'] })
  })

  test('omits deleted tasks if they are not requested', async () => {
    const { b, path, post, member } = await withTasks()
    await post(member, b, 'delete')
    expect((await app.as(member).get(`${path}/list`)).body.map(nameOf)).toEqual(['A', 'C'])
  })

  test('on tasks/list follows the tabs, completed tasks included', async () => {
    const { a, b, mine, post, member, viewer, admin, account } = await withTasks()
    app.setClock(later(5))
    await post(viewer, a, 'markDone')
    const updated_since = at(0)
    expect(await mine(viewer, { updated_since })).toEqual(['B', 'C', 'A'])
    expect(await mine(viewer, { updated_since, include_done: false })).toEqual(['B', 'C'])
    expect(await mine(viewer, { updated_since, search: 'b' })).toEqual(['B'])
    expect(await mine(member, { updated_since })).toEqual([])
    expect(await mine(member, { updated_since, tab: 'delegated' })).toEqual(['B', 'C', 'A'])
    expect(await mine(admin, { updated_since, tab: 'all' })).toEqual([])
    // A reassigned task leaves the tab without a deleted row; a follower still sees it under all.
    app.setClock(later(6))
    await post(member, b, 'update', { assignee_user_id: admin.id })
    expect(await mine(viewer, { updated_since: at(6) })).toEqual([])
    expect(await mine(viewer, { updated_since: at(6), tab: 'all' })).toEqual(['B'])
    expect(await mine(admin, { updated_since: at(6) })).toEqual(['B'])
    await post(member, b, 'delete')
    const gone = [`${b} ${at(6)}`]
    expect(await mine(admin, { updated_since: at(6) })).toEqual(gone)
    for (const person of [member, viewer, admin]) expect(await mine(person, { updated_since: at(6), tab: 'all' })).toEqual(gone)
    expect(await mine(member, { updated_since: at(6), tab: 'delegated' })).toEqual(gone)
    expect(await mine(viewer, { updated_since: at(6) })).toEqual([])
    for (const caller of [account.owner, account.outsider]) expect(await mine(caller, { updated_since: at(6), tab: 'all' })).toEqual([])
  })

  test('lists tasks that were deleted with their record', async () => {
    const { a, b, c, mine, table, record, member, viewer } = await withTasks()
    app.setClock(later(5))
    await app.as(member).post(`/api/table/${table}/record/${record}/delete`)
    const gone = [a, b, c].map((id) => `${id} ${at(5)}`)
    expect(await mine(viewer, { updated_since: at(5) })).toEqual(gone)
    const rows = await app.db.read(sql`select 1 from deleted_tasks where id = any(${[a, b, c]}::int[])`)
    expect(rows).toHaveLength(3)
  })

  test('can be walked by cursor while tasks change', async () => {
    const { a, path, post, member } = await withTasks()
    app.setClock(later(2))
    const { body: many } = await app
      .as(member)
      .post(`${path}/createMany`, { tasks: Array.from({ length: 7 }, (_, n) => ({ title: `${n}` })) })
    expect(many).toHaveLength(7)
    const seen: string[] = []
    let cursor: string | null = ''
    for (let page = 0; cursor !== null && page < 10; page++) {
      const { body, headers } = await app.as(member).get(`${path}/list?${since(0)}&limit=3&cursor=${cursor}`)
      // The count is taken where the walk begins.
      expect(headers.get('x-total-count')).toBe(page === 0 ? '10' : null)
      seen.push(...body.map(nameOf))
      cursor = headers.get('x-next-cursor')
      app.setClock(later(10 + page))
      // A changed task of the first page moves to the end: by offset, other tasks would be skipped.
      if (page === 0) await post(member, a, 'update', { title: 'A2' })
    }
    expect(seen).toEqual(['A', 'B', 'C', '0', '1', '2', '3', '4', '5', '6', 'A2'])
    const { next_cursor, rows } = await app.as(member).rpc.tasks.list.query({ tab: 'delegated', updated_since: at(0), limit: 1 })
    expect([rows.length, typeof next_cursor]).toEqual([1, 'string'])
  })

  test('can be walked by cursor through tasks of one second that concern the caller in each way, and deleted ones', async () => {
    const { b, post, create, viewer, member, admin } = await withTasks()
    app.setClock(later(5))
    const made = [
      { title: 'for me', assignee_user_id: viewer.id },
      { title: 'from me', assigner_user_id: viewer.id, assignee_user_id: viewer.id },
      { title: 'followed' },
      { title: 'not mine' },
    ]
    const ids: number[] = []
    for (const input of made) ids.push((await create(input.assigner_user_id ? viewer : member, input)).body.id)
    const [, fromMe = 0, followed = 0] = ids
    await post(viewer, fromMe, 'update', { assignee_user_id: admin.id })
    await post(viewer, followed, 'subscribe')
    await post(member, b, 'delete')
    const walk = async (query: object) => {
      const rows: string[] = []
      const totals: unknown[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const page: ChangedTasks = await app.as(viewer).rpc.tasks.list.query({ tab: 'all', updated_since: at(0), cursor, ...query })
        rows.push(...page.rows.map(nameOf))
        totals.push(page.total)
        cursor = page.next_cursor
      }
      return { rows, totals }
    }
    const all = ['A', 'C', `${b} ${at(5)}`, 'for me', 'from me', 'followed']
    expect(await walk({})).toEqual({ rows: all, totals: [6] })
    expect(await walk({ limit: 1 })).toEqual({ rows: all, totals: [6, ...Array(5)] })
    expect((await walk({ limit: 4 })).rows).toEqual(all)
  })

  test('can be paged by offset, too', async () => {
    const { changes } = await withTasks()
    expect(await changes(`${since(0)}&limit=2&offset=1`)).toMatchObject({ rows: ['B', 'C'], total: '3', next: null })
    expect(await changes(`${since(0)}&limit=2`)).toMatchObject({ rows: ['A', 'B'], next: expect.any(String) })
    expect(await changes(`${since(0)}&offset=9`)).toMatchObject({ rows: [], total: '3' })
  })

  test.each([
    ['2026-03-30 09:31:00', ['B', 'C']],
    ['2026-03-30 09:31', ['B', 'C']],
    ['2026-03-30T09:31:00Z', ['B', 'C']],
    ['2026-03-30T09:31:00.999Z', ['B', 'C']],
    ['2026-03-30T11:31:00+02:00', ['B', 'C']],
    ['0001-01-01 00:00:00', ['A', 'B', 'C']],
    ['9999-12-31 23:59:59', []],
  ])('reads %s', async (text, rows) => {
    const { changes } = await withTasks()
    expect(await changes(`updated_since=${encodeURIComponent(text)}`)).toMatchObject({ rows })
  })

  const NO_INSTANT = 'updated_since: must be an instant, as YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset'
  test.each([
    ['updated_since=yesterday', NO_INSTANT],
    ['updated_since=', NO_INSTANT],
    ['updated_since=2026-02-30 00:00:00', NO_INSTANT],
    ['updated_since=2026-03-30 24:00:00', NO_INSTANT],
    ['updated_since=1700000000', NO_INSTANT],
    ['cursor=x', 'cursor: needs updated_since'],
    ['cursor=', 'cursor: needs updated_since'],
    ['updated_since=2026-03-30 09:30:00&cursor=x', 'cursor: must be empty, or what came with the page before'],
  ])('refuses %s', async (query, message) => {
    const { changes, mine, member } = await withTasks()
    // The list of a record takes a cursor in the order of creation as well.
    const ofRecord = message === 'cursor: needs updated_since' ? `${message} or order=created` : message
    expect(await changes(query)).toEqual([400, ofRecord])
    expect(await mine(member, Object.fromEntries(new URLSearchParams(query)))).toEqual([400, message])
  })

  test('refuses the cursor of another list', async () => {
    const { changes, mine, member, viewer } = await withTasks()
    const { next } = (await changes(`${since(0)}&limit=1`)) as { next: string }
    const refused = [400, 'Cursor belongs to another query']
    expect(await changes(`${since(1)}&cursor=${next}`)).toEqual(refused)
    expect(await changes(`${since(0)}&status=open&cursor=${next}`)).toEqual(refused)
    expect(await mine(member, { updated_since: at(0), cursor: next })).toEqual(refused)
    expect(await mine(viewer, { updated_since: NOW.toISOString(), cursor: `${next}x` })).toEqual([
      400,
      'cursor: must be empty, or what came with the page before',
    ])
  })
})

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

interface Explained {
  'QUERY PLAN': [{ Plan: PlanNode }]
}

/** Runs the statement. @returns its scans */
async function scansOf({ text, values }: Statement): Promise<PlanNode[]> {
  const [explained] = await app.db.read<Explained>({ text: `explain (analyze, format json) ${text}`, values })
  return scansIn(explained)
}

/** As above, by the plan that PostgreSQL makes without the values, as it may for a prepared statement. The values must be numbers. */
async function scansOfGenericPlan({ text, values }: Statement): Promise<PlanNode[]> {
  const client = await app.db.connect()
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    await client.query(`prepare page as ${text}`)
    const literals = values.map((value) => (Array.isArray(value) ? `'{${value}}'` : Number(value)))
    const { rows } = await client.query<Explained>(`explain (analyze, format json) execute page (${literals.join()})`)
    return scansIn(rows[0])
  } finally {
    await client.end()
  }
}

function scansIn(explained: Explained | undefined): PlanNode[] {
  const nodesIn = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesIn)]
  return explained ? nodesIn(explained['QUERY PLAN'][0].Plan).filter((node) => /Scan/.test(node['Node Type'])) : []
}

/** Returns the number of rows that a statement has read, with those that it then discarded. */
const rowsRead = async (statement: Statement): Promise<number> =>
  (await scansOf(statement)).reduce(
    (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    0,
  )

/** An account in which the viewer has a third of 20,000 tasks, created another third, and follows some of the rest; a thousand changed in each second. */
async function withMany() {
  const account = await withTasks()
  const { id, member, viewer, admin } = account
  await app.db.write(sql`
    with made as (
      insert into tasks (account_id, creator_user_id, assignee_user_id, title, due_date, created_at, updated_at)
      select ${id}, case n % 3 when 1 then ${viewer.id}::int else ${admin.id}::int end, case n % 3 when 0 then ${viewer.id}::int else ${member.id}::int end,
        'Task ' || n, date '2026-01-01' + n / 30, ${at(0)}::timestamp, ${at(0)}::timestamp + n / 1000 * interval '1 second'
      from generate_series(1, 20000) n returning id, creator_user_id, assignee_user_id
    )
    insert into task_subscribers (task_id, user_id) select id, creator_user_id from made union select id, assignee_user_id from made`)
  await app.db.write(sql`analyze tasks`)
  await app.db.write(sql`analyze task_subscribers`)
  return account
}

test.each(['my', 'delegated', 'all'] as const)('a page of many that continues another reads about a page, tab %s', async (tab) => {
  const { viewer } = await withMany()
  const query = { tab, updated_since: at(0), limit: 50 }
  const first = await app.as(viewer).rpc.tasks.list.query(query)
  const spy = vi.spyOn(app.deps.db, 'read')
  const next = await app.as(viewer).rpc.tasks.list.query({ ...query, cursor: first.next_cursor ?? '' })
  const [statement] = spy.mock.calls.find(([{ label }]) => label === 'tasks:changes') ?? []
  spy.mockRestore()
  expect(next.rows).toHaveLength(50)
  expect(await rowsRead(statement as Statement)).toBeLessThan(500)
})

test.each([
  ['my', 'assignee', 6_669],
  ['delegated', 'creator', 6_667],
] as const)('a page of many open tasks reads about a page in the order of an index, tab %s', async (tab, index, count) => {
  const { viewer } = await withMany()
  const spy = vi.spyOn(app.deps.db, 'page')
  const { rows, total } = await app.as(viewer).rpc.tasks.list.query({ tab, limit: 50, offset: 100 })
  const [statement] = spy.mock.calls.find(([{ label }]) => label === 'tasks:list') ?? []
  spy.mockRestore()
  expect([rows.length, total]).toEqual([50, count])
  for (const scans of [await scansOf(statement as Statement), await scansOfGenericPlan(statement as Statement)]) {
    // The other scan counts them all: in this index alone, once the table is vacuumed.
    const ofPage = scans.find((node) => node['Node Type'] === 'Index Scan' && node['Index Name'] === `tasks_due_of_${index}_idx`)
    expect(ofPage?.['Actual Rows']).toBeLessThan(250)
  }
})
