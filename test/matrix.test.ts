/**
 * Every operation with every id of another account, by every kind of caller, over REST and RPC: no answer contains a word of the other
 * account, and no row of it changes. Then every operation of a space by its callers with too few rights.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ident, sql } from '../src/platform/database/database.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { callRest, callRpc, type Ids, idsFor, idsOf, type Operation, operations } from './support/operations.ts'

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
      if (ids === theirs) expect(status, answer).toBeGreaterThanOrEqual(400)
      if (status === 500) expect(SILENT, answer).toContain(body.message)
    }
  })

  test('has changed no row', async () => {
    expect(await rowsOf(victim)).toEqual(before)
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

/** The example of the document, in which each id is one of the victim's. */
function inputOf({ meta }: Operation, account: TestAccount, known: Record<string, Ids>): Record<string, unknown> {
  const ids: Record<string, unknown> = {
    ...Object.assign({}, ...Object.values(known)),
    space_ids: [account.space],
    table_ids: [known.shared?.table_id],
    smtpIntegrationId: known.smtp?.id,
    signatureId: known.signatures?.id,
    parentCommentId: known.email?.comment_id,
  }
  const input = (meta.example?.input ?? {}) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      if (key.endsWith('user_id')) return [key, account.owner.id]
      return [key, key in ids && typeof value === typeof ids[key] ? ids[key] : value]
    }),
  )
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

/** Counts and hashes the rows of the account in each table. */
async function rowsOf(account: TestAccount): Promise<Record<string, unknown>> {
  const columns = await app.db.read<{ table: string; columns: string[] }>(sql`
    select table_name as table, array_agg(column_name::text) as columns from information_schema.columns
    where table_schema = 'public' group by 1 order by 1`)
  const found: Record<string, unknown> = {}
  for (const { table, columns: names } of columns) {
    const owner = OWNERS.find(([column]) => names.includes(column))
    if (!owner || table === 'rate_windows') continue
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
