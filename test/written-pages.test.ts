/** Holds pages of records and exports, which are written from what PostgreSQL prints, against objects made of the same rows. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FieldDef, TableDef } from '../src/fields/definition.ts'
import { FIELD_TYPES, type FieldType, TYPES } from '../src/fields/registry.ts'
import { ident, join, raw, recordsOf, sql } from '../src/platform/database/database.ts'
import { csvLine, joinList, shielded } from '../src/platform/writers/csv-format.ts'
import type { Row } from '../src/records/cells/present.ts'
import { selectList } from '../src/records/query/print.ts'
import { tableDefinitions } from '../src/tables/definition-cache.ts'
import { testApp } from './support/app.ts'
import { everyType, makeRecords, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)

async function definitionOf(tableId: number): Promise<TableDef> {
  return (await tableDefinitions(app.db, [tableId])).get(tableId) as TableDef
}

/** The body of a page over REST, as text. */
async function written(tableId: number, body: object): Promise<string> {
  const response = await fetch(`${app.url}/api/table/${tableId}/records/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${account.keys.account}` },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  expect(response.status, text).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  return text
}

/** The same page, by way of objects. */
async function presented(tableId: number, fields: readonly FieldDef[], order = 'r.id'): Promise<Row[]> {
  const rows = await app.db.read<Row>(sql`select ${selectList(fields)} from ${recordsOf(tableId)} r order by ${raw(order)} limit 1000`)
  for (const field of fields) {
    const shown = SHOWN[field.type]
    const named = shown && (await namedBy(field))
    if (named) for (const row of rows) row[field.id] = shown(row[field.id], named)
    else if (field.type === 'number' && !field.key) await readExactly(tableId, field, rows, order)
  }
  return rows
}

/** Replaces the numbers that a float has rounded. */
async function readExactly(tableId: number, { id }: FieldDef, rows: Row[], order: string): Promise<void> {
  const digits = await app.db.read<{ text: string | null }>(
    sql`select trim_scale(${ident(id)})::text as text from ${recordsOf(tableId)} r order by ${raw(order)} limit 1000`,
  )
  for (const [index, { text }] of digits.entries())
    if (text && text.replaceAll(/[-.]/g, '').length > 15) (rows[index] as Row)[id] = JSON.rawJSON(text)
}

/** The options, users or records that cells of the field may name, by id. */
async function namedBy({ options, lookup, lookup_table_id }: FieldDef): Promise<Map<unknown, unknown>> {
  if (options) return new Map(options.map((option) => [option.id, option.title]))
  const title = lookup?.title_field ? ident(lookup.title_field) : sql`null`
  const named = lookup
    ? sql`select id, ${title} as title from ${recordsOf(lookup_table_id ?? 0)}`
    : sql`select id, email, name from users where account_id = ${account.id}`
  return new Map((await app.db.read<{ id: number }>(named)).map((one) => [one.id, one]))
}

type Shown = (stored: unknown, named: Map<unknown, unknown>) => unknown
const one: Shown = (id, named) => named.get(id) ?? null
const several: Shown = (ids, named) => ((ids ?? []) as number[]).flatMap((id) => named.get(id) ?? [])
/** How answers show what a column stores. Values of other types are shown as they are stored. */
const SHOWN: Partial<Record<FieldType, Shown>> = {
  checkbox: (stored) => stored === true,
  file: (files) => files ?? [],
  ...{ select: one, user: one, lookup: one },
  ...{ multi_select: several, multi_user: several, multi_lookup: several },
}

// ── values ──────────────────────────────────────────────────────────────────

const SPECIAL = ['"', '\\', '\\"', '\b\f\n\r\t', '\u0001\u001f\u007f', '\u2028\u2029', '</script>', '🙂', '\ufeff', '{7,12}', 'NULL', '']
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((any) => any.replaceAll('\0', '').toWellFormed()),
  fc.constantFrom(...SPECIAL),
)
const digits = (max: number) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max }).map((all) => all.join(''))
const number = fc.oneof(
  fc.tuple(fc.constantFrom('', '-'), digits(15), digits(8)).map(([sign, whole, fraction]) => `${sign}${whole}.${fraction}`),
  fc.constantFrom('-0', '0', '1.50', '0.00000001', '-0.0000001', '999999999999999.99999999', '-1000000000000000', 'NaN'),
)
const two = (least: number, most: number) => fc.integer({ min: least, max: most }).map((one) => String(one).padStart(2, '0'))
const date = fc
  .tuple(fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.constantFrom(1, 999, 1_000, 9_999, 10_000)), two(1, 12), two(1, 28))
  .map(([year, month, day]) => `${String(year).padStart(4, '0')}-${month}-${day}`)
