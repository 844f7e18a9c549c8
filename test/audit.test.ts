import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ACTIONS } from '../src/audit/actions.ts'
import { auditFailedSignIn } from '../src/audit/failed-sign-ins.ts'
import { auditing } from '../src/audit/log.ts'
import { deleteOldEntries, exportEntries } from '../src/audit/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { raw, type Sql, sql } from '../src/platform/database/database.ts'
import { restore as restoreSpace } from '../src/spaces/service.ts'
import { purge, purgeAll } from '../src/tables/purge.ts'
import { restore as restoreTable } from '../src/tables/service.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, makeView } from './support/tables.ts'

const DAY_MS = 86_400_000
const app = await testApp({ KEEP_AUDIT_DAYS: '30' })
type Account = Awaited<ReturnType<typeof app.account>>
type Row = Record<string, unknown> & { id: number; action: string; at: string; detail: Record<string, unknown> }

const rowsOf = async ({ owner }: Pick<Account, 'owner'>, query = 'limit=200'): Promise<Row[]> =>
  (await app.as(owner).get(`/api/audit/list?${query}`)).body
const actionsOf = async (account: Account, query?: string) => (await rowsOf(account, query)).map(({ action }) => action)

/** Writes rows past the service. @param at an SQL expression, in which `i` is the number of the row */
async function fill(
  account: Account,
  count: number,
  { at = "date_trunc('second', now() at time zone 'UTC')", action = 'key.created' } = {},
): Promise<void> {
  const text = `insert into audit_entries (account_id, at, keep_until, action)
    select ${account.id}, ${at}, ${at} + interval '30 days', '${action}' from generate_series(1, ${count}) i`
  await app.db.write(raw(text))
}

