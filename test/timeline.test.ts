/** The comments and tasks of a record, newest first, by cursor (contract.md §11, Timeline). */
import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.member)

type Type = 'comment' | 'email_out' | 'email_in'

async function newRecord() {
  const table = await makeTable(app, account, { records: [{ name: 'Acme' }, { name: 'Other' }] })
  const [record = 0, other = 0] = table.records
  const ids = { table_id: table.id, record_id: record }
  const lists = (id: number) => ({
    comments: `/api/table/${table.id}/record/${id}/comments/get`,
    tasks: `/api/tasks/onRecord/${table.id}/${id}/list`,
    create: `/api/tasks/onRecord/${table.id}/${id}/create`,
  })
  return { ids, ...lists(record), other: lists(other), table: table.id, record }
}

/** Inserts comments of these types, past the service. @returns their ids */
async function comments({ table, record }: { table: number; record: number }, types: readonly Type[]): Promise<number[]> {
  const rows = await app.db.read<{ id: number }>(sql`
    insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content)
    select ${account.id}, ${account.space}, ${table}, ${record}, t.type, 0, 'Ann', 'Hello'
    from unnest(${types}::text[]) with ordinality as t (type, at) order by t.at returning id`)
  return rows.map(({ id }) => id)
}

const idsIn = (body: { id: number }[]) => body.map(({ id }) => id)

/** Reads a list to its end. @param between what happens after each page */
async function walk(path: string, limit: number, between: () => Promise<void> = async () => {}): Promise<number[][]> {
  const pages: number[][] = []
  for (let cursor: string | null = ''; cursor !== null && pages.length < 50; ) {
    const sign = path.includes('?') ? '&' : '?'
    const { status, body, headers } = await as.get(`${path}${sign}limit=${limit}&cursor=${cursor}`)
    expect(status, JSON.stringify(body)).toBe(200)
    pages.push(idsIn(body))
    cursor = headers.get('x-next-cursor')
    if (cursor !== null) await between()
  }
  return pages
}

const MIXED: Type[] = ['comment', 'email_out', 'email_in', 'comment', 'email_in', 'comment', 'email_out']

describe('the comments of a record', () => {
  test.each<[string, Type[]]>([
    ['comment', ['comment']],
    ['email_out,email_in', ['email_out', 'email_in']],
    ['email_in,email_in', ['email_in']],
    ['comment,email_out,email_in', ['comment', 'email_out', 'email_in']],
  ])('of the types %s are listed and counted, on REST and RPC', async (types, meant) => {
    const place = await newRecord()
    const written = await comments(place, MIXED)
    const expected = written.filter((_, at) => meant.includes(MIXED[at] as Type)).reverse()
    const rest = await as.get(`${place.comments}?types=${types}`)
    expect([idsIn(rest.body), rest.headers.get('x-total-count')]).toEqual([expected, String(expected.length)])
    const rpc = await as.rpc.comments.list.query({ ...place.ids, types: types.split(',') as Type[], limit: 1 })
    expect([idsIn(rpc.rows), rpc.total, typeof rpc.next_cursor]).toEqual([
      expected.slice(0, 1),
      expected.length,
      expected.length > 1 ? 'string' : 'undefined',
    ])
    expect((await walk(`${place.comments}?types=${types}`, 2)).flat()).toEqual(expected)
  })

  test('come exactly once by cursor, whatever is written and deleted between the pages', async () => {
    const place = await newRecord()
    const written = await comments(
      place,
      Array.from({ length: 23 }, () => 'comment' as const),
    )
    const doomed = new Set(written.filter((_, at) => at % 5 === 2))
    const pages = await walk(place.comments, 3, async () => {
      await comments(place, ['comment', 'email_in'])
      const [id] = doomed
      doomed.delete(id as number)
      if (id)
        expect((await app.as(account.admin).post(`/api/table/${place.table}/record/${place.record}/comment/${id}/delete`)).status).toBe(200)
    })
    const seen = pages.flat()
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => b - a))
    const kept = written.filter((_, at) => at % 5 !== 2)
    expect(seen.filter((id) => kept.includes(id))).toEqual(kept.toReversed())
  })

  test('have a cursor on the first page without one, and none with an offset, or at the end', async () => {
    const place = await newRecord()
    const written = (await comments(place, MIXED)).reverse()
    const next = async (query: string) => (await as.get(`${place.comments}?${query}`)).headers.get('x-next-cursor')
    expect([await next('limit=6'), await next('limit=7'), await next('limit=2&offset=0'), await next('cursor=')]).toEqual([
      expect.any(String),
      null,
      null,
      null,
    ])
    const second = await as.get(`${place.comments}?limit=2&cursor=${await next('limit=2')}`)
    expect([idsIn(second.body), second.headers.get('x-total-count')]).toEqual([written.slice(2, 4), '7'])
    const rpc = await as.rpc.comments.list.query({ ...place.ids, cursor: null, offset: null, types: null })
    expect([idsIn(rpc.rows), rpc.next_cursor]).toEqual([written, undefined])
    expect((await as.get(`${place.other.comments}?cursor=`)).body).toEqual([])
  })

  test('are 400 for an offset beside a cursor, for types and cursors that are none, and for a cursor of another list', async () => {
    const place = await newRecord()
    await comments(place, MIXED)
    const cursor = (await as.get(`${place.comments}?limit=2&cursor=`)).headers.get('x-next-cursor')
    for (const [query, path] of [
      ['cursor=&offset=0', ['offset']],
      [`cursor=${cursor}&offset=2`, ['offset']],
      ['cursor=x', ['cursor']],
      [`cursor=${cursor}x`, ['cursor']],
      [`types=comment&cursor=${cursor}`, ['cursor']],
      ['types=email', ['types', 0]],
      ['types=comment,', null],
      ['types=', ['types']],
      ['offset=1.5', ['offset']],
    ] as const) {
      const { status, body } = await as.get(`${place.comments}?${query}`)
      expect([query, status, body.issues?.[0].path]).toEqual(path ? [query, 400, path] : [query, 200, undefined])
    }
    expect((await as.get(`${place.other.comments}?cursor=${cursor}`)).body.message).toBe('Cursor belongs to another query')
    for (const types of ['comment', [1], ['x']])
      await expect(as.rpc.comments.list.query({ ...place.ids, types } as never)).rejects.toMatchObject({ data: { code: 'BAD_REQUEST' } })
  })

  test('are for those who can read the record, with or without a cursor', async () => {
    const place = await newRecord()
    await comments(place, ['comment'])
    const query = `${place.comments}?types=comment&cursor=`
    const status = async (caller: Caller | null) => (await app.as(caller).get(query)).status
    expect([await status(account.viewer), await status(account.keys.account)]).toEqual([200, 200])
    expect([await status(account.outsider), await status(null)]).toEqual([404, 401])
  })
})

