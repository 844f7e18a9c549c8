import { describe, expect, test } from 'vitest'
import { adapt, adaptAll } from '../src/indexes/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { withBuildLock } from '../src/tables/index-builds.ts'
import { adaptIndexes, enqueueIndexing } from '../src/tables/indexing.ts'
import { testApp } from './support/app.ts'
import { onEveryServer } from './support/servers.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const context = () => systemContext(app.deps)
const run = (text: string) => app.db.write(sql([text] as unknown as TemplateStringsArray))

interface Listed {
  name: string
  fields: string[]
  reason: string
  state: string
  size: number
}

/** Creates a table with `rows` records, inserted by one statement. */
async function largeTable(rows: number, more: { name: string; type: string; options?: string[] }[] = []): Promise<number> {
  const { id } = await makeTable(app, account, {
    fields: [
      { name: 'Company', type: 'text' },
      { name: 'Stage', type: 'select', options: ['New', 'Open', 'Won', 'Lost'] },
      { name: 'Due', type: 'date' },
      { name: 'Amount', type: 'number' },
      { name: 'Email', type: 'email' },
      { name: 'Notes', type: 'long_text' },
      ...more,
    ],
  })
  if (rows) await fill(id, rows)
  return id
}

async function fill(table: number, rows: number): Promise<void> {
  await run(`
    insert into t${table}.records (created_at, updated_at, company, stage, due, amount, email, notes)
    select now(), now(), case when i % 3000 = 0 then 'Beryl ' else 'Company ' end || substring(md5(i::text), 1, 8), 1 + i % 4, date '2026-01-01' + i % 700,
      i % 9973, 'person' || i || '@example.com', 'Note ' || i * 7
    from generate_series(1, ${rows}) i`)
  await run(`analyze t${table}.records`)
}

const newView = async (table: number, view: object) => (await makeView(app, account, table, view)).id

/** Returns `'due D first'` in the form of the API. */
const keys = (...texts: string[]) =>
  texts.map((text) => {
    const [field, dir = 'A', nulls] = text.split(' ')
    return { field, dir, ...(nulls && { nulls }) }
  })

/** Returns the same query in the opposite direction. */
function reversed(body: object): object {
  const { order } = body as { order: ReturnType<typeof keys> }
  const opposite = (nulls: string) => ({ nulls: nulls === 'first' ? 'last' : 'first' })
  return { ...body, order: order.map(({ field, dir, nulls }) => ({ field, dir: dir === 'A' ? 'D' : 'A', ...(nulls && opposite(nulls)) })) }
}

const filter = (column: string, compare: string, value: unknown) => ({ column, compare, value })