describe('the list', () => {
  test('says who did what, when, from where, with which key and to which object', async () => {
    app.setClock(new Date('2030-03-31T09:30:00.700Z'))
    onTestFinished(() => app.setClock(null))
    const account = await app.account()
    const { id } = await makeTable(app, account)
    const field = await app.as(account.keys.account).post(`/api/table/${id}/fields/create`, { name: 'Stage', type: 'select' })
    expect(field.status).toBe(200)
    const keys = async () => (await app.as(account.owner).get('/api/keys/list')).body as { id: number; last_used_at: string | null }[]
    // The use of a key is recorded after the answer.
    const key = await vi.waitFor(
      async () => {
        const used = (await keys()).find(({ last_used_at }) => last_used_at)
        if (!used) throw new Error('No use is recorded yet')
        return used
      },
      { timeout: 60_000 },
    )
    const rows = await rowsOf(account)
    expect(rows.map(({ action }) => action)).toEqual(['field.created', 'table.created'])
    expect(rows[0]).toEqual({
      id: expect.any(Number),
      at: '2030-03-31 09:30:00',
      actor_user_id: account.owner.id,
      api_key_id: key.id,
      ip: '127.0.0.1',
      action: 'field.created',
      space_id: account.space,
      table_id: id,
      object: { type: 'field', id: 'stage', name: 'Stage' },
      detail: { type: 'select' },
    })
    expect(rows[1]).toMatchObject({ api_key_id: null, actor_user_id: account.owner.id, object: { type: 'table', id: String(id) } })
  })

  test('is for owners and their account keys that see every space, on REST and RPC, list and export', async () => {
    const account = await app.account()
    const ownersKey = await app.as(account.owner).rpc.keys.create.mutate({ kind: 'personal', name: 'Mine' })
    const paths = ['/api/audit/list', '/api/audit/export.jsonl']
    for (const [caller, status, message] of [
      [null, 401, 'Sign in, or send an API key as a bearer token'],
      ['gp_acct_nonsense', 401, 'The API key is not valid'],
      [account.admin, 403, 'Not authorized'],
      [account.member, 403, 'Not authorized'],
      [account.viewer, 403, 'Not authorized'],
      [account.keys.personal, 403, 'Endpoint not available to personal API keys'],
      [ownersKey.secret, 403, 'Endpoint not available to personal API keys'],
      [account.keys.accountOtherSpace, 403, 'API key not authorized for this workspace'],
    ] as const) {
      for (const path of [...paths, '/trpc/audit.list']) {
        const { body, ...answer } = await app.as(caller).get(path)
        expect([path, answer.status, (body.error ?? body).message]).toEqual([path, status, message])
      }
    }
    for (const caller of [account.owner, account.keys.account, account.keys.accountReadOnly])
      for (const path of paths) expect((await app.as(caller).get(path)).status).toBe(200)
    expect((await app.as(account.keys.accountReadOnly).rpc.audit.list.query({ action: 'key.created' })).rows).toHaveLength(1)
  })

  test('has nothing of another account', async () => {
    const account = await app.account()
    await makeTable(app, account)
    const other = account.keys.accountOutsider
    expect((await app.as(other).get('/api/audit/list')).body).toEqual([])
    expect((await app.as(other).get(`/api/audit/list?space_id=${account.space}`)).body).toEqual([])
    expect((await app.as(other).get(`/api/audit/list?actor_user_id=${account.owner.id}`)).body).toEqual([])
    const lines = (await app.as(other).get('/api/audit/export.jsonl')).body.trimEnd().split('\n')
    expect(lines.map((line: string) => JSON.parse(line).action)).toEqual(['export.audit'])
  })

  test('is filtered by user, action, space and time', async () => {
    const at = (text: string) => app.setClock(new Date(text))
    onTestFinished(() => app.setClock(null))
    at('2030-01-01T10:00:00Z')
    const account = await app.account()
    await app.as(account.owner).post('/api/spaces/create', { name: 'First' })
    at('2030-01-02T10:00:00Z')
    await app.as(account.admin).post(`/api/space/${account.space}/member/${account.viewer.id}/update`, { role: 'member' })
    at('2030-01-03T10:00:00Z')
    await app.as(account.admin).post(`/api/space/${account.space}/member/${account.viewer.id}/remove`)
    const found = (query: string) => actionsOf(account, query)
    expect(await found('')).toEqual(['member.removed', 'member.updated', 'space.created'])
    expect(await found(`actor_user_id=${account.admin.id}`)).toEqual(['member.removed', 'member.updated'])
    expect(await found('action=member.updated')).toEqual(['member.updated'])
    expect(await found(`space_id=${account.space}`)).toEqual(['member.removed', 'member.updated'])
    expect(await found('since=2030-01-02 10:00:00')).toEqual(['member.removed', 'member.updated'])
    expect(await found('since=2030-01-02T11:00:01%2B01:00')).toEqual(['member.removed'])
    expect(await found('until=2030-01-02 10:00:00')).toEqual(['space.created'])
    expect(await found('since=2030-01-02 00:00:00&until=2030-01-03 10:00:00&action=member.updated')).toEqual(['member.updated'])
    expect(await found('actor_user_id=2000000000')).toEqual([])
  })

  test('refuses invalid filters by name, on the list and on the export', async () => {
    const { owner } = await app.account()
    for (const [query, path] of [
      ['actor_user_id=me', 'actor_user_id'],
      ['actor_user_id=1.5', 'actor_user_id'],
      ['space_id=0', 'space_id'],
      ['action=key.stolen', 'action'],
      ['action=key.created&action=key.deleted', 'action'],
      ['action=', 'action'],
      ['since=yesterday', 'since'],
      ['since=2030-02-30 00:00:00', 'since'],
      ['until=2030-01-01 25:00:00', 'until'],
      ['since=%00', 'since'],
    ] as const) {
      for (const where of ['list', 'export.jsonl']) {
        const { status, body } = await app.as(owner).get(`/api/audit/${where}?${query}`)
        expect([where, query, status, body.issues?.[0].path]).toEqual([where, query, 400, [path]])
      }
    }
    for (const query of ['limit=many', 'limit=1.5']) expect((await app.as(owner).get(`/api/audit/list?${query}`)).status).toBe(400)
  })

  test('is paged by cursor, newest first, without gaps, and by 200 rows at most', async () => {
    const account = await app.account()
    await fill(account, 450, { at: "date_trunc('second', now() at time zone 'UTC') - make_interval(secs => i / 7)" })
    const seen: number[] = []
    const totals: (string | null)[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const answer = await app.as(account.owner).get(`/api/audit/list?limit=1000&cursor=${cursor}`)
      seen.push(...answer.body.map(({ id }: Row) => id))
      totals.push(answer.headers.get('x-total-count'))
      cursor = answer.headers.get('x-next-cursor')
      // A row that is written meanwhile belongs to no later page.
      await app.db.write(auditing(systemContext(app.deps), 'key.rotated', { accountId: account.id }))
    }
    expect(totals).toEqual(['450', null, null])
    expect(new Set(seen).size).toBe(450)
    expect((await app.as(account.owner).get('/api/audit/list')).body).toHaveLength(50)
    expect((await app.as(account.owner).get('/api/audit/list?limit=-3')).body).toHaveLength(1)
  })

  test('refuses a cursor of other filters, of another account, and one that it has not issued', async () => {
    const account = await app.account()
    const stranger = await app.account()
    await fill(account, 3)
    const next = (await app.as(account.owner).get('/api/audit/list?limit=1')).headers.get('x-next-cursor')
    const status = async (who: Account, query: string) => (await app.as(who.owner).get(`/api/audit/list?${query}`)).body
    expect((await status(account, `limit=2&cursor=${next}`)).length).toBe(2)
    for (const query of [`action=key.created&cursor=${next}`, `since=2020-01-01 00:00:00&cursor=${next}`])
      expect((await status(account, query)).message).toBe('Cursor belongs to another query')
    expect((await status(stranger, `cursor=${next}`)).message).toBe('Cursor belongs to another query')
    for (const cursor of ['x', `${next}x`, `${next?.slice(1)}`])
      expect((await status(account, `cursor=${cursor}`)).issues[0].path).toEqual(['cursor'])
  })

  test('counts up to 10,000 rows', async () => {
    const account = await app.account()
    await fill(account, 10_000)
    expect((await app.as(account.owner).get('/api/audit/list')).headers.get('x-total-count')).toBe('10000')
    await fill(account, 1)
    expect((await app.as(account.owner).get('/api/audit/list')).headers.get('x-total-count')).toBeNull()
  })
})