const time = fc.tuple(two(0, 23), two(0, 59), two(0, 59)).map((parts) => parts.join(':'))
const listed = (one: fc.Arbitrary<number>) => fc.array(one, { maxLength: 4 }).map((ids) => `{${ids.join()}}`)
const file = fc.record({ name: text, path: text, size: fc.nat(), type: text, host: text })

/** Values of each type as its column stores them, some of which refer to something deleted. */
async function arbitraries(users: number[], records: number[]): Promise<Record<FieldType, fc.Arbitrary<string>>> {
  const [option, user, record] = [fc.constantFrom(1, 2, 3, 99), fc.constantFrom(...users), fc.constantFrom(...records)]
  return {
    text,
    long_text: text,
    email: text,
    url: text,
    phone: text,
    number,
    checkbox: fc.constantFrom('true', 'false'),
    date,
    datetime: fc.tuple(date, time).map(([day, clock]) => `${day} ${clock}`),
    time,
    select: option.map(String),
    multi_select: listed(option),
    user: user.map(String),
    multi_user: listed(user),
    lookup: record.map(String),
    multi_lookup: listed(record),
    file: fc.array(file, { maxLength: 2 }).map((files) => JSON.stringify(files)),
  }
}

const ROWS = 400

/** A table with a field of every type, and rows of any values that its columns can hold. */
async function filled() {
  const { id, other } = await everyType(app, account)
  const titles = SPECIAL.filter((title) => title !== '').map((name) => ({ name: `${name}.` }))
  const targets = await makeRecords(app, account, other, [...titles, { name: null }, { name: 'deleted' }])
  await owner.post(`/api/table/${other}/record/${targets.at(-1)}/delete`)
  await owner.post(`/api/table/${id}/field/select/update`, { options: ['Open', 'Done', 'a "quoted" \\ title\u2028'] })
  await owner.post(`/api/table/${id}/field/multi_select/update`, { options: ['Open', 'Done', '\u0001 control'] })
  const users = [account.owner.id, account.member.id, account.viewer.id, account.outsider.id, 2_000_000_000]
  const values = fc.record(await arbitraries(users, targets), { requiredKeys: [] })
  const rows = fc.sample(values, { numRuns: ROWS, seed: 14 })
  const columns = FIELD_TYPES.map((type) => sql`${rows.map((row) => row[type] ?? null)}::text[]`)
  const list = (each: (type: FieldType, index: number) => string) => raw(FIELD_TYPES.map(each).join())
  const definition = await definitionOf(id)
  const [first, ...others] = columns
  const unnested = others.reduce((before, column) => sql`${before}, ${column}`, first ?? sql``)
  await app.db.write(sql`
    insert into ${recordsOf(id)} (created_at, updated_at, created_by, ${list((type) => `"${type}"`)})
    select '0999-12-31 23:59:59', '10000-01-01 00:00:00', ${account.owner.id}::int, ${list((type, index) => `v.c${index}::${TYPES[type].column}`)}
    from unnest(${unnested}) as v (${list((_, index) => `c${index}`)})`)
  return { id, definition }
}

const { id, definition } = await filled()

// ── tests ───────────────────────────────────────────────────────────────────

