/**
 * Every operation with every id of another account, by every kind of caller, over REST and RPC: no answer contains a word of the other
 * account, and no row of it changes. Then every operation of a space by its callers with too few rights.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mailReset } from '../src/auth/password-reset.ts'
import { createInvite } from '../src/auth/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { ident, type Sql, sql } from '../src/platform/database/database.ts'
import { apiDocument } from '../src/router.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { callRest, callRpc, type Ids, idsFor, idsOf, inputOf, type Operation, operations } from './support/operations.ts'

const MARK = 'Quillwort'
const app = await testApp()
const victim = await app.account()
const idsOfVictim = await idsOf(app, victim, MARK)
const secured = operations.filter(({ isPublic }) => !isPublic)
const byName = (of: readonly Operation[]) => of.map((operation) => [operation.name, operation] as const)
/** Words that stand in the rows of the victim alone. */
const WORDS = [MARK, ...[victim.owner, victim.admin, victim.member, victim.viewer].map(({ email }) => email)]
/** The messages of the two answers with 500 that api.md fixes. */
const SILENT = ['Not Authorized', 'View not found']
let sent = 0
let before: Record<string, unknown>
beforeAll(async () => {
  before = await rowsOf(victim)
})

afterAll(() => console.log(`${sent} requests with ids of another account or too few rights`))

describe('another account', () => {
  const callersOf = (attacker: TestAccount): Record<string, Caller> => ({
    owner: attacker.owner,
    admin: attacker.admin,
    member: attacker.member,
    viewer: attacker.viewer,
    'account key': attacker.keys.account,
    'read-only key': attacker.keys.accountReadOnly,
    'personal key': attacker.keys.personal,
    nobody: null,
  })

  /** All calls of the operation by all callers with all mixtures of ids. */
  function casesOf(operation: Operation, attacker: TestAccount, own: Ids, theirs: Ids) {
    return mixtures(operation, own, theirs).flatMap((ids) =>
      Object.entries(callersOf(attacker)).flatMap(([name, caller]) =>
        [callRest, callRpc].map((call) => ({ ids, caller, call, title: `${name}, ${call.name}, ${JSON.stringify(ids)}` })),
      ),
    )
  }

  const newAttacker = async () => {
    const attacker = await app.account()
    return { attacker, known: await idsOf(app, attacker) }
  }
  let reading: ReturnType<typeof newAttacker> | undefined
  /** Queries share an attacker. Any other operation has its own, because some of them delete the rows or the session that they are given. */
  function attackerBy({ type }: Operation) {
    if (type !== 'query') return newAttacker()
    reading ??= newAttacker()
    return reading
  }

  test.each(byName(secured))('reaches nothing by %s', async (_, operation) => {
    const { attacker, known } = await attackerBy(operation)
    const own = idsFor(operation, known)
    const theirs = idsFor(operation, idsOfVictim)
    const input = inputOf(operation, victim, idsOfVictim)
    for (const { ids, caller, call, title } of casesOf(operation, attacker, own, theirs)) {
      const { status, body } = await call(app.as(caller), operation, ids, input)
      sent++
      const answer = `${title}: ${status} ${JSON.stringify(body)}`
      for (const word of WORDS) expect(answer).not.toContain(word)
      // A name without a resource is one of the caller's own.
      if (ids === theirs && operation.meta.access.resource) expect(status, answer).toBeGreaterThanOrEqual(400)
      if (status === 500) expect(SILENT, answer).toContain(body.message)
    }
  })

  test('has changed no row', async () => {
    expect(await rowsOf(victim)).toEqual(before)
  })
})