describe('the export', () => {
  test('streams all rows as JSON lines, oldest first, and is audited itself', async () => {
    const account = await app.account()
    await fill(account, 2_500, { at: "date_trunc('second', now() at time zone 'UTC') - make_interval(secs => i / 3)" })
    const answer = await app.as(account.keys.account).get('/api/audit/export.jsonl')
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toContain('attachment; filename="audit.jsonl"')
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    const rows: Row[] = answer.body
      .trimEnd()
      .split('\n')
      .map((line: string) => JSON.parse(line))
    expect(rows).toHaveLength(2_501)
    const keys = rows.map(({ at, id }) => [at, id] as const)
    expect(keys.toSorted(([a, i], [b, j]) => (a === b ? i - j : a < b ? -1 : 1))).toEqual(keys)
    expect(rows.at(-1)).toMatchObject({ action: 'export.audit', actor_user_id: account.owner.id, ip: '127.0.0.1', detail: {} })
    expect(rows.at(-1)).toEqual((await rowsOf(account, 'limit=1'))[0])
  })

  test('applies the filters, and notes them', async () => {
    const account = await app.account()
    await fill(account, 3)
    await fill(account, 2, { action: 'key.deleted' })
    const answer = await app.as(account.owner).get('/api/audit/export.jsonl?action=key.deleted&since=2020-01-01 00:00:00')
    expect(answer.body.trimEnd().split('\n')).toHaveLength(2)
    expect((await rowsOf(account, 'action=export.audit'))[0]?.detail).toEqual({ action: 'key.deleted', since: '2020-01-01 00:00:00' })
  })

  test('reads a page only when it is asked for one, so that a slow reader takes no memory', async () => {
    const account = await app.account()
    await fill(account, 3_500)
    const context = systemContext(app.deps)
    let reads = 0
    const read = <T>(...given: Parameters<typeof context.db.read>) => {
      reads++
      return context.db.read<T>(...given)
    }
    const db = new Proxy(context.db, { get: (target, key) => (key === 'read' ? read : Reflect.get(target, key)) })
    const pages = await exportEntries({ ...context, db, actor: { ...context.actor, accountId: account.id } }, {})
    const rowsIn = async () => ((await pages.next()).value as string | undefined)?.trimEnd().split('\n').length
    expect([await rowsIn(), reads]).toEqual([1_000, 1])
    expect([await rowsIn(), reads]).toEqual([1_000, 2])
    expect([await rowsIn(), await rowsIn(), await rowsIn(), reads]).toEqual([1_000, 501, undefined, 4])
  })

  test('is neither sent nor audited for HEAD', async () => {
    const account = await app.account()
    const answer = await app.as(account.owner).send('/api/audit/export.jsonl', { method: 'HEAD' })
    expect([answer.status, answer.body]).toEqual([200, ''])
    expect(await rowsOf(account)).toEqual([])
  })
})

