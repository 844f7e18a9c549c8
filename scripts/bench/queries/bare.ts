/** The bare server of the suite "queries". */
import { openBare } from '../bare.ts'
import { CITY, LARGE, STAGES } from './data.ts'

const { setting, pool, app, listen } = openBare<Record<'tableId' | 'companiesId' | 'ownerId' | 'middle' | 'late', number>>()
const { tableId, companiesId, ownerId, middle, late } = setting
const [deals, companies] = [`"t${tableId}".records`, `"t${companiesId}".records`]

interface Row extends Record<string, unknown> {
  stage: number
}

const present = <Shown extends Row>({ stage, ...row }: Shown) => ({ ...row, stage: STAGES[stage - 1] })

/** Runs a statement, which is prepared. */
const read = async <Shown extends Row>(text: string, values: unknown[] = []) =>
  (await pool.query<Shown>({ name: text.slice(0, 60), text, values })).rows

const person = (alias: string, column: string) =>
  `json_build_object('id', ${alias}.id, 'email', ${alias}.email, 'name', ${alias}.name) as ${column}`

/** Reads rows with their users. @param page selects rows `r` of the table @param order the order again */
const withLinked = (page: string, order: string) => `
  select r.id, r.name, r.stage, r.active, r.amount, r.notes,
    r.created_at, ${person('c', 'created_by')}, r.updated_at, ${person('u', 'updated_by')}
  from (${page}) r left join users c on c.id = r.created_by left join users u on u.id = r.updated_by
  order by ${order}`

/** Answers with a page of records. */
function servePage(path: string, page: string, order: string, values: unknown[] = []): void {
  const text = `/* ${path} */ ${withLinked(page, order)}`
  app.post(path, async () => (await read(text, values)).map(present))
}

const MEASURES = 'count(*) as count, sum(r.amount) as sum, max(r.amount) as max'
const resultOf = ({ count, sum, max }: Row) => [count, sum, max]

app.post('/sums-of-a-filter-with-an-index', async () => {
  const rows = await read(`/* filtered */ select ${MEASURES} from ${deals} r where r.amount > $1`, [LARGE])
  return rows.map((row) => ({ group: [], values: resultOf(row) }))
})

app.post('/sums-of-all-by-a-select', async () => {
  const rows = await read(`/* summed */ select r.stage, ${MEASURES} from ${deals} r group by r.stage order by r.stage`)
  return rows.map((row) => ({ group: [STAGES[row.stage - 1]], values: resultOf(row) }))
})

const COLUMN = `/* column */ select r.id, r.name, r.stage, r.amount from ${deals} r where r.stage = $1
  order by r.amount desc nulls last, r.id desc limit 20`
app.post('/board-of-5-columns-of-20', async () => {
  const counts = await read<Row & { count: number }>(`/* counts */ select r.stage, count(*) as count from ${deals} r group by r.stage`)
  const columns = STAGES.map(async (value, index) => ({
    value,
    count: counts.find(({ stage }) => stage === index + 1)?.count ?? 0,
    rows: (await read(COLUMN, [index + 1])).map(present),
  }))
  return Promise.all(columns)
})

const AMOUNT_OF = `(select amount from ${deals} where id = $1)`
const nearest = (beyond: string, dir: string) =>
  `(select r.id from ${deals} r where (r.amount, r.id) ${beyond} (${AMOUNT_OF}, $1) order by r.amount ${dir}, r.id ${dir.slice(0, 4)} limit 1)`
const neighbours = `true as matches, ${nearest('<', 'desc nulls last')} as previous, ${nearest('>', 'asc nulls first')} as next`
const total = `(select count(*) from ${deals}) as total`
app.post('/neighbours-by-amount', async () => (await read(`/* neighbours */ select ${neighbours}`, [middle]))[0])