/** Users who may do nothing any more, and what they might still come in with. */
describe('a user who was', () => {
  const ENDS: [how: string, status: Sql][] = [
    ['disabled', sql`status = 'deleted', disabled_from = 'active'`],
    ['erased', sql`status = 'deleted', disabled_from = null`],
  ]

  /** Callers of an account, one of them with the rights of an owner. Their sessions and keys are those that another release has made. */
  async function goneCallers(status: Sql): Promise<[string, Caller][]> {
    const account = await app.account()
    const { owner, admin, member, viewer, keys, id } = account
    const ofOwner = await account.keyOf({ accountId: id, userId: owner.id }, { kind: 'personal' })
    const ofAdmin = await account.keyOf({ accountId: id, userId: admin.id }, { kind: 'personal' })
    await app.db.write(sql`update users set ${status} where account_id = ${id}`)
    return [
      ...Object.entries({ owner, admin, member, viewer }),
      ...Object.entries({ ...keys, ofOwner, ofAdmin }).filter(([name]) => !name.endsWith('Outsider')),
    ]
  }

  test.each(ENDS)('%s is admitted by no operation', async (_, status) => {
    const callers = await goneCallers(status)
    for (const operation of secured) {
      const ids = idsFor(operation, idsOfVictim)
      for (const [name, caller] of callers) {
        for (const call of [callRest, callRpc]) {
          const answer = await call(app.as(caller), operation, ids)
          sent++
          expect([operation.name, name, call.name, answer.status]).toEqual([operation.name, name, call.name, 401])
        }
      }
    }
  })

  test('erased by the owner is admitted by no operation, with what is left in the browser and the program', async () => {
    const account = await app.account({ withPassword: true })
    const { owner, admin, member, viewer, keys } = account
    for (const { id } of [admin, member, viewer])
      expect((await app.as(owner).post(`/api/user/${id}/erase`, { current_password: owner.password })).body).toEqual({ ok: true })
    for (const operation of secured) {
      const ids = idsFor(operation, idsOfVictim)
      for (const caller of [admin, member, viewer, keys.personal, keys.personalViewer]) {
        for (const call of [callRest, callRpc]) {
          sent++
          expect([operation.name, call.name, (await call(app.as(caller), operation, ids)).status]).toEqual([operation.name, call.name, 401])
        }
      }
    }
  })

  test.each(ENDS)('%s is admitted by no path of the document, streams and files included', async (_, status) => {
    const callers = await goneCallers(status)
    const { paths } = (await apiDocument()) as { paths: Record<string, Record<string, { security?: object[] }>> }
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        // The token of /metrics is no user's.
        if (!security?.length || path === '/metrics') continue
        for (const [name, caller] of callers) {
          const answer = await app.as(caller).send(path.replaceAll(/\{\w+\}/g, '1'), { method: method.toUpperCase() })
          sent++
          expect([method, path, name, answer.status]).toEqual([method, path, name, 401])
        }
      }
    }
  })

  test.each(ENDS)('%s comes in by no password, invitation or link', async (_, status) => {
    const { owner, member } = await app.account({ withPassword: true })
    await app.db.write(sql`update users set status = 'invited' where id = ${member.id}`)
    const invitation = await createInvite(app.db, member.id, app.deps.clock())
    await mailReset(systemContext(app.deps), { email: owner.email, ip: '192.0.2.1' })
    const link = /#([\w-]+)/.exec(app.letters.at(-1)?.text ?? '')?.[1] ?? ''
    await app.db.write(sql`update users set ${status} where id in (${owner.id}, ${member.id})`)
    const password = 'another good password'
    const calls: [path: string, body: object][] = [
      ['/api/auth/login', { email: owner.email, password: owner.password }],
      ['/api/auth/reset', { token: link, password }],
      ['/api/auth/acceptInvite', { token: invitation, name: 'Max', password }],
    ]
    for (const [path, body] of calls) {
      const { status, headers } = await app.as(null).post(path, body)
      expect([path, status, headers.getSetCookie()]).toEqual([path, path.endsWith('login') ? 401 : 400, []])
    }
    const letters = app.letters.length
    expect((await app.as(null).post('/api/auth/forgot', { email: owner.email })).body).toEqual({ ok: true })
    await mailReset(systemContext(app.deps), { email: owner.email, ip: '192.0.2.1' })
    expect(app.letters).toHaveLength(letters)
    expect(await app.db.read(sql`select 1 from users where id in (${owner.id}, ${member.id}) and status <> 'deleted'`)).toEqual([])
  })
})