describe('a page of records', () => {
  const isFile = ({ type }: FieldDef) => type === 'file'

  test('equals the page made of objects to the byte, for every type and any value', async () => {
    const fields = definition.fields.filter((field) => !isFile(field))
    const page = await written(id, { limit: 1_000, fields: fields.map((field) => field.id) })
    const rows = await presented(id, fields)
    expect(rows).toHaveLength(ROWS)
    expect(page).toBe(JSON.stringify(rows))
  })

  test('equals it by value with files, which PostgreSQL prints with blanks', async () => {
    const rows = JSON.stringify(await presented(id, definition.fields))
    expect(JSON.parse(await written(id, { limit: 1_000 }))).toEqual(JSON.parse(rows))
  })

  test('shows the same as a single record that is written, and one that is made of objects', async () => {
    const authorization = `Bearer ${account.keys.account}`
    const path = `${app.url}/api/table/${id}/record`
    for (let recordId = 1; recordId <= 60; recordId++) {
      const written = await (await fetch(`${path}/${recordId}/get`, { headers: { authorization } })).text()
      // An update without values answers the present record, as objects.
      const headers = { authorization, 'content-type': 'application/json' }
      const updated = await fetch(`${path}/${recordId}/update`, { method: 'POST', headers, body: '{"data":{}}' })
      expect(updated.headers.get('etag')).toBe('"1"')
      expect(`${written.slice(0, -1)},"change_id":null}`).toBe(await updated.text())
    }
    const [single] = [await owner.rpc.records.get.query({ table_id: id, record_id: 1 })]
    expect(single).toEqual((await owner.get(`/api/table/${id}/record/1/get`)).body)
  })

  test('has the chosen fields in the order of the request, each once', async () => {
    const chosen = ['number', 'id', 'text', 'number', 'updated_by', 'lookup']
    const fields = [...new Set(chosen)].map((name) => definition.fields.find((field) => field.id === name) as FieldDef)
    for (let time = 0; time < 2; time++) {
      expect(await written(id, { limit: 1_000, fields: chosen })).toBe(JSON.stringify(await presented(id, fields)))
      expect(await written(id, { limit: 3, fields: ['id'] })).toBe('[{"id":1},{"id":2},{"id":3}]')
    }
  })

  test('is the same over RPC, with its total and its cursor', async () => {
    const asked = { limit: 50, cursor: '', count: true, order_by: 'number' }
    const answer = await owner.rpc.records.query.query({ table_id: id, offset: 0, ...asked })
    const rest = await owner.post(`/api/table/${id}/records/query`, asked)
    expect(answer).toEqual({ rows: rest.body, total: ROWS, next_cursor: rest.headers.get('x-next-cursor') })
    expect(rest.headers.get('x-total-count')).toBe(String(ROWS))
    const [empty, explained] = await Promise.all([
      owner.rpc.records.query.query({ table_id: id, limit: 10, offset: 1_000 }),
      owner.rpc.records.query.query({ table_id: id, limit: 10, offset: 0, explain: true }),
    ])
    expect(empty).toEqual({ rows: [] })
    expect(explained).toMatchObject({ predicate: 'every record', order: [{ field: 'id', dir: 'A' }] })
  })

  test.each(['number', 'text', 'checkbox', 'select', 'date', 'datetime', 'time', 'user', 'lookup', 'id'])(
    'is followed by the next one in the order of %s, in both directions, until each record was returned once',
    async (field) => {
      for (const order_dir of ['A', 'D']) {
        const seen: number[] = []
        for (let cursor: string | null = ''; cursor !== null; ) {
          const asked = { limit: 90, fields: ['id'], order_by: field, order_dir, cursor }
          const page = await owner.post(`/api/table/${id}/records/query`, asked)
          expect(page.status, JSON.stringify(page.body)).toBe(200)
          seen.push(...page.body.map((row: Row) => row.id))
          cursor = page.headers.get('x-next-cursor')
        }
        expect(seen).toEqual(
          (await owner.post(`/api/table/${id}/records/query`, { limit: 1_000, fields: ['id'], order_by: field, order_dir })).body.map(
            (row: Row) => row.id,
          ),
        )
        expect(new Set(seen).size).toBe(ROWS)
      }
    },
  )
})