const byAmount = `(select count(*) from ${deals} r where (r.amount, r.id) < (${AMOUNT_OF}, $1)) as position`
app.post('/position-by-amount', async () => (await read(`/* by amount */ select ${neighbours}, ${byAmount}, ${total}`, [middle]))[0])

const NAME_OF = `(select lower(name) from ${deals} where id = $1)`
const nearestName = (beyond: string, dir: string) =>
  `(select r.id from ${deals} r where (lower(r.name), r.id) ${beyond} (${NAME_OF}, $1)
    order by lower(r.name) ${dir}, r.id ${dir.slice(0, 4)} limit 1)`
const byName = `/* by name */ select true as matches, ${nearestName('<', 'desc nulls last')} as previous,
  ${nearestName('>', 'asc nulls first')} as next,
  (select count(*) from ${deals} r where (lower(r.name), r.id) < (${NAME_OF}, $1)) as position, ${total}`
app.post('/position-by-name', async () => (await read(byName, [middle]))[0])

const IN_CITY = `select * from ${deals} r where r.company in (select c.id from ${companies} c where c.city = $1) order by r.id limit 100`
servePage('/linked-filter', IN_CITY, 'r.id', [CITY])
const BY_COMPANY = `select r.*, lower(c.name) as key from ${deals} r left join ${companies} c on c.id = r.company
  order by lower(c.name) nulls first, r.id limit 100`
servePage('/linked-order', BY_COMPANY, 'r.key nulls first, r.id')

app.post('/page-with-badges', async () => {
  const rows = await read(`/* page */ ${withLinked(`select * from ${deals} r order by r.id limit 100`, 'r.id')}`)
  const badges = await read<Row & { id: number }>(
    `/* badges */ select o.id, k.open_tasks, k.overdue_tasks, c.comments, u.unread from unnest($1::int[]) o (id),
      lateral (select count(*) as open_tasks, count(*) filter (where k.due_date < current_date) as overdue_tasks from tasks k
        where k.table_id = $2 and k.record_id = o.id and k.status = 'open') k,
      lateral (select count(*) as comments from record_comments c where c.table_id = $2 and c.record_id = o.id) c,
      lateral (select count(*) as unread from notifications n
        where n.user_id = $3 and n.table_id = $2 and n.record_id = o.id and n.read_at is null) u`,
    [rows.map(({ id }) => id), tableId, ownerId],
  )
  const byId = new Map(badges.map(({ id, ...own }) => [id, own]))
  return rows.map((row) => ({ ...present(row), _badges: byId.get(row.id as number) }))
})

const THREE_KEYS = 'r.stage nulls first, coalesce(r.active, false) nulls first, r.amount desc nulls last, r.id desc'
const RANGES = {
  a: 'r.stage = $1 and coalesce(r.active, false) = $2 and (r.amount, r.id) < ($3, $4)',
  b: 'r.stage = $1 and coalesce(r.active, false) > $2',
  c: 'r.stage > $1',
}
/** Each range is read only as far as those before it do not fill the page. */
const parts = Object.entries(RANGES).map(([name, range], index) => {
  const rows = `select * from ${deals} r where ${range} order by ${THREE_KEYS} limit 100`
  const left = `100 - (select count(*) from a)${index > 1 ? ' - (select count(*) from b)' : ''}`
  return `${name} as materialized (${index ? `select * from (${rows}) r limit ${left}` : rows})`
})
const WALK = `with ${parts.join(', ')} select * from a union all select * from b union all select * from c`
/** Answers with the page after that many records. */
async function serveWalk(path: string, before: number): Promise<void> {
  const last = `/* last ${before} */ select * from ${deals} r order by ${THREE_KEYS} limit 1 offset ${before - 1}`
  const [{ stage, active, amount, id } = {} as Row] = await read<Row>(last)
  servePage(path, WALK, THREE_KEYS, [stage, active, amount, id])
}
await serveWalk('/three-keys,-page-2-by-cursor', 100)
await serveWalk('/three-keys,-page-1,000-by-cursor', late)

await listen()