describe('a caller of the same account with too few rights', () => {
  const inSpace = secured.filter(({ meta }) => ['space_id', 'table_id', 'tableId'].includes(meta.access.resource?.ids[0]?.name ?? ''))
  const writes = ({ type, meta }: Operation) => (meta.access.effect ?? (type === 'mutation' ? 'write' : 'read')) === 'write'
  const callers: [name: string, caller: Caller, isRefused: (operation: Operation) => boolean][] = [
    ['a viewer', victim.viewer, ({ meta }) => meta.access.right !== 'read'],
    ["a viewer's key", victim.keys.personalViewer, ({ meta }) => meta.access.right !== 'read'],
    ['a member', victim.member, ({ meta }) => meta.access.right === 'admin'],
    ["a member's key", victim.keys.personal, ({ meta }) => meta.access.right === 'admin'],
    ['a read-only key', victim.keys.accountReadOnly, writes],
    ['a key of another space', victim.keys.accountOtherSpace, () => true],
    ['a stranger', victim.outsider, () => true],
    ["a stranger's key", victim.keys.accountOutsider, () => true],
    ["a stranger's personal key", victim.keys.personalOutsider, () => true],
  ]

  test.each(byName(inSpace))('is refused by %s', async (_, operation) => {
    const ids = idsFor(operation, idsOfVictim)
    for (const [name, caller, isRefused] of callers) {
      if (!isRefused(operation)) continue
      for (const call of [callRest, callRpc]) {
        const answer = await call(app.as(caller), operation, ids, inputOf(operation, victim, idsOfVictim))
        sent++
        expect([403, 404, 500], `${name} ${call.name}: ${answer.status} ${JSON.stringify(answer.body)}`).toContain(answer.status)
        if (answer.status === 500) expect(answer.body.message).toBe('Not Authorized')
      }
    }
  })

  test('has changed no row', async () => {
    expect(await rowsOf(victim)).toEqual(before)
  })
})

/** The ids of the victim, and mixtures in which one id is the victim's and the others are the attacker's. */
function mixtures({ pathIds, bodyIds }: Operation, own: Ids, theirs: Ids): Ids[] {
  const names = [...pathIds, ...bodyIds]
  if (names.length === 0) return [own]
  return [theirs, ...(names.length > 1 ? names.map((name) => ({ ...own, [name]: theirs[name] ?? 0 })) : [])]
}

/** How a row of a table is known to be the account's, by the first of these columns that the table has. */
const OWNERS: [column: string, condition: string][] = [
  ['account_id', 'account_id = $1'],
  ['user_id', 'user_id in (select id from users where account_id = $1)'],
  ['task_id', 'task_id in (select id from tasks where account_id = $1)'],
  ['table_id', 'table_id in (select id from tables where account_id = $1)'],
]
/** Columns that the use of a key or a session changes. */
const CHANGED_BY_USE = ['last_used_at', 'last_seen_at', 'expires_at', 'ip', 'user_agent']

/** Tables that hold nothing but use. */
const COUNTS_USE = ['rate_windows', 'last_seen']

/** Counts and hashes the rows of the account in each table. */
async function rowsOf(account: TestAccount): Promise<Record<string, unknown>> {
  const columns = await app.db.read<{ table: string; columns: string[] }>(sql`
    select table_name as table, array_agg(column_name::text) as columns from information_schema.columns
    where table_schema = 'public' group by 1 order by 1`)
  const found: Record<string, unknown> = {}
  for (const { table, columns: names } of columns) {
    const owner = OWNERS.find(([column]) => names.includes(column))
    if (!owner || COUNTS_USE.includes(table)) continue
    found[table] = await hashOf(`select * from ${ident(table).text} where ${owner[1]}`, [account.id])
  }
  const tables = await app.db.read<{ id: number }>(sql`select id from tables where account_id = ${account.id}`)
  for (const { id } of tables) found[`t${id}`] = await hashOf(`select * from t${id}.records`, [])
  return found
}

async function hashOf(text: string, values: unknown[]): Promise<unknown> {
  const row = `to_jsonb(r) - '{${CHANGED_BY_USE.join(',')}}'::text[]`
  const hash = `select count(*)::int as count, md5(coalesce(string_agg((${row})::text, ',' order by (${row})::text), '')) as hash from (${text}) r`
  const [answer] = await app.db.read({ text: hash, values })
  return answer
}