async function listed(table: number): Promise<Listed[]> {
  const { status, body } = await app.as(account.admin).get(`/api/table/${table}/indexes`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** Lists the valid and the invalid indexes in the database, except for the primary key. */
async function real(table: number): Promise<{ name: string; valid: boolean }[]> {
  return app.db.read(sql`
    select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = to_regclass(${`t${table}.records`}) and not i.indisprimary order by 1`)
}

const jobsOf = async (table: number) =>
  (
    await app.db.read<{ n: number }>(
      sql`select count(*) as n from pgboss.job where name = ${adaptIndexes.name} and (data->>'table_id')::int = ${table}`,
    )
  )[0]?.n

/** Explains the statements that records/query sends. */
async function explained(table: number, body: object): Promise<string> {
  const queries = queriesOf(app.db)
  let plan = ''
  const explaining = queriesWith(queries, async (statement, on) => {
    if (!statement.text.includes('/* v')) return
    const lines = await on.read<{ 'QUERY PLAN': string }>({ text: `explain ${statement.text}`, values: statement.values })
    plan = lines.map((line) => line['QUERY PLAN']).join('\n')
  })
  Object.assign(app.db, explaining)
  try {
    const answer = await app.as(account.admin).post(`/api/table/${table}/records/query`, { limit: 100, ...body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  } finally {
    Object.assign(app.db, queries)
  }
  return plan
}

interface ReadScan {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  'Actual Loops': number
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: ReadScan[]
}

/** Returns the scans of records in a page: as they ran, and as they are planned once for all values. */
async function partsOf(table: number, body: object): Promise<{ scans: ReadScan[]; generic: ReadScan[] }> {
  const queries = queriesOf(app.db)
  const found: ReadScan[][] = []
  const scansIn = (plan: ReadScan): ReadScan[] => [
    ...(plan['Relation Name'] === 'records' ? [plan] : []),
    ...(plan.Plans ?? []).flatMap((inner) => scansIn(inner)),
  ]
  const explaining = queriesWith(queries, async ({ text, values }, on) => {
    if (!text.includes('/* v')) return
    for (const [options, bound] of [
      ['analyze', values],
      ['generic_plan', []],
    ] as const) {
      const [row] = await on.read<{ 'QUERY PLAN': [{ Plan: ReadScan }] }>({
        text: `explain (format json, ${options}) ${text}`,
        values: [...bound],
      })
      found.push(scansIn((row as { 'QUERY PLAN': [{ Plan: ReadScan }] })['QUERY PLAN'][0].Plan))
    }
  })
  Object.assign(app.db, explaining)
  try {
    await idsOf(table, body)
  } finally {
    Object.assign(app.db, queries)
  }
  const [scans = [], generic = []] = found
  return { scans, generic }
}

/** Returns the indexes that `explain: true` names. */
async function namedBy(table: number, body: object): Promise<string[]> {
  const answer = await app.as(account.admin).post(`/api/table/${table}/records/query`, { limit: 100, ...body, explain: true })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.indexes
}

async function idsOf(table: number, body: object): Promise<number[]> {
  const answer = await app.as(account.admin).post(`/api/table/${table}/records/query`, { limit: 1000, fields: ['id'], ...body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ id }: { id: number }) => id)
}

describe('the indexes of a table', () => {
  test('are its primary key and those of calendars while it is small, and more from 5,000 records on', async () => {
    const table = await largeTable(4_000)
    await newView(table, { filters: [filter('stage', '=', 'Open')], order_by: 'due', order_dir: 'D' })
    await newView(table, { type: 'calendar', config: { startField: 'due' } })
    await adapt(context(), { table_id: table })
    expect((await listed(table)).map(({ name, fields, state }) => ({ name, fields, state }))).toEqual([
      { name: 'records_pkey', fields: ['id'], state: 'ready' },
      { name: 'idx_layout_due', fields: ['due', 'id'], state: 'ready' },
    ])

    await fill(table, 2_000)
    const before = await listed(table)
    expect(before.filter(({ state }) => state === 'building').map(({ fields }) => fields)).toContainEqual(['stage', 'due', 'id'])
    await adapt(context(), { table_id: table })
    const after = await listed(table)
    expect(after.map(({ fields, state, reason }) => ({ fields, state, reason: reason.replaceAll(/\d+/g, 'n') }))).toEqual([
      { fields: ['id'], state: 'ready', reason: 'the primary key' },
      { fields: ['due', 'id'], state: 'ready', reason: 'calendar "View n"' },
      { fields: ['stage', 'due', 'id'], state: 'ready', reason: 'view "View n"' },
      { fields: ['company', 'id'], state: 'ready', reason: 'sorting by the title' },
      ...['company', 'email', 'notes'].map((id) => ({
        fields: [id],
        state: 'ready',
        reason: 'search, contains, starts_with and ends_with',
      })),
    ])
    for (const { size } of after) expect(size).toBeGreaterThan(8_000)
    expect((await real(table)).every(({ valid }) => valid)).toBe(true)
  })

  test('are dropped only when the table has shrunk below half of that', async () => {
    const table = await largeTable(6_000)
    await newView(table, { type: 'calendar', config: { startField: 'due' } })
    await adapt(context(), { table_id: table })
    const all = (await real(table)).length
    await run(`delete from t${table}.records where id > 4000`)
    await adapt(context(), { table_id: table })
    expect((await real(table)).length).toBe(all)
    await run(`delete from t${table}.records where id > 2000`)
    await adapt(context(), { table_id: table })
    expect((await real(table)).map(({ name }) => name)).toEqual(['idx_layout_due'])
  })

  test('serve views with nested conditions and several sort keys', async () => {
    const table = await largeTable(25_000)
    const any = { any: [filter('email', 'starts_with', 'person'), filter('stage', '=', 'Won')] }
    const view_id = await newView(table, {
      filter: { all: [filter('amount', '=', 7), any] },
      order: [{ field: 'due', dir: 'D' }, { field: 'company' }],
    })
    await adapt(context(), { table_id: table })
    const index = (await listed(table)).find(({ fields }) => `${fields}` === 'amount,due,id')
    expect(index).toMatchObject({ state: 'ready', reason: expect.stringMatching(/^view "View \d+"/) })
    expect(await explained(table, { view_id })).toContain(index?.name)
  })

  test('serve orders of several keys and their exact reverse, whatever directions the keys have', async () => {
    const table = await largeTable(30_000, [{ name: 'Done', type: 'checkbox' }])
    await run(
      `update t${table}.records set amount = case when id % 50 > 0 then amount end, done = case when id % 3 > 0 then id % 3 > 1 end`,
    )
    await run(`analyze t${table}.records`)
    const open = [filter('stage', '=', 'Open')]
    const wanted: [string, object][] = [
      ['stage,amount,id', { order: keys('stage', 'amount D') }],
      ['done,company,id', { order: keys('done D', 'company') }],
      ['stage,done,amount,id', { filters: open, order: keys('done', 'amount D', 'company') }],
      ['stage,due,id', { order: keys('stage A last', 'due D first') }],
      ['stage,created_at,id', { filters: open, order: keys('stage', 'created_at', 'id D') }],
    ]
    const before = []
    for (const [, view] of wanted) {
      await newView(table, view)
      before.push([await idsOf(table, view), await idsOf(table, reversed(view))])
    }
    await adapt(context(), { table_id: table })
    const all = await listed(table)
    for (const [at, [fields, view]] of wanted.entries()) {
      const index = all.find((each) => `${each.fields}` === fields)
      expect(index, fields).toMatchObject({ state: 'ready', reason: expect.stringMatching(/^view "View \d+"/) })
      for (const body of [view, reversed(view)]) {
        expect(await namedBy(table, body)).toEqual([index?.name])
        const isSortedWithin = fields === 'stage,done,amount,id'
        const plan = await explained(table, body)
        if (isSortedWithin) expect(plan).toContain('Incremental Sort')
        else expect(plan).not.toContain('Sort')
      }
      expect([await idsOf(table, view), await idsOf(table, reversed(view))], fields).toEqual(before[at])
    }
    // Another mixture of directions is another order, which shares only the first key with this index.
    expect(await explained(table, { order: keys('stage', 'amount') })).toContain('Incremental Sort')
  })

  test('hold a page by cursor in the middle of an order in one range for each part, and parts behind a full page are not read', async () => {
    const table = await largeTable(30_000, [{ name: 'Done', type: 'checkbox' }])
    await run(
      `update t${table}.records set amount = case when id % 5 > 0 then id / 7 % 4 end, done = case when id % 3 > 0 then id % 3 > 1 end`,
    )
    await run(`vacuum analyze t${table}.records`)
    const open = [filter('stage', '=', 'Open')]
    const views = [
      { order: keys('stage', 'amount D') },
      { order: keys('stage D last', 'amount A last', 'company D') },
      { filters: open, order: keys('amount D first', 'done', 'due') },
    ]
    for (const view of views) await newView(table, view)
    await adapt(context(), { table_id: table })
    for (const body of views.flatMap((view) => [view, reversed(view)])) {
      const said = JSON.stringify(body)
      const ids = await idsOf(table, body)
      // The page begins in the middle of records with the same keys.
      const middle = await app
        .as(account.admin)
        .post(`/api/table/${table}/records/query`, { ...body, fields: ['id'], limit: 990, cursor: '' })
      const next = { ...body, cursor: middle.headers.get('x-next-cursor'), limit: 9 }
      expect((await idsOf(table, next)).slice(0, 9), said).toEqual(ids.slice(990, 999))
      const { scans, generic } = await partsOf(table, next)
      expect(scans.length, said).toBeGreaterThan(2)
      for (const scan of scans)
        expect(scan, said).toMatchObject({ 'Node Type': expect.stringMatching(/^Index/), 'Index Cond': expect.any(String) })
      for (const scan of generic)
        expect(scan, said).toMatchObject({ 'Node Type': expect.stringMatching(/^Index/), 'Index Cond': expect.any(String) })
      // Ten rows of each part at most, and what follows a full page not at all.
      const read = scans.map((scan) => scan['Actual Loops'] * (scan['Actual Rows'] + (scan['Rows Removed by Filter'] ?? 0)))
      expect(Math.max(...read), said).toBeLessThanOrEqual(10)
      expect(read.at(-1), said).toBe(0)
      // From the third time on the statement is prepared, and after five more it may have a plan for all values.
      for (let asked = 0; asked < 9; asked++) expect((await idsOf(table, next)).slice(0, 9), said).toEqual(ids.slice(990, 999))
    }
  })

  test('have a further key only where many records share the values of the earlier ones, and keep it from then on', async () => {
    const table = await largeTable(25_000)
    await newView(table, { order: keys('amount', 'due') })
    await newView(table, { order: keys('amount', 'email') })
    const ofViews = async () => {
      await run(`analyze t${table}.records`)
      await adapt(context(), { table_id: table })
      return (await listed(table)).flatMap(({ fields, state, reason }) => (reason.startsWith('view') ? `${fields} ${state}` : []))
    }
    expect(await ofViews()).toEqual(['amount,id ready'])
    expect(await explained(table, { order: keys('amount', 'due') })).toContain('idx_sort_amount_')
    await run(`update t${table}.records set amount = null where id <= 3000`)
    expect(await ofViews()).toEqual(['amount,due,id ready', 'amount,email,id ready'])
    await run(`update t${table}.records set amount = id where id <= 3000`)
    expect(await ofViews()).toEqual(['amount,due,id ready', 'amount,email,id ready'])
  })

  test('serve the statements that records/query really sends', async () => {
    const table = await largeTable(30_000)
    await newView(table, { filters: [filter('stage', '=', 'Open')], order_by: 'due', order_dir: 'D' })
    await newView(table, { order_by: 'amount' })
    await newView(table, { type: 'kanban', config: { categoryField: 'stage' } })
    await newView(table, { type: 'calendar', config: { startField: 'due' } })
    await newView(table, { filters: [filter('email', '=', 'x@example.com')] })
    await adapt(context(), { table_id: table })
    const names = Object.fromEntries(
      (await listed(table)).map(({ name, fields, state }) => [`${fields}${name.startsWith('idx_text') ? ' text' : ''}`, state && name]),
    )

    const open = filter('stage', '=', 'Open')
    const uses = async (index: string | undefined, body: object) => expect(await explained(table, body)).toContain(index ?? 'an index')
    await uses(names['stage,due,id'], { filters: [open, filter('due', '<=', '2026-05-01')], order_by: 'due', order_dir: 'D' })
    await uses(names['stage,due,id'], { filters: [open], order_by: 'due', order_dir: 'A' })
    await uses(names['due,id'], { order_by: 'due', order_dir: 'D' })
    await uses(names['due,id'], { filters: [filter('due', '=', '2026-03-05')] })
    await uses(names['amount,id'], { order_by: 'amount' })
    await uses(names['stage,id'], { filters: [open], offset: 12_000 })
    await uses(names['email,id'], { filters: [filter('email', '=', 'person77@example.com')] })
    await uses(names['company,id'], { order_by: 'company' })
    await uses(names['company,id'], { filters: [filter('company', 'starts_with', 'beryl 1')], order_by: 'company' })
    await uses(names['company text'], { filters: [filter('company', 'contains', 'ryl 1f')] })
    await uses(names['email text'], { filters: [filter('email', 'ends_with', '21415@example.com')] })
    const search = await explained(table, { search: 'person21415' })
    for (const text of ['company text', 'email text', 'notes text']) expect(search).toContain(names[text])
  })

  test('of texts sample more values than usual to tell rare words from frequent ones, and keep a smaller pending list', async () => {
    const table = await largeTable(21_000)
    await adapt(context(), { table_id: table })
    const samples = await app.db.read<{ name: string; samples: number | null; options: string[] }>(sql`
      select c.relname as name, a.attstattarget as samples, c.reloptions as options from pg_index i join pg_class c on c.oid = i.indexrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
      where i.indrelid = to_regclass(${`t${table}.records`}) and starts_with(c.relname, 'idx_text')`)
    expect(samples.length).toBeGreaterThan(1)
    expect(new Set(samples.map((index) => index.samples))).toEqual(new Set([1_000]))
    expect(new Set(samples.flatMap((index) => index.options))).toEqual(new Set(['gin_pending_list_limit=1024']))
  })

  test('hold the longest texts that a record may have', async () => {
    const table = await largeTable(21_000)
    await newView(table, { filters: [filter('email', '=', 'x'), filter('stage', '=', 'Open')], order_by: 'company' })
    await newView(table, { filters: [filter('stage', '=', 'Open')], order_by: 'company' })
    await newView(table, { filters: [filter('email', '=', 'x'), filter('company', '=', 'x')] })
    await newView(table, { order: keys('stage', 'company D', 'email') })
    await newView(table, { filters: [filter('email', '=', 'x')], order: keys('stage', 'company', 'amount') })
    await adapt(context(), { table_id: table })
    // Each letter has three bytes, in an order that does not compress.
    const long = (length: number) =>
      Array.from({ length }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7_919 + i * i * 104_729) % 20_000))).join('')
    const data = { company: long(500), email: long(500), stage: 'Open', notes: long(100_000) }
    const { status, body } = await app.as(account.member).post(`/api/table/${table}/records/create`, { data })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.data).toMatchObject(data)
  })

  test('of a view are dropped with it, and those that contain a field with the field', async () => {
    const table = await largeTable(21_000)
    const view = await newView(table, { order_by: 'amount' })
    const calendar = await newView(table, { type: 'calendar', config: { startField: 'due' } })
    await adapt(context(), { table_id: table })
    expect((await real(table)).map(({ name }) => name.replace(/_[0-9a-f]{8}$/, ''))).toEqual([
      'idx_layout_due',
      'idx_sort_amount',
      'idx_sort_company',
      'idx_text_company',
      'idx_text_email',
      'idx_text_notes',
    ])
    for (const id of [view, calendar]) await app.as(account.admin).post(`/api/table/${table}/view/${id}/delete`)
    await app.as(account.admin).post(`/api/table/${table}/field/email/delete`)
    await adapt(context(), { table_id: table })
    expect((await real(table)).map(({ name }) => name.replace(/_[0-9a-f]{8}$/, ''))).toEqual([
      'idx_sort_company',
      'idx_text_company',
      'idx_text_notes',
    ])
  })

  test('stay within a budget, in a stable order; those beyond it are named', async () => {
    const more = Array.from({ length: 9 }, (_, n) => ({ name: `Text ${n}`, type: 'text' }))
    const table = await largeTable(21_000, more)
    for (const order_by of ['amount', 'due', 'email', 'stage', 'created_at', 'updated_at']) await newView(table, { order_by })
    await newView(table, { type: 'calendar', config: { startField: 'due' } })
    await adapt(context(), { table_id: table })
    const all = await listed(table)
    const of = (state: string, kind: string) =>
      all.filter((index) => index.state === state && index.name.startsWith(kind)).map(({ fields }) => fields[0])
    expect(of('ready', 'idx_layout')).toEqual(['due'])
    expect(of('ready', 'idx_sort')).toEqual(['amount', 'email', 'stage', 'created_at', 'updated_at'])
    expect(of('over_budget', 'idx_sort')).toEqual(['company'])
    expect(of('ready', 'idx_text')).toHaveLength(8)
    expect(of('over_budget', 'idx_text')).toEqual(['text_6', 'text_7', 'text_8', 'notes'])
    expect(await real(table)).toHaveLength(14)
  })
})