describe('the table', () => {
  const refused = (statement: Sql) => expect(app.db.write(statement)).rejects.toThrow(/The audit log (refuses|keeps)/)
  const count = async ({ id }: Account) =>
    (await app.db.read<{ count: number }>(sql`select count(*) from audit_entries where account_id = ${id}`))[0]?.count

  test('refuses UPDATE, TRUNCATE and the DELETE of younger rows, also to its owner', async () => {
    const account = await app.account()
    await fill(account, 2)
    // The tests are run by the owner of the table, who is a superuser besides.
    await refused(sql`update audit_entries set action = 'key.deleted' where account_id = ${account.id}`)
    await refused(sql`update audit_entries set keep_until = now()`)
    await refused(sql`truncate audit_entries`)
    await refused(sql`truncate accounts, audit_entries cascade`)
    await refused(sql`delete from audit_entries where account_id = ${account.id}`)
    await refused(sql`merge into audit_entries a using (select 1) s on a.account_id = ${account.id} when matched then delete`)
    await refused(sql`
      insert into audit_entries (id, account_id, at, keep_until, action) select id, account_id, at, keep_until, action from audit_entries
      on conflict (id) do update set action = 'key.deleted'`)
    expect(await count(account)).toBe(2)
  })

  test('refuses them in sessions that turn ordinary triggers off, or bring a now() of their own', async () => {
    const account = await app.account()
    await fill(account, 1)
    const inSession = (setting: Sql, statement: Sql) =>
      expect(
        app.db.transaction(async () => {
          await app.db.write(setting)
          await app.db.write(statement)
        }),
      ).rejects.toThrow(/The audit log/)
    const mine = sql`where account_id = ${account.id}`
    await inSession(sql`set local session_replication_role = replica`, sql`delete from audit_entries ${mine}`)
    await inSession(sql`set local session_replication_role = replica`, sql`update audit_entries set ip = null ${mine}`)
    await app.db.write(sql`create schema trick`)
    await app.db.write(sql`create function trick.now() returns timestamptz language sql as $$ select timestamptz 'infinity' $$`)
    await inSession(sql`set local search_path = trick, public, pg_catalog`, sql`delete from audit_entries ${mine}`)
    expect(await count(account)).toBe(1)
  })

  test('refuses the DELETE of a younger row in a session whose time zone is called UTC and is days ahead', async () => {
    const account = await app.account()
    // The row is to be deleted in five days. Since PostgreSQL 18, AT TIME ZONE 'UTC' looks for the name in the zone of the session first.
    await fill(account, 1, { at: "now() at time zone 'UTC' - interval '25 days'" })
    for (const zone of ['UTC-167', 'UTC+167', '<UTC>-167']) {
      await expect(
        app.db.transaction(async () => {
          await app.db.write(raw(`set local timezone = '${zone}'`))
          await app.db.write(sql`delete from audit_entries where account_id = ${account.id}`)
        }),
      ).rejects.toThrow('The audit log keeps this row until')
    }
    expect(await count(account)).toBe(1)
  })

  test('outlives the account, its users and its spaces', async () => {
    const account = await app.account()
    await makeTable(app, account)
    await app.db.write(sql`update accounts set owner_user_id = null where id = ${account.id}`)
    await app.db.write(sql`delete from accounts where id = ${account.id}`)
    expect(await count(account)).toBe(1)
  })

  test('loses rows after KEEP_AUDIT_DAYS, in small steps, and no others', async () => {
    const account = await app.account()
    await fill(account, 2_300, { at: "now() at time zone 'UTC' - interval '31 days'" })
    await fill(account, 5, { at: "now() at time zone 'UTC' - interval '29 days'" })
    let statements = 0
    const context = systemContext(app.deps)
    const write = (statement: Sql) => {
      statements++
      return context.db.write(statement)
    }
    const db = new Proxy(context.db, { get: (target, key) => (key === 'write' ? write : Reflect.get(target, key)) })
    await deleteOldEntries({ ...context, db })
    expect([await count(account), statements]).toEqual([5, 3])
  })

  test('keeps a row for KEEP_AUDIT_DAYS from its time, or from the time of the database if the clock of the service is behind', async () => {
    const account = await app.account()
    const write = (at: Date) => app.db.write(auditing({ ...systemContext(app.deps), now: at }, 'key.rotated', { accountId: account.id }))
    await write(new Date('2040-01-31T10:00:00Z'))
    await write(new Date('2020-01-31T10:00:00Z'))
    const rows = await app.db.read(sql`
      select at, (keep_until - interval '30 days')::text as kept_from, keep_until > now() as is_kept
      from audit_entries where account_id = ${account.id} order by id`)
    expect(rows).toMatchObject([
      { at: '2040-01-31 10:00:00', kept_from: '2040-01-31 10:00:00', is_kept: true },
      { at: '2020-01-31 10:00:00', is_kept: true },
    ])
  })

  test('keeps existing rows when the setting is shortened, lengthened, or the clock of the service is wrong', async () => {
    const account = await app.account()
    await fill(account, 1, { at: "now() at time zone 'UTC' - interval '10 days'" })
    await fill(account, 1, { at: "now() at time zone 'UTC' - interval '40 days'" })
    const sweep = (keepAuditDays: number, days = 0) => {
      const context = systemContext(app.deps)
      const now = new Date(context.now.getTime() + days * DAY_MS)
      return deleteOldEntries({ ...context, now, settings: { ...context.settings, keepAuditDays } })
    }
    await sweep(1)
    await sweep(30, 400)
    expect(await count(account)).toBe(1)
    await fill(account, 1, { at: "now() at time zone 'UTC' - interval '40 days'" })
    await sweep(60)
    expect(await count(account)).toBe(2)
  })
})

