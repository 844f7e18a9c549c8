/** The bare server of the suite "records". It joins users to the page, prepares each statement, and reads the ids of a deep page first. */
import { openBare, optionTitles } from '../bare.ts'
import { AMOUNT, CITY_PART, PREFIX } from './data.ts'

const {
  setting: { tableId, userId, farIn, half },
  pool,
  app,
  listen,
} = openBare<Record<'tableId' | 'userId' | 'farIn' | 'half', number>>()
const records = `"t${tableId}".records`
const titles = await optionTitles(pool, tableId)

interface Row extends Record<string, unknown> {
  id: number
}

const person = (alias: string, column: string) =>
  `case when ${alias}.id is not null then json_build_object('id', ${alias}.id, 'email', ${alias}.email, 'name', ${alias}.name) end as ${column}`

/** Returns a page with its users. @param page selects rows of the table @param order the order again, of the joined rows */
const withUsers = (page: string, order: string) => `
  select r.id, r.name, r.email, r.phone, r.status, r.tags, r.amount, r.due, r.met, r.active, r.city, r.notes, ${person('o', 'owner')},
    r.created_at, ${person('c', 'created_by')}, r.updated_at, ${person('u', 'updated_by')}
  from (${page}) r left join users o on o.id = r.owner left join users c on c.id = r.created_by left join users u on u.id = r.updated_by
  order by ${order}`

function pageOf(name: string, where: string, order: string, tail = 'limit 100'): (values: unknown[]) => Promise<Row[]> {
  const text = withUsers(`select * from ${records} r where ${where} order by ${order} ${tail}`, order)
  return async (values) => {
    const { rows } = await pool.query<Row>({ ...(name && { name }), text, values })
    return rows.map(present)
  }
}

/** Replaces option ids by titles, and empty values by those of the API. */
function present(row: Row): Row {
  const { status, tags } = row as unknown as { status: number | null; tags: number[] | null }
  row.status = status === null ? null : titles.status?.get(status)
  row.tags = (tags ?? []).map((tag) => titles.tags?.get(tag))
  row.active ??= false
  return row
}

const today = () => new Date().toISOString().slice(0, 10)
const OPEN_AND_DUE = 'r.status = $1 and r.due <= $2'
const BY_DUE = 'r.due desc nulls last, r.id desc'
const BY_AMOUNT = 'r.amount desc nulls last, r.id desc'
const BY_STATUS_AND_AMOUNT = 'r.status nulls first, r.amount desc nulls last, r.id desc'
const BY_NAME = 'lower(r.name) nulls first, r.id'

const openAndDue = pageOf('open-and-due', OPEN_AND_DUE, BY_DUE)
app.post('/openAndDue', () => openAndDue([1, today()]))

const largeOrNear = pageOf('large-or-near', 'r.amount > $1 or lower(r.city) like $2', BY_NAME)
app.post('/largeOrNear', () => largeOrNear([AMOUNT, `%${CITY_PART}%`]))

const byAmount = pageOf('by-amount', 'true', BY_AMOUNT)
app.post('/byAmount', () => byAmount([]))

const byStatusAndAmount = pageOf('by-status-and-amount', 'true', BY_STATUS_AND_AMOUNT)
app.post('/byStatusAndAmount', () => byStatusAndAmount([]))

// Searches and prefixes are not prepared, because a generic plan for them walks the wrong index.
const startsWith = pageOf('', 'lower(r.name) like $1', BY_NAME)
app.post('/startsWith', () => startsWith([`${PREFIX}%`]))

const anywhere = (parameter: string) =>
  `(${['name', 'email', 'phone', 'city', 'notes'].map((field) => `lower(r.${field}) like ${parameter}`).join(' or ')})`
const search = pageOf('', anywhere('$1'), 'r.id')
app.post<{ Params: { word: string } }>('/search/:word', ({ params }) => search([`%${params.word}%`]))

const searchOpenAndDue = pageOf('', `${OPEN_AND_DUE} and ${anywhere('$3')}`, BY_DUE)
app.post<{ Params: { word: string } }>('/searchOpenAndDue/:word', ({ params }) => searchOpenAndDue([1, today(), `%${params.word}%`]))

const byOffset = withUsers(
  `select * from ${records} r where r.id in (select r.id from ${records} r order by ${BY_AMOUNT} limit 100 offset ${farIn})`,
  BY_AMOUNT,
)
app.post('/offset', async () => (await pool.query<Row>({ name: 'offset', text: byOffset })).rows.map(present))

const deepById = pageOf('deep-by-id', 'true', 'r.id', `limit 100 offset ${half}`)
app.post('/deepById', () => deepById([]))
const deepByAmount = pageOf('deep-by-amount', 'true', BY_AMOUNT, `limit 100 offset ${half}`)
app.post('/deepByAmount', () => deepByAmount([]))

const byCursor = pageOf('by-cursor', '(r.amount, r.id) < ($1, $2)', BY_AMOUNT)
const { rows: anchors } = await pool.query<Row>(`select r.amount, r.id from ${records} r order by ${BY_AMOUNT} limit 1 offset ${farIn - 1}`)
app.post('/cursor', () => byCursor([anchors[0]?.amount, anchors[0]?.id]))

app.post('/count', async () => {
  const { rows } = await pool.query({
    text: `select (select count(*) from ${records} r where ${OPEN_AND_DUE}) as count, (select count(*) from ${records}) as total`,
    values: [1, today()],
  })
  return { ...rows[0], total_approx: false, restricted: true }
})

const FIELDS = 'name, email, phone, status, tags, amount, due, met, active, city, notes, owner'
app.post<{ Body: { data: Record<string, unknown> } }>('/create', async ({ body: { data } }) => {
  const { rows } = await pool.query<Row>({
    name: 'create',
    text: `with r as (insert into ${records} (${FIELDS}, created_at, created_by, updated_at, updated_by)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now()::timestamp(0), $12, now()::timestamp(0), $12) returning *)
      select r.*, ${person('o', 'owner')} from r left join users o on o.id = r.owner`,
    values: [data.name, data.email, data.phone, 3, [1, 2], data.amount, data.due, data.met, data.active, data.city, data.notes, userId],
  })
  const { id, created_at, updated_at, created_by: _by, updated_by: _at, version, ...rest } = present(rows[0] as Row)
  return { id, title: rest.name, data: rest, created_at, updated_at, version }
})

await listen()