describe('a build', () => {
  test('that was killed leaves nothing behind, is reported, and succeeds the next time', async () => {
    const table = await largeTable(30_000)
    // An old transaction blocks every build that waits for transactions which may not know the index yet.
    const old = await app.db.connect()
    await old.query(`begin; insert into t${table}.records (created_at, updated_at) values (now(), now())`)
    const job = adapt(context(), { table_id: table })
    const failure = expect(job).rejects.toThrow('Not built: idx_sort_company_')
    await expect.poll(() => builders(table)).toHaveLength(1)
    const building = (await listed(table)).filter(({ state }) => state === 'building')
    expect(building.length).toBeGreaterThan(0)
    await onEveryServer(sql`select pg_terminate_backend(pid::int) from (${selectBuilders(table)}) builders`)
    await old.query('rollback')
    await old.end()
    await failure
    expect((await real(table)).filter(({ valid }) => !valid)).toEqual([])
    expect((await listed(table)).filter(({ state }) => state === 'failed').map(({ fields }) => fields)).toEqual([['company', 'id']])

    await adapt(context(), { table_id: table })
    expect((await listed(table)).every(({ state }) => state === 'ready')).toBe(true)
    expect(await app.db.read(sql`select * from index_failures where table_id = ${table}`)).toEqual([])
  })

  test('repairs an index that an earlier build left unfinished', async () => {
    const table = await largeTable(21_000)
    await newView(table, { order_by: 'amount' })
    await adapt(context(), { table_id: table })
    const name = (await real(table)).find((index) => index.name.startsWith('idx_sort_amount'))?.name
    await app.db.write(sql`update pg_index set indisvalid = false where indexrelid = to_regclass(${`t${table}.${name}`})`)
    expect((await listed(table)).find((index) => index.name === name)?.state).toBe('building')
    await adapt(context(), { table_id: table })
    expect((await real(table)).every(({ valid }) => valid)).toBe(true)
    expect((await listed(table)).find((index) => index.name === name)?.state).toBe('ready')
  })

  test('is alone on its table: another job tries again later', async () => {
    const table = await largeTable(21_000)
    await withBuildLock(app.db, table, async () => {
      await adapt(context(), { table_id: table })
      expect(await real(table)).toEqual([])
      expect(await jobsOf(table)).toBe(1)
    })
    await Promise.all([adapt(context(), { table_id: table }), adapt(context(), { table_id: table })])
    await adapt(context(), { table_id: table })
    expect((await listed(table)).map(({ state }) => state)).toEqual(Array(5).fill('ready'))
  })

  test('gives way to a change of the table, and starts again', async () => {
    const table = await largeTable(21_000)
    const old = await app.db.connect()
    await old.query('begin isolation level repeatable read')
    await old.query('select count(*) from tables')
    const job = adapt(context(), { table_id: table })
    await expect.poll(() => builders(table)).toHaveLength(1)
    const added = await app.as(account.admin).post(`/api/table/${table}/fields/create`, { name: 'Added', type: 'text' })
    expect(added.status, JSON.stringify(added.body)).toBe(200)
    await job
    await old.query('rollback')
    await old.end()
    expect(await jobsOf(table)).toBeGreaterThan(0)
    await adapt(context(), { table_id: table })
    expect((await listed(table)).map(({ state }) => state)).toEqual(Array(6).fill('ready'))
    expect((await real(table)).map(({ name }) => name).join()).toContain('idx_text_added')
  })

  test.each(['saved', 'deleted'] as const)('gives way to a calendar view that is %s on a table of a few thousand records', async (how) => {
    const table = await largeTable(6_000)
    const calendar = { type: 'calendar', config: { startField: 'due' } }
    const saved = how === 'deleted' ? await newView(table, calendar) : undefined
    const old = await app.db.connect()
    await old.query('begin isolation level repeatable read')
    await old.query('select count(*) from tables')
    const job = adapt(context(), { table_id: table })
    const as = app.as(account.admin)
    try {
      await expect.poll(() => builders(table)).toHaveLength(1)
      const change = saved
        ? await as.post(`/api/table/${table}/view/${saved}/delete`)
        : await as.post(`/api/table/${table}/views/create`, { name: 'Calendar', ...calendar })
      expect(change.status, JSON.stringify(change.body)).toBe(200)
    } finally {
      // The build waits for the old transaction if nothing has stopped it.
      await old.end()
      await job
    }
    const names = (await real(table)).map(({ name }) => name)
    expect(names.includes('idx_layout_due')).toBe(!saved)
  })

  test('leaves nothing that a calendar view takes for its index', async () => {
    const table = await largeTable(6_000)
    const calendar = { type: 'calendar', config: { startField: 'due' } }
    await newView(table, calendar)
    await adapt(context(), { table_id: table })
    await run(`drop index t${table}.idx_layout_due`)
    const old = await app.db.connect()
    await old.query('begin isolation level repeatable read')
    await old.query('select count(*) from tables')
    const job = adapt(context(), { table_id: table })
    try {
      await expect.poll(() => builders(table)).toHaveLength(1)
      expect(await real(table)).toContainEqual(expect.objectContaining({ name: 'idx_layout_due', valid: false }))
      const saved = await app.as(account.admin).post(`/api/table/${table}/views/create`, { name: 'Another', ...calendar })
      expect(saved.status, JSON.stringify(saved.body)).toBe(200)
      expect(await real(table)).toContainEqual(expect.objectContaining({ name: 'idx_layout_due', valid: true }))
    } finally {
      await old.end()
      await job
    }
  })

  test('ends without an error when its table is deleted', async () => {
    const table = await largeTable(21_000)
    const old = await app.db.connect()
    await old.query('begin isolation level repeatable read')
    await old.query('select count(*) from tables')
    const job = adapt(context(), { table_id: table })
    await expect.poll(() => builders(table)).toHaveLength(1)
    await onEveryServer(sql`select pg_cancel_backend(pid::int) from (${selectBuilders(table)}) builders`)
    await old.query('rollback')
    await old.end()
    await run(`drop schema t${table} cascade`)
    await job
    await adapt(context(), { table_id: table })

    const deleted = await largeTable(21_000)
    expect((await app.as(account.admin).post(`/api/table/${deleted}/delete`)).status).toBe(200)
    await adapt(context(), { table_id: deleted })
    expect(await real(deleted)).toEqual([])
  })
})