describe('an export', () => {
  /** The bytes of an export, as text. A byte order mark in a cell stays. */
  async function exported(query = ''): Promise<string> {
    const response = await fetch(`${app.url}/api/table/${id}/export.csv${query}`, {
      headers: { authorization: `Bearer ${account.keys.account}` },
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(response.status, bytes.toString()).toBe(200)
    expect(response.headers.get('content-length')).toBe(String(bytes.length))
    return bytes.toString()
  }

  /** The lines made of objects. Numbers are read as text, because a float would round them. */
  async function linesOf(fields: readonly FieldDef[], order = 'r.id'): Promise<string[]> {
    const rows = await presented(id, fields, order)
    const numbers = fields.filter(({ type }) => type === 'number').map((field) => sql`${ident(field.id)}::text`)
    const digits = numbers.length ? await app.db.read<Row>(sql`select ${join(numbers)} from ${recordsOf(id)} r order by ${raw(order)}`) : []
    return rows.map((row, index) => csvLine(fields.map((field) => cellText(field, { ...row, ...digits[index] }[field.id]))))
  }

  const isFree = (type: FieldType) => ['number', 'checkbox', 'date', 'datetime', 'time'].includes(type)
  function cellText({ type }: FieldDef, value: unknown): string {
    const texts = [value].flat().flatMap((one) => (one === null ? [] : valueText(one)))
    const text = TYPES[type].isMultiple ? joinList(texts) : (texts[0] ?? '')
    return isFree(type) ? text : shielded(text)
  }
  function valueText(value: unknown): string {
    const { path, email, id: named, title } = Object(value)
    if (named === undefined) return path ?? String(value)
    return email ?? `${title ?? ''} (${named})`
  }

  test('has the lines made of objects to the byte, for every type and any value', async () => {
    const [header, ...lines] = [csvLine(definition.fields.map(({ name }) => name)), ...(await linesOf(definition.fields))]
    expect(lines).toHaveLength(ROWS)
    expect(await exported()).toBe(header + lines.join(''))
  })

  test.each(FIELD_TYPES)('of a column of type %s, which may be all of a line, has the same cells in the order of a view', async (type) => {
    const field = definition.fields.find(({ id: fieldId }) => fieldId === type) as FieldDef
    const columns = [[type], ['updated_by', type, 'id']]
    for (const chosen of columns) {
      const body = { name: `${chosen.join()}`, type: 'grid', config: { columns: chosen }, order_by: 'id', order_dir: 'D' }
      const view = await owner.post(`/api/table/${id}/views/create`, body)
      const fields = chosen.map((one) => definition.fields.find((known) => known.id === one) as FieldDef)
      expect(fields).toContain(field)
      const header = csvLine(fields.map(({ name }) => name))
      expect(await exported(`?view_id=${view.body.id}`)).toBe(header + (await linesOf(fields, 'r.id desc')).join(''))
    }
  })
})

describe('a page shows', async () => {
  const cities = await makeTable(app, account, { records: [{ name: 'Rome' }, { name: 'Oslo' }] })
  const table = await makeTable(app, account, {
    fields: [
      { name: 'City', type: 'lookup', table: cities.id },
      { name: 'Cities', type: 'multi_lookup', table: cities.id },
      { name: 'Owner', type: 'user' },
      { name: 'Stage', type: 'select', options: ['Open', 'Done'] },
    ],
    records: [{ city: cities.records[0], cities: cities.records, owner: account.member.id, stage: 'Open' }],
  })
  const first = async () => (await owner.post(`${table.path}/records/query`, {})).body[0]

  test('records that were created together or updated in the bytes in which they are read', async () => {
    const headers = { authorization: `Bearer ${account.keys.account}`, 'content-type': 'application/json' }
    const sent = async (path: string, body?: object) =>
      (await fetch(app.url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })).text()
    const stored = async (id: number) => sent(`${table.path}/record/${id}/get`)
    const full = { city: cities.records[1], cities: cities.records, owner: account.owner.id, stage: 'Done' }
    const created = await sent(`${table.path}/records/create_batch`, { records: [{ data: full }, { data: {} }, { data: { cities: [] } }] })
    const ids = JSON.parse(created).map(({ id }: Row) => id) as number[]
    expect(ids).toHaveLength(3)
    expect(created).toBe(`[${(await Promise.all(ids.map(stored))).join()}]`)
    for (const data of [{ owner: account.member.id }, { city: null, stage: 'Open' }, { cities: null, owner: null }]) {
      const updated = await sent(`${table.path}/record/${ids[0]}/update`, { data })
      expect(updated.replace(/,"change_id":\d+}$/, '}')).toBe(await stored(ids[0] as number))
    }
    const rpc = await owner.rpc.records.createBatch.mutate({ table_id: table.id, records: [{ data: full }] })
    expect(rpc.rows).toEqual([JSON.parse(await stored(rpc.rows[0]?.id as number))])
  })

  test('the name that a user has at this moment, also while it changes', async () => {
    const rename = (name: string) => app.db.write(sql`update users set name = ${name} where id = ${account.member.id}`)
    let latest = 'before'
    await rename(latest)
    for (let n = 0; n < 20; n++) {
      const next = `Name "${n}"`
      const [[{ name: during }]] = await Promise.all([first().then(({ owner: person }) => [person]), rename(next)])
      expect([latest, next]).toContain(during)
      latest = next
      expect((await first()).owner.name).toBe(latest)
    }
  })

  test('users whom an earlier page named without asking for them again, and others, too', async () => {
    const { read } = app.db
    let asked = 0
    app.db.read = (statement, options) => {
      if (statement.label === 'users-of-cells') asked++
      return read(statement, options)
    }
    const askedFor = async (id: number) => {
      asked = 0
      expect((await first()).owner.id).toBe(id)
      return asked
    }
    try {
      // A statement takes another along once both are used often.
      for (let n = 0; n < 5; n++) await first()
      // A node has no users whom its statement could take along.
      const askedAgain = app.db.isElsewhere(table.id) ? 1 : 0
      expect(await askedFor(account.member.id)).toBe(askedAgain)
      const [{ id } = { id: 0 }] = await app.db.write<{ id: number }>(sql`
        insert into users (account_id, email, name, status, timezone, created_at, updated_at)
        select account_id, 'new@example.com', 'New', 'active', timezone, now(), now() from users where id = ${account.member.id} returning id`)
      await app.db.write(sql`update ${recordsOf(table.id)} set owner = ${id}`)
      expect([await askedFor(id), await askedFor(id)]).toEqual([1, askedAgain])
      await app.db.write(sql`update ${recordsOf(table.id)} set owner = ${account.member.id}`)
      expect(await askedFor(account.member.id)).toBe(askedAgain)
    } finally {
      app.db.read = read
    }
  })

  test('the name of a deleted user, and null for a user whose row is gone', async () => {
    const [{ id } = { id: 0 }] = await app.db.write<{ id: number }>(sql`
      insert into users (account_id, email, name, status, timezone, created_at, updated_at)
      select account_id, 'gone@example.com', 'Gone', 'deleted', timezone, now(), now() from users where id = ${account.member.id} returning id`)
    await app.db.write(sql`update ${recordsOf(table.id)} set owner = ${id}`)
    expect((await first()).owner).toEqual({ id, email: 'gone@example.com', name: 'Gone' })
    await app.db.write(sql`delete from users where id = ${id}`)
    expect((await first()).owner).toBe(null)
  })

  test('the title that a linked record has at this moment, and no deleted record', async () => {
    const [rome, oslo] = cities.records
    for (const name of ['Roma', 'ROMA "eterna"', null, 'Rome']) {
      await owner.post(`${cities.path}/record/${rome}/update`, { data: { name } })
      expect(await first()).toMatchObject({
        city: { id: rome, title: name },
        cities: [
          { id: rome, title: name },
          { id: oslo, title: 'Oslo' },
        ],
      })
    }
    await owner.post(`${cities.path}/record/${rome}/delete`)
    expect(await first()).toMatchObject({ city: null, cities: [{ id: oslo, title: 'Oslo' }] })
  })

  test('the title that an option has at this moment, and no deleted option', async () => {
    for (const title of ['Opened', 'Open "wide"']) {
      const was = (await first()).stage
      await owner.post(`${table.path}/field/stage/update`, { options: [{ was, title }, 'Done'] })
      expect((await first()).stage).toBe(title)
    }
    await owner.post(`${table.path}/field/stage/update`, { options: ['Done'], force: true })
    expect((await first()).stage).toBe(null)
  })
})
