/** The general bad inputs, over every operation: credentials, keys, ids, bodies, text. None is a 500, and none changes anything. */
import { request } from 'node:http'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { sql } from '../src/platform/database/database.ts'
import { newKeySecret } from '../src/platform/secrets.ts'
import { type Answer, testApp } from './support/app.ts'
import { callerFor, callRest, callRpc, idsFor, idsOf, type Operation, operations, pathOf } from './support/operations.ts'

const app = await testApp()
const account = await app.account()
const stranger = await app.account()
const known = await idsOf(app, account)
await idsOf(app, stranger)
const keyOfOwner = { accountId: account.id, userId: account.owner.id }
const revoked = await app.as(account.owner).rpc.keys.create.mutate({ kind: 'account', name: 'Revoked' })
await app.as(account.owner).rpc.keys.delete.mutate({ key_id: revoked.id })
const badKeys: Record<string, string> = {
  'a word': 'nonsense',
  'a mistyped key': `${account.keys.account.slice(0, -1)}-`,
  'a key that was never made': newKeySecret('account'),
  'a revoked key': revoked.secret,
  'an expired key': await account.keyOf(keyOfOwner, { kind: 'account', expires_at: '2020-01-01 00:00:00' }),
  'a key for other addresses': await account.keyOf(keyOfOwner, { kind: 'account', ip_allowlist: ['203.0.113.0/24', '2001:db8::/32'] }),
}
const before = await snapshot()

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  const ids = idsFor(operation, known)
  const callers = operation.meta.access.callers as readonly string[]
  const writes = (operation.meta.access.effect ?? (operation.type === 'mutation' ? 'write' : 'read')) === 'write'

  it.skipIf(operation.isPublic)('refuses every bad key with 401, on REST and RPC', async () => {
    for (const [name, key] of Object.entries(badKeys)) {
      for (const answer of [await callRest(app.as(key), operation, ids), await callRpc(app.as(key), operation, ids)]) {
        expect(answer.status, name).toBe(401)
        expect(answer.body.code).toBe('UNAUTHORIZED')
      }
    }
    const basic = await app.as(null).send(pathOf(operation, ids), { method: operation.method, headers: { authorization: 'Basic YTpi' } })
    expect(basic.status).toBe(401)
    const ended = await app.as({ ...account.owner, session: 'A'.repeat(43) }).send(pathOf(operation, ids), { method: operation.method })
    expect(ended.status).toBe(401)
  })

  it.skipIf(operation.isPublic)('tells each kind of caller that it is not for them', async () => {
    const callersOf = { session: account.owner, account: account.keys.account, personal: account.keys.personal }
    for (const [kind, caller] of Object.entries(callersOf)) {
      if (callers.includes(kind)) continue
      const answer = await callRest(app.as(caller), operation, ids)
      expect(answer.status, kind).toBe(403)
      if (kind === 'personal' && callers.includes('account'))
        expect(answer.body.message).toBe('Endpoint not available to personal API keys')
      else if (kind !== 'session') expect(answer.body.message).toBe('API endpoint not available to API keys')
    }
  })

  it.skipIf(!callers.includes('account') || !writes)('refuses a read-only key', async () => {
    const answer = await callRest(app.as(account.keys.accountReadOnly), operation, ids)
    expect([answer.status, answer.body.message]).toEqual([403, 'API key is read-only'])
  })

  it.skipIf(!callers.includes('account') || !operation.pathIds.some((id) => ['space_id', 'table_id'].includes(id)))(
    'refuses a key whose whitelist holds only another space',
    async () => {
      const answer = await callRest(app.as(account.keys.accountOtherSpace), operation, ids)
      if (operation.meta.access.isSilent) expect([answer.status, answer.body.message]).toEqual([500, 'Not Authorized'])
      else expect([answer.status, answer.body.message]).toEqual([403, 'API key not authorized for this workspace'])
    },
  )

  it.skipIf(operation.pathIds.length === 0)("hides what is another account's", async () => {
    const caller = callerFor(operation, stranger)
    const answer = await callRest(app.as(caller), operation, ids)
    const isTask = operation.meta.access.resource?.ids[0]?.name === 'task_id'
    if (operation.meta.access.isSilent) expect([answer.status, answer.body.message]).toEqual([500, 'Not Authorized'])
    else if (isTask) expect([answer.status, answer.body.message]).toEqual([403, 'Not authorized'])
    else expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND'])
  })

  it.skipIf(operation.pathIds.length === 0)('answers ids that are 0, negative or huge with 404, and text with 400', async () => {
    const as = app.as(callerFor(operation, account))
    const numeric = operation.pathIds.filter((id) => typeof ids[id] === 'number')
    for (const id of numeric) {
      for (const value of ['0', '-1', '2147483648', '99999999999999999999', 'abc', '1.5', '1e3', '%20']) {
        // Of views, 0 is the Default one.
        if (value === '0' && operation.name === 'views.get' && id === 'view_id') continue
        const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          name === id ? value : encodeURIComponent(String(ids[name])),
        )
        const answer = operation.method === 'GET' ? await as.get(path) : await as.post(path, {})
        const expected = !/^-?\d+$/.test(value) ? 400 : operation.meta.access.isSilent ? 500 : 404
        expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(expected)
        if (expected === 400) expect(answer.body.issues).toContainEqual({ path: [id], message: 'must be a whole number' })
      }
    }
  })

  it.skipIf(operation.method !== 'GET')('refuses parameters that it does not have', async () => {
    const path = pathOf(operation, ids)
    for (const name of ['no_such_key', 'constructor', '__proto__', 'toString', '']) {
      const answer = await app.as(callerFor(operation, account)).get(`${path}?${name}=1`)
      expect([answer.status, answer.body.issues], name).toEqual([400, [{ path: [name], message: 'is not a known key' }]])
    }
  })

  it.skipIf(operation.method === 'GET')('refuses bodies that are no JSON object, too large, or in another encoding', async () => {
    const as = app.as(callerFor(operation, account))
    const path = pathOf(operation, ids)
    const send = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
      as.send(path, { method: 'POST', body, headers: { 'content-type': type } })
    for (const [body, type, status] of [
      ['{', 'application/json', 400],
      ['[]', 'application/json', 400],
      ['null', 'application/json', 400],
      ['"text"', 'application/json', 400],
      ['{"a":1}', 'text/plain', 415],
      ['a=1', 'application/x-www-form-urlencoded', 415],
      ['{"a":1}', 'application/json; charset=utf-16', 415],
      [new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 'application/json', 400],
    ] as const) {
      const answer = await send(body, type)
      expect(answer.status, `${String(body)} as ${type}: ${JSON.stringify(answer.body)}`).toBe(status)
      expect(answer.body.message.length).toBeGreaterThan(5)
    }
    expect((await claiming(operation, path, callerFor(operation, account), (operation.meta.bodyLimit ?? 1_048_576) + 1)).status).toBe(413)
    if (!operation.isPublic) expect((await claiming(operation, path, null, 1_000_000_000)).status).toBe(401)
    const unknown = await as.post(path, { no_such_key: 1, ...Object.fromEntries(operation.bodyIds.map((id) => [id, ids[id]])) })
    expect(unknown.status).toBe(400)
    expect(unknown.body.issues).toContainEqual({ path: ['no_such_key'], message: 'is not a known key' })
  })

  it.skipIf(operation.method === 'GET')('never fails on NUL, half surrogates, long text or wrong types', async () => {
    const as = app.as(callerFor(operation, account))
    const input =
      operation.input &&
      (z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' }) as { properties?: object; required?: string[] })
    const required = (input?.required ?? []).filter((key) => !operation.pathIds.includes(key))
    for (const key of Object.keys(input?.properties ?? {})) {
      if (operation.pathIds.includes(key) || operation.bodyIds.includes(key)) continue
      // Refused from every key with a 403 of its own, before it is judged (test/task-attachments.test.ts).
      if (key === operation.meta.sessionOnlyKey) continue
      for (const value of ['a\0b', 'a\ud800b', 'yes', true, -1, 1.5, [], {}, [[]], { $gt: '' }, ['\0'], null]) {
        // Something else is missing or wrong as well, so that nothing valid is ever sent.
        const answer = await callRest(as, operation, ids, { [key]: value, no_such_key: 1 })
        expect(answer.status, `${key}: ${JSON.stringify(value)} gave ${JSON.stringify(answer.body)}`).toBe(400)
        // Neither the texts of the schema library, nor a need for what may be left out.
        for (const { path, message } of answer.body.issues) {
          expect(message, `${key}: ${JSON.stringify(value)}`).not.toMatch(/Invalid|expected|received|Too (big|small)|must be a valid/)
          if (path.length === 1 && !required.includes(path[0])) expect(message, `${key}: ${JSON.stringify(value)}`).not.toBe('is required')
        }
        if (typeof value === 'string' && value !== 'yes') expect(answer.body.issues[0].path).toEqual([key])
      }
      const long = await callRest(as, operation, ids, { [key]: 'x'.repeat(10_000), no_such_key: 1 })
      expect(long.status).toBe(400)
    }
    for (const key of required) {
      if (operation.bodyIds.includes(key)) continue
      const answer = await callRest(as, operation, ids, {})
      expect(answer.status).toBe(400)
      expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path[0])).toContain(key)
    }
  })
})