/** Selects the connections that are building an index of the table. */
const selectBuilders = (table: number) => sql`
  select p.pid from pg_stat_progress_create_index p join pg_class c on c.oid = p.relid
  where c.relnamespace = to_regnamespace(${`t${table}`}) and p.phase like '%waiting%'`
const builders = (table: number) => onEveryServer(selectBuilders(table))

describe('the job', () => {
  test('follows every change of a large table, but not of a small one', async () => {
    const [large, small] = [await largeTable(21_000), await largeTable(100)]
    for (const table of [large, small]) {
      const view = await newView(table, { order_by: 'due' })
      await app.as(account.admin).post(`/api/table/${table}/view/${view}/delete`)
      await app.as(account.admin).post(`/api/table/${table}/fields/create`, { name: 'More', type: 'text' })
      await app.as(account.admin).post(`/api/table/${table}/field/more/delete`)
      await enqueueIndexing(context(), table)
    }
    expect(await jobsOf(large)).toBe(5)
    expect(await jobsOf(small)).toBe(0)
  })

  test('follows changes of a table of 5,001 records also if these have nothing in them', async () => {
    const table = await largeTable(0)
    await run(`insert into t${table}.records (created_at, updated_at) select now(), now() from generate_series(1, 5001)`)
    await newView(table, { order_by: 'due' })
    expect(await jobsOf(table)).toBe(1)
  })

  test('starts as soon as a batch makes the table large enough, and at times after that', async () => {
    const table = await largeTable(0)
    await run(`insert into t${table}.records (created_at, updated_at) select now(), now() from generate_series(1, 4998)`)
    const batch = async (size: number) => {
      const records = Array(size).fill({ data: { company: 'Beryl' } })
      expect((await app.as(account.admin).post(`/api/table/${table}/records/create_batch`, { records })).status).toBe(200)
      return jobsOf(table)
    }
    expect([await batch(2), await batch(1), await batch(100)]).toEqual([0, 1, 1])
    await run(`insert into t${table}.records (created_at, updated_at) select now(), now() from generate_series(5102, 9999)`)
    expect([await batch(1), await batch(1), await batch(100)]).toEqual([1, 2, 2])
    await run(`alter table t${table}.records alter column id restart with 99999`)
    expect([await batch(1), await batch(1)]).toEqual([2, 3])
    await adapt(context(), { table_id: table })
    expect((await listed(table)).length).toBeGreaterThan(1)
  })

  test('is started by the clock for tables that have grown', async () => {
    const [large, small] = [await largeTable(21_000), await largeTable(100)]
    const before = (await jobsOf(large)) ?? 0
    await adaptAll(context())
    expect(await jobsOf(large)).toBe(before + 1)
    expect(await jobsOf(small)).toBe(0)
  })
})