describe('signing in', () => {
  const login = (email: string, password: string, headers = {}) => app.as(null).post('/api/auth/login', { email, password }, headers)

  test('is audited, with the failures before it', async () => {
    const account = await app.account({ withPassword: true })
    const { email, password, id } = account.owner
    expect((await login(email, 'wrong')).status).toBe(401)
    expect((await login(email, 'wrong')).status).toBe(401)
    expect((await login(email, password)).status).toBe(200)
    expect(await rowsOf(account)).toMatchObject([
      {
        action: 'sign_in.succeeded',
        actor_user_id: id,
        object: { type: 'user', id: String(id) },
        detail: { failures: 2 },
        ip: '127.0.0.1',
      },
      { action: 'sign_in.failed', actor_user_id: null, object: { type: 'user', id: String(id) }, detail: { failures: 2 }, ip: '127.0.0.1' },
      { action: 'sign_in.failed', actor_user_id: null, detail: { failures: 1 } },
    ])
  })

  test('is audited if it fails because of a wrong current password, and a flood of failures writes few rows', async () => {
    const account = await app.account({ withPassword: true })
    const { owner } = account
    await app.as(owner).post('/api/auth/password', { current_password: 'wrong', new_password: 'staple battery horse' })
    expect(await rowsOf(account)).toMatchObject([{ action: 'sign_in.failed', actor_user_id: owner.id, detail: { failures: 1 } }])
    const context = systemContext(app.deps)
    const fail = () => auditFailedSignIn(context, { id: owner.id, accountId: account.id })
    await Promise.all(Array.from({ length: 10 }, fail))
    for (let failures = 11; failures < 100; failures++) await fail()
    const counts = (await rowsOf(account)).map(({ detail }) => detail.failures as number)
    expect(counts.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 10, 20, 40, 80])
  })

  test('with an unknown address writes no row, for nobody could read it', async () => {
    const before = await app.db.read(sql`select max(id) as id from audit_entries`)
    expect((await login('nobody@nowhere.example', 'wrong')).status).toBe(401)
    expect(await app.db.read(sql`select max(id) as id from audit_entries`)).toEqual(before)
  })
})

