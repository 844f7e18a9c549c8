/**
 * Sends bad input of every general kind (credentials, ids, bodies, texts) to every operation that it applies to. No answer is a 500, and
 * nothing changes.
 */
import { request } from 'node:http'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sql } from '../src/platform/database/database.ts'
import { newKeySecret } from '../src/platform/secrets/secrets.ts'
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
  'a key that was never created': newKeySecret('account'),
  'a revoked key': revoked.secret,
  'an expired key': await account.keyOf(keyOfOwner, { kind: 'account', expires_at: '2020-01-01 00:00:00' }),
  'a key for other addresses': await account.keyOf(keyOfOwner, { kind: 'account', ip_allowlist: ['203.0.113.0/24', '2001:db8::/32'] }),
}
const before = await snapshot()

const secured = operations.filter(({ isPublic }) => !isPublic)
const forKeys = operations.filter((operation) => admits(operation, 'account'))
/** A path that names no resource has a name of the caller's own. */
const withIds = operations.filter(({ pathIds, meta }) => pathIds.length > 0 && meta.access.resource)
const withBody = operations.filter(({ method }) => method === 'POST')

describe('a bad key is refused with 401, on REST and RPC', () => {
  test.each(byName(secured))('by %s', async (_, operation) => {
    const ids = idsFor(operation, known)
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
})

describe('a caller of a kind that the operation does not admit gets 403', () => {
  const callerOf = { session: account.owner, account: account.keys.account, personal: account.keys.personal }
  const kinds = Object.keys(callerOf) as (keyof typeof callerOf)[]
  const cases = secured.flatMap((operation) =>
    kinds.filter((kind) => !admits(operation, kind)).map((kind) => [kind, operation.name, operation] as const),
  )
  test.each(cases)('%s: %s', async (kind, _, operation) => {
    const answer = await callRest(app.as(callerOf[kind]), operation, idsFor(operation, known))
    expect(answer.status).toBe(403)
    if (kind === 'personal' && admits(operation, 'account')) {
      expect(answer.body.message).toBe('Endpoint not available to personal API keys')
    } else if (kind !== 'session') {
      expect(answer.body.message).toBe('API endpoint not available to API keys')
    }
  })
})

describe('a read-only key is refused', () => {
  const writes = forKeys.filter(({ type, meta }) => (meta.access.effect ?? (type === 'mutation' ? 'write' : 'read')) === 'write')
  test.each(byName(writes))('by %s', async (_, operation) => {
    const answer = await callRest(app.as(account.keys.accountReadOnly), operation, idsFor(operation, known))
    expect([answer.status, answer.body.message]).toEqual([403, 'API key is read-only'])
  })
})

describe('a key whose whitelist holds only another space is refused', () => {
  const inSpace = forKeys.filter(({ pathIds }) => pathIds.includes('space_id') || pathIds.includes('table_id'))
  test.each(byName(inSpace))('by %s', async (_, operation) => {
    const answer = await callRest(app.as(account.keys.accountOtherSpace), operation, idsFor(operation, known))
    if (operation.meta.access.isSilent) expect([answer.status, answer.body.message]).toEqual([500, 'Not Authorized'])
    else expect([answer.status, answer.body.message]).toEqual([403, 'API key not authorized for this workspace'])
  })
})

describe('the resources of another account are hidden', () => {
  // A name is of the caller's own.
  const withNumbers = withIds.filter((operation) => operation.pathIds.some((id) => typeof idsFor(operation, known)[id] === 'number'))
  test.each(byName(withNumbers))('by %s', async (_, operation) => {
    const answer = await callRest(app.as(callerFor(operation, stranger)), operation, idsFor(operation, known))
    const isTask = operation.meta.access.resource?.ids[0]?.name === 'task_id'
    if (operation.meta.access.isSilent) expect([answer.status, answer.body.message]).toEqual([500, 'Not Authorized'])
    else if (isTask) expect([answer.status, answer.body.message]).toEqual([403, 'Not authorized'])
    else expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND'])
  })
})

describe('an id that is not a positive 32-bit number', () => {
  const cases = withIds.flatMap((operation) =>
    operation.pathIds
      .filter((id) => typeof idsFor(operation, known)[id] === 'number')
      .map((id) => [id, operation.name, operation] as const),
  )
  /** Calls the operation with a text in place of one of its ids. */
  const callWith = (operation: Operation, id: string, text: string) => {
    const ids = idsFor(operation, known)
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === id ? text : encodeURIComponent(String(ids[name]))))
    const as = app.as(callerFor(operation, account))
    return operation.method === 'GET' ? as.get(path) : as.post(path, {})
  }

  test.each(cases)('answers 404 to a number as %s of %s', async (id, name, operation) => {
    // View 0 is the Default view.
    const zero = name === 'views.get' && id === 'view_id' ? [] : ['0']
    for (const number of [...zero, '-1', '2147483648', '99999999999999999999']) {
      const answer = await callWith(operation, id, number)
      expect(answer.status, `${number}: ${JSON.stringify(answer.body)}`).toBe(operation.meta.access.isSilent ? 500 : 404)
    }
  })

  test.each(cases)('answers 400 to a text as %s of %s', async (id, _, operation) => {
    for (const text of ['abc', '1.5', '1e3', '%20']) {
      const answer = await callWith(operation, id, text)
      expect(answer.status, `${text}: ${JSON.stringify(answer.body)}`).toBe(400)
      expect(answer.body.issues).toContainEqual({ path: [id], message: 'must be a whole number' })
    }
  })
})