describe('a query outside of views', () => {
  test('that was slow without an index finds one the next time', async () => {
    const table = await largeTable(80_000)
    const body = { filters: [filter('stage', '=', 'Won')], order_by: 'amount', order_dir: 'D' }
    const uses = () =>
      app.db.read<{ shape: string; hits: number }>(sql`select shape, hits from index_uses where table_id = ${table} order by length(shape)`)
    await slowly(table, { order_by: 'email', limit: 1, offset: 3 })
    await slowly(table, body)
    await slowly(table, body)
    expect(await uses()).toEqual([
      { shape: '{"equal":[],"sort":"email"}', hits: 1 },
      { shape: '{"equal":["stage"],"sort":"amount"}', hits: 1 },
    ])
    await adapt(context(), { table_id: table })
    const wanted = (await listed(table)).filter(({ reason }) => reason === 'queries outside of views')
    // Both may have been noted in the same second.
    expect(new Set(wanted.map(({ fields, state }) => `${fields} ${state}`))).toEqual(new Set(['email,id ready', 'stage,amount,id ready']))
    expect(await explained(table, body)).toContain(wanted.find(({ fields }) => fields[0] === 'stage')?.name)

    // An index that no query has needed for a month is dropped.
    await app.db.write(sql`update index_uses set last_at = last_at - interval '31 days' where table_id = ${table}`)
    await adaptAll(context())
    await adapt(context(), { table_id: table })
    expect((await listed(table)).filter(({ reason }) => reason === 'queries outside of views')).toEqual([])
  })

  test('with several keys finds an index that has all of them', async () => {
    const table = await largeTable(80_000)
    const body = { order: keys('stage D', 'amount', 'company') }
    await slowly(table, body)
    await slowly(table, reversed(body))
    expect(await app.db.read(sql`select shape, hits from index_uses where table_id = ${table}`)).toEqual([
      {
        shape: '{"equal":[],"sort":"stage","further":[{"field":"amount","isReversed":true},{"field":"company","isReversed":true}]}',
        hits: 1,
      },
    ])
    await adapt(context(), { table_id: table })
    const wanted = (await listed(table)).filter(({ reason }) => reason === 'queries outside of views')
    // At most nine records share an amount, so a further key is useless.
    expect(wanted.map(({ fields, state }) => `${fields} ${state}`)).toEqual(['stage,amount,id ready'])
    for (const each of [body, reversed(body)]) expect(await namedBy(table, each)).toEqual([wanted[0]?.name])
  })

  test('is not noted if a table already has a hundred', async () => {
    const table = await largeTable(80_000)
    await run(`insert into index_uses (table_id, shape, hits, first_at, last_at)
      select ${table}, '{"equal":[],"sort":"field_' || i || '"}', 1, now(), now() from generate_series(1, 99) i`)
    const noted = () => app.db.read(sql`select shape from index_uses where table_id = ${table} and shape not like '%field%'`)
    await slowly(table, { order_by: 'due' })
    expect(await noted()).toEqual([{ shape: '{"equal":[],"sort":"due"}' }])
    await slowly(table, { order_by: 'amount' })
    expect(await noted()).toEqual([{ shape: '{"equal":[],"sort":"due"}' }])
    await adapt(context(), { table_id: table })
    expect((await listed(table)).filter(({ reason }) => reason === 'queries outside of views').map(({ fields }) => `${fields}`)).toEqual([
      'due,id',
    ])
  })

  test('that only waited, or that no index can help, is not noted', async () => {
    const table = await largeTable(21_000)
    for (const body of [{}, { order_by: 'notes' }, { filters: [filter('stage', '!=', 'Won')] }, { order_by: 'id' }])
      await slowly(table, body)
    await adapt(context(), { table_id: table })
    await slowly(table, { order_by: 'company' })
    expect(await app.db.read(sql`select shape from index_uses where table_id = ${table}`)).toEqual([])
  })
})