it('has changed nothing', async () => {
  expect(await snapshot()).toEqual(before)
})

afterAll(() => app.as(null).get('/healthz'))

/** A request that says how long its body will be, and sends none of it. */
function claiming(
  { method }: Operation,
  path: string,
  caller: ReturnType<typeof callerFor>,
  length: number,
): Promise<Pick<Answer, 'status'>> {
  const credentials: Record<string, string> =
    caller === null
      ? {}
      : typeof caller === 'string'
        ? { authorization: `Bearer ${caller}` }
        : { cookie: `gridpost_session=${caller.session}` }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      app.url + path,
      { method, headers: { ...credentials, 'content-type': 'application/json', 'content-length': length } },
      (answer) => {
        answer.resume()
        outgoing.destroy()
        resolve({ status: answer.statusCode ?? 0 })
      },
    )
    outgoing.on('error', reject)
    outgoing.flushHeaders()
    outgoing.write('{')
  })
}

/** Every row of every system table, but what a mere request may touch. */
async function snapshot(): Promise<Record<string, unknown>> {
  const tables = await app.db.query<{ name: string }>(sql`
    select table_schema || '.' || table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and (table_schema = 'public' or table_schema ~ '^t[0-9]+$')
      and table_name not in ('rate_windows', 'login_failures', '_prisma_migrations')`)
  const entries = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await app.db.query<{ count: number; hash: string }>({
        text: `select count(*), md5(coalesce(string_agg((to_jsonb(r) - 'last_used_at' - 'last_seen_at' - 'expires_at')::text, ',' order by to_jsonb(r)->>'id', r::text), '')) as hash from ${name} r`,
        values: [],
      } as never)
      return [name, row] as const
    }),
  )
  return Object.fromEntries(entries)
}