describe('an unknown parameter of a query string is ignored', () => {
  test.each(byName(operations.filter(({ method }) => method === 'GET')))('by %s', async (_, operation) => {
    const path = pathOf(operation, idsFor(operation, known))
    const as = app.as(callerFor(operation, account))
    const plain = await as.get(path)
    for (const name of ['no_such_key', 'constructor', '__proto__', 'toString', '', ...operation.pathIds]) {
      const answer = await as.get(`${path}?${name}=1`)
      expect(answer.status, `${name}: ${JSON.stringify(answer.body)}`).toBe(plain.status)
    }
  })
})

describe('a body that is not a JSON object, is too large or has another encoding is refused', () => {
  test.each(byName(withBody))('by %s', async (_, operation) => {
    const ids = idsFor(operation, known)
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
    const { upload, bodyLimit = 1_048_576 } = operation.meta
    const tooMany = upload ? 2 * upload.maxBytes : bodyLimit + 1
    expect((await claiming(operation, path, callerFor(operation, account), tooMany)).status).toBe(413)
    if (!operation.isPublic) expect((await claiming(operation, path, null, 1_000_000_000)).status).toBe(401)
    const unknown = await as.post(path, { no_such_key: 1, ...Object.fromEntries(operation.bodyIds.map((id) => [id, ids[id]])) })
    expect(unknown.status).toBe(400)
    expect(unknown.body.issues).toContainEqual({ path: ['no_such_key'], message: 'is not a known key' })
  })
})

describe('a value of the wrong type, NUL, half a surrogate pair or a long text is refused', () => {
  /** Sends a value that is wrong for most keys. Something else is missing or wrong, too, so that no valid request is ever sent. */
  async function sendWrong(operation: Operation, required: readonly unknown[], key: string, value: unknown): Promise<void> {
    const sent = `${key}: ${JSON.stringify(value)}`
    const as = app.as(callerFor(operation, account))
    const answer = await callRest(as, operation, idsFor(operation, known), { [key]: value, no_such_key: 1 })
    expect(answer.status, `${sent} gave ${JSON.stringify(answer.body)}`).toBe(400)
    // The messages never quote the schema library, and never demand an optional key.
    for (const { path, message } of answer.body.issues) {
      expect(message, sent).not.toMatch(/Invalid|expected|received|Too (big|small)|must be a valid/)
      if (path.length === 1 && !required.includes(path[0])) expect(message, sent).not.toBe('is required')
    }
    if (typeof value === 'string' && value !== 'yes') expect(answer.body.issues[0].path).toEqual([key])
  }

  test.each(byName(withBody))('by %s', async (_, operation) => {
    const { keys, required } = keysOf(operation)
    for (const key of keys) {
      for (const value of ['a\0b', 'a\ud800b', 'yes', true, -1, 1.5, [], {}, [[]], { $gt: '' }, ['\0'], null])
        await sendWrong(operation, required, key, value)
      const long = { [key]: 'x'.repeat(10_000), no_such_key: 1 }
      expect((await callRest(app.as(callerFor(operation, account)), operation, idsFor(operation, known), long)).status).toBe(400)
    }
    for (const key of required.filter((name) => !operation.bodyIds.includes(name))) {
      const answer = await callRest(app.as(callerFor(operation, account)), operation, idsFor(operation, known), {})
      expect(answer.status).toBe(400)
      expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path[0])).toContain(key)
    }
  })
})

test('nothing has changed', async () => {
  expect(await snapshot()).toEqual(before)
})

afterAll(() => app.as(null).get('/healthz'))

function byName(of: readonly Operation[]): (readonly [string, Operation])[] {
  return of.map((operation) => [operation.name, operation])
}

function admits({ meta }: Operation, kind: string): boolean {
  return (meta.access.callers as readonly string[]).includes(kind)
}

/** The keys of the body, and the required ones among them. Ids and a key that only sessions may send are left out of `keys`. */
function keysOf({ input, pathIds, bodyIds, meta }: Operation): { keys: string[]; required: string[] } {
  const schema = input && (z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as { properties?: object; required?: string[] })
  // A key that only sessions may send is refused from every API key with 403, before it is validated (test/task-attachments.test.ts).
  const others = [...pathIds, ...bodyIds, meta.sessionOnlyKey]
  return {
    keys: Object.keys(schema?.properties ?? {}).filter((key) => !others.includes(key)),
    required: (schema?.required ?? []).filter((key) => !pathIds.includes(key)),
  }
}

/** Sends a request that announces the length of its body, but only one byte of it. */
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

/** Counts and hashes the rows of every table, without the columns and tables that any request may change. */
async function snapshot(): Promise<Record<string, unknown>> {
  const tables = await app.db.read<{ name: string }>(sql`
    select table_schema || '.' || table_name as name from information_schema.tables
    where table_type = 'BASE TABLE' and (table_schema = 'public' or table_schema ~ '^t[0-9]+$')
      and table_name not in ('rate_windows', 'login_failures', 'last_seen', '_prisma_migrations')`)
  const entries = await Promise.all(
    tables.map(async ({ name }) => {
      // With the time of its last use a session gets the address and the program.
      const ofLastUse = name === 'public.sessions' ? "- 'ip' - 'user_agent'" : ''
      const [row] = await app.db.read<{ count: number; hash: string }>({
        text: `select count(*), md5(coalesce(string_agg((to_jsonb(r) - 'last_used_at' - 'last_seen_at' - 'expires_at' ${ofLastUse})::text, ',' order by to_jsonb(r)->>'id', r::text), '')) as hash from ${name} r`,
        values: [],
      } as never)
      return [name, row] as const
    }),
  )
  return Object.fromEntries(entries)
}