/** Sends a query that has to wait for a lock. */
async function slowly(table: number, body: object): Promise<void> {
  const other = await app.db.connect()
  await other.query(`begin; lock table t${table}.records`)
  const answered = app.as(account.admin).post(`/api/table/${table}/records/query`, { limit: 100, ...body })
  const isWaiting = sql`
    select from pg_locks l join pg_stat_activity a using (pid)
    where l.relation = to_regclass(${`t${table}.records`}) and not l.granted and clock_timestamp() - a.query_start > interval '200 ms'`
  await expect.poll(() => onEveryServer(isWaiting)).toHaveLength(1)
  await other.query('rollback')
  await other.end()
  expect((await answered).status).toBe(200)
}

test('a table of 50,000 records is vacuumed often, unless an operator has decided otherwise', async () => {
  const settings = async (table: number) => {
    const [row] = await app.db.read<{ set: string[] }>(
      sql`select coalesce(reloptions, '{}') as set from pg_class where oid = to_regclass(${`t${table}.records`})`,
    )
    return row?.set
  }
  const tableOf = async (records: number) => {
    const { id } = await makeTable(app, account, { fields: [{ name: 'Amount', type: 'number' }] })
    await run(`insert into t${id}.records (created_at, updated_at, amount) select now(), now(), i from generate_series(1, ${records}) i`)
    await run(`analyze t${id}.records`)
    return id
  }
  const [large, small, decided] = [await tableOf(50_000), await tableOf(49_000), await tableOf(50_000)]
  const decision = 'autovacuum_vacuum_scale_factor=0.1'
  await run(`alter table t${decided}.records set (${decision})`)
  for (const table_id of [large, large, small, decided]) await adapt(context(), { table_id })
  const often = ['autovacuum_vacuum_scale_factor=0.02', 'autovacuum_vacuum_insert_scale_factor=0.02']
  expect([await settings(large), await settings(small), await settings(decided)]).toEqual([often, [], [decision]])
})