describe('the tasks of a record', () => {
  const task = async (create: string, title: string, more: object = {}) => {
    const { status, body } = await as.post(create, { title, ...more })
    expect(status).toBe(200)
    return body as { id: number; created_at: string }
  }

  test('in the order of their creation come newest first, done ones too, on REST and RPC, in their context', async () => {
    const place = await newRecord()
    const ids: number[] = []
    for (const [at, due_date] of ['2026-01-05', null, '2026-01-01', null].entries())
      ids.unshift((await task(place.create, `Task ${at}`, due_date ? { due_date } : {})).id)
    expect((await as.post(`/api/task/${ids[1]}/markDone`)).status).toBe(200)
    expect(idsIn((await as.get(`${place.tasks}?order=created`)).body)).toEqual(ids)
    expect(idsIn((await as.get(place.tasks)).body)).not.toEqual(ids)
    const rpc = await as.rpc.tasks.listOnRecord.query({ ...place.ids, order: 'created', limit: 3, include: ['context'] })
    expect([idsIn(rpc.rows as { id: number }[]), rpc.total]).toEqual([ids.slice(0, 3), 4])
    expect(rpc.rows[0]).toMatchObject({ record_title: 'Acme', comment_count: 0 })
    const rest = await as.rpc.tasks.listOnRecord.query({ ...place.ids, order: 'created', limit: 3, cursor: rpc.next_cursor })
    expect([idsIn(rest.rows as { id: number }[]), rest.next_cursor]).toEqual([ids.slice(3), undefined])
    const open = await as.get(`${place.tasks}?order=created&status=open&limit=2&offset=1`)
    expect([idsIn(open.body), open.headers.get('x-total-count'), open.headers.get('x-next-cursor')]).toEqual([ids.slice(2, 4), '3', null])
    expect(idsIn((await as.get(`${place.tasks}?order=created&offset=9`)).body)).toEqual([])
  })

  test('come exactly once by cursor, whatever is created, changed and deleted between the pages, also of one second', async () => {
    const place = await newRecord()
    const made: { id: number; created_at: string }[] = []
    for (let at = 0; at < 17; at++) made.push(await task(place.create, `Task ${at}`))
    // Half of them are of one second, in which the id decides.
    await app.db.write(sql`update tasks set created_at = '2026-01-01 10:00:00' where table_id = ${place.table} and id % 2 = 0`)
    const rows = await app.db.read<{ id: number }>(
      sql`select id from tasks where table_id = ${place.table} order by created_at desc, id desc`,
    )
    const doomed = made.filter((_, at) => at % 4 === 1).map(({ id }) => id)
    const kept = idsIn(rows).filter((id) => !doomed.includes(id))
    for (const query of ['', '&include=context']) {
      const pages = await walk(`${place.tasks}?order=created${query}`, 3, async () => {
        const { id } = await task(place.create, 'New')
        expect((await as.post(`/api/task/${kept[0]}/update`, { title: `Changed by ${id}`, due_date: '2026-02-02' })).status).toBe(200)
        const gone = doomed.shift()
        if (gone) expect((await as.post(`/api/task/${gone}/delete`)).status).toBe(200)
      })
      const seen = pages.flat()
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.filter((id) => kept.includes(id))).toEqual(kept)
    }
  })

  test('are 400 for what does not go together', async () => {
    const place = await newRecord()
    await task(place.create, 'One')
    await task(place.create, 'Two')
    const cursor = (await as.get(`${place.tasks}?order=created&limit=1&cursor=`)).headers.get('x-next-cursor')
    for (const [query, path] of [
      ['order=due', ['order']],
      ['order=created&cursor=&offset=0', ['offset']],
      ['order=created&cursor=x', ['cursor']],
      ['cursor=', ['cursor']],
      [`order=created&status=open&cursor=${cursor}`, ['cursor']],
      [`order=created&updated_since=2026-01-01 00:00:00`, ['order']],
      [`updated_since=2026-01-01 00:00:00&cursor=${cursor}`, ['cursor']],
    ] as const) {
      const { status, body } = await as.get(`${place.tasks}?${query}`)
      expect([query, status, body.issues?.[0].path]).toEqual([query, 400, path])
    }
    expect((await as.get(`${place.other.tasks}?order=created&cursor=${cursor}`)).status).toBe(400)
    expect((await as.get(`${place.other.tasks}?order=created`)).body).toEqual([])
    expect((await app.as(account.outsider).get(`${place.tasks}?order=created`)).status).toBe(404)
  })
})