describe('a change and its row', () => {
  test('are committed together: without the row there is no change', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, { records: [{ name: 'Kept' }] })
    await app.db.write(raw(`alter table audit_entries add constraint broken check (account_id <> ${account.id}) not valid`))
    onTestFinished(async () => void (await app.db.write(sql`alter table audit_entries drop constraint if exists broken`)))
    const as = app.as(account.owner)
    for (const [path, body] of [
      ['/api/keys/create', { kind: 'account', name: 'Lost' }],
      ['/api/spaces/create', { name: 'Lost' }],
      [`/api/table/${id}/delete`, {}],
      [`/api/table/${id}/fields/create`, { name: 'Lost', type: 'text' }],
      [`/api/table/${id}/records/delete_batch`, { record_ids: [1] }],
    ] as const)
      expect([path, (await as.post(path, body)).status]).toEqual([path, 500])
    expect((await as.get(`/api/table/${id}/export.csv`)).status).toBe(500)
    const csv = await as.send(`/api/table/${id}/import`, { method: 'POST', body: 'Name\nLost\n', headers: { 'content-type': 'text/csv' } })
    expect(csv.status).toBe(500)
    await app.db.write(sql`alter table audit_entries drop constraint broken`)
    expect((await as.get('/api/keys/list')).body.map(({ name }: { name: string }) => name)).not.toContain('Lost')
    expect((await as.get('/api/spaces/list')).body.map(({ name }: { name: string }) => name)).not.toContain('Lost')
    expect((await as.get(`/api/table/${id}/get`)).body.fields.map(({ name }: { name: string }) => name)).not.toContain('Lost')
    expect((await as.post(`/api/table/${id}/records/query`, {})).body).toHaveLength(1)
  })

  test('are written once for a repeated Idempotency-Key, and never for a refused or ineffective change', async () => {
    const account = await app.account()
    const as = app.as(account.owner)
    const create = () => as.post('/api/spaces/create', { name: 'Once' }, { 'idempotency-key': 'once' })
    const { body } = await create()
    expect((await create()).headers.get('idempotent-replayed')).toBe('true')
    await as.post(`/api/space/${body.id}/update`, { name: 'Once' })
    await as.post(`/api/space/${body.id}/members/add`, { email: account.owner.email, role: 'admin' })
    await as.post(`/api/space/${account.space}/member/${account.viewer.id}/update`, { role: 'viewer' })
    const { id } = await makeTable(app, account)
    await as.post(`/api/table/${id}/field/name/update`, { name: 'Name', required: false })
    await as.post(`/api/table/${id}/records/delete_batch`, { record_ids: [77] })
    await as.post(`/api/table/${id}/field/name/changeType`, { type: 'long_text', dry_run: true })
    await as.post('/api/auth/profile', { name: account.owner.name })
    expect(await actionsOf(account)).toEqual(['table.created', 'space.created'])
  })

  test('are attributed to the requester if a job makes the change', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account)
    const as = app.as(account.keys.account)
    const { job_id } = (await as.post(`/api/table/${id}/field/name/changeType`, { type: 'long_text' })).body
    await runConversion(systemContext(app.deps), job_id)
    const detail = { from: 'text', to: 'long_text', job_id }
    const who = { actor_user_id: account.owner.id, api_key_id: expect.any(Number), ip: '127.0.0.1', table_id: id, detail }
    expect(await rowsOf(account, 'limit=2')).toMatchObject([
      { ...who, action: 'field.converted' },
      { ...who, action: 'field.conversion_started' },
    ])
  })

  test('are attributed to nobody if a job makes the change by itself, or an operator', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account)
    const context = systemContext(app.deps)
    await app.as(account.owner).post(`/api/table/${id}/delete`)
    await restoreTable(context, id)
    await app.as(account.owner).post(`/api/space/${account.space}/delete`)
    await restoreSpace(context, account.space)
    await app.as(account.owner).post(`/api/space/${account.space}/delete`)
    const later = { ...context, now: new Date(context.now.getTime() + 8 * DAY_MS) }
    await purge(later, { table_id: id })
    await purgeAll(later)
    const nobody = { actor_user_id: null, api_key_id: null, ip: null, space_id: account.space }
    const rows = (await rowsOf(account)).filter(({ actor_user_id }) => actor_user_id === null)
    expect(rows).toMatchObject([
      { ...nobody, action: 'space.purged', object: { type: 'space', id: String(account.space) } },
      { ...nobody, action: 'table.purged', table_id: id, object: { type: 'table', id: String(id) } },
      { ...nobody, action: 'space.restored' },
      { ...nobody, action: 'table.restored', table_id: id },
    ])
  })

  test('name a view that a deleted field takes with it', async () => {
    const account = await app.account()
    const { id } = await makeTable(app, account, {
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Due', type: 'date' },
      ],
    })
    const view = await makeView(app, account, id, { name: 'Plan', type: 'calendar', config: { startField: 'due' } })
    await app.as(account.owner).post(`/api/table/${id}/field/due/delete`, { force: true })
    expect(await rowsOf(account, 'limit=2')).toMatchObject([
      { action: 'field.deleted', object: { id: 'due' }, detail: { type: 'date', force: true } },
      { action: 'view.deleted', object: { id: String(view.id), name: 'Plan' }, detail: { type: 'calendar' } },
    ])
  })

  test('are written for each cell that loses files by an update of its record, but not for a file that moves within the record', async () => {
    const account = await app.account()
    const fields = ['Text', 'Files', 'More'].map((name) => ({ name, type: name === 'Text' ? 'text' : 'file' }))
    const { path, records } = await makeTable(app, account, { fields, records: [{}] })
    const as = app.as(account.owner)
    const record = `${path}/record/${records[0]}`
    const upload = async () =>
      (await as.post(`${record}/files/create`, { field_id: 'files', name: 'secret.txt', data: 'aGVsbG8=' })).body.at(-1)
    const [first, second] = [await upload(), await upload()]
    const update = async (data: object, headers = {}) => (await as.post(`${record}/update`, { data }, headers)).status
    expect(await update({ text: 'a', files: [second], more: [first] })).toBe(200)
    expect(await update({ text: 'b' })).toBe(200)
    expect(await update({ files: [] }, { 'if-match': '"1"' })).toBe(409)
    expect(await actionsOf(account)).toEqual(['table.created'])
    expect(await update({ files: [], more: null })).toBe(200)
    expect(await update({ files: [], more: null })).toBe(200)
    const rows = await rowsOf(account, 'action=file.deleted')
    expect(rows).toMatchObject(
      ['more', 'files'].map((field_id) => ({ object: { id: String(records[0]), name: null }, detail: { field_id } })),
    )
    expect(JSON.stringify(rows)).not.toContain('secret')
  })

  test('never have contents', async () => {
    const account = await app.account()
    const { path } = await makeTable(app, account, { records: [{ name: 'Secret content' }] })
    await app.as(account.owner).post(`${path}/records/delete_batch`, { record_ids: [1] })
    expect((await rowsOf(account, 'limit=1'))[0]).toMatchObject({ action: 'records.deleted', detail: { count: 1, record_ids: [1] } })
    expect(JSON.stringify(await rowsOf(account))).not.toContain('Secret content')
  })
})

test('documents every action', async () => {
  const document = (await app.as(null).get('/openapi.json')).body
  const schema = document.components.schemas.AuditAction
  expect(schema.enum).toEqual(Object.keys(ACTIONS))
  for (const action of Object.keys(ACTIONS)) expect(schema.description).toContain(`\`${action}\``)
})