test('only an admin of the space sees the indexes', async () => {
  const table = await largeTable(0)
  const path = `/api/table/${table}/indexes`
  expect((await app.as(account.member).get(path)).status).toBe(403)
  expect((await app.as(account.outsider).get(path)).status).toBe(404)
  expect((await app.as(account.keys.accountOutsider).get(path)).status).toBe(404)
  expect((await app.as(account.keys.account).get(path)).status).toBe(200)
  expect((await app.as(account.keys.accountOtherSpace).get(path)).status).toBe(403)
  const { rows } = await app.as(account.admin).rpc.indexes.list.query({ table_id: table })
  expect(rows).toEqual([{ name: 'records_pkey', fields: ['id'], reason: 'the primary key', state: 'ready', size: expect.any(Number) }])
})

test('a node that does not answer keeps no other table from its indexes', async () => {
  const id = await largeTable(0)
  await run(`create index on t${id}.records (updated_at)`)
  const sent: number[] = []
  const jobs = { send: async (_: unknown, { table_id }: { table_id: number }) => void sent.push(table_id) }
  const other = await largeTable(0)
  const node = (query: () => Promise<unknown>, isAway = false) => ({ name: 'node', isAway, database: { read: query } })
  const nodes = [
    node(() => Promise.reject(new Error('timeout exceeded when trying to connect'))),
    node(async () => [{ id: other }]),
    node(() => Promise.reject(new Error('a node that is known to be away is not asked')), true),
  ]
  await adaptAll({ ...context(), jobs: jobs as never, nodes: { all: nodes } as never })
  expect(sent).toEqual(expect.arrayContaining([id, other]))
})
