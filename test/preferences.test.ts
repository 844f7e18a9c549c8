/** What programs keep for their user: values by name, versions, limits, and who may read them (contract.md §11, Preferences). */
import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'

const app = await testApp()
const account = await app.account()
const { owner, member, viewer, keys } = account
const KB = 1024

const write = (name: string, value: unknown, { by = member as Caller, headers = {} as Record<string, string> } = {}) =>
  app.as(by).post(`/api/preference/${encodeURIComponent(name)}/update`, { value }, headers)
const list = async (query = '', by: Caller = member) => (await app.as(by).get(`/api/preferences/list${query}`)).body
const namesOf = async (prefix: string, by: Caller = member) =>
  (await list(`?prefix=${encodeURIComponent(prefix)}`, by)).map(({ name }: { name: string }) => name)
/** A string whose JSON has so many bytes. */
const jsonOf = (bytes: number) => 'x'.repeat(bytes - 2)

test('keeps a value, replaces it, lists it and deletes it', async () => {
  const { outsider } = account
  expect((await app.as(outsider).get('/api/preferences/list')).headers.get('x-total-count')).toBe('0')
  const made = await write('draft.1', { to: ['a@b.example'], body: 'Dear' }, { by: outsider })
  const row = {
    name: 'draft.1',
    value: { to: ['a@b.example'], body: 'Dear' },
    version: 1,
    updated_at: expect.stringMatching(/^\d{4}-.* .*:\d\d$/),
  }
  expect([made.status, made.body, made.headers.get('etag')]).toEqual([200, row, '"1"'])
  const changed = await write('draft.1', 'short', { by: outsider })
  expect([changed.body.value, changed.body.version, changed.headers.get('etag')]).toEqual(['short', 2, '"2"'])
  const listed = await app.as(outsider).get('/api/preferences/list')
  expect([listed.body, listed.headers.get('x-total-count')]).toEqual([[changed.body], '1'])
  const gone = await write('draft.1', null, { by: outsider })
  expect([gone.status, gone.body.value, gone.body.version, gone.headers.get('etag')]).toEqual([200, null, 3, '"3"'])
  expect(await list('', outsider)).toEqual([])
})

test.each<[string, unknown]>([
  ['text', 'Grüße 🚀 \u202e <script>'],
  ['an empty text', ''],
  ['a number', -1.5],
  ['false', false],
  ['a list', [1, [2, { a: null }], 'x']],
  ['an empty object', {}],
  ['an object with keys of JavaScript', JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "b": 3, "a": 4}')],
  ['text that is not in NFC', 'e\u0301'],
])('answers %s as it was sent, on REST and RPC', async (title, value) => {
  const name = `kind.${title.replaceAll(/[^a-z]/gi, '').toLowerCase()}`
  const { body } = await write(name, value)
  expect(JSON.stringify(body.value)).toBe(JSON.stringify(value))
  const [listed] = await list(`?prefix=${name}`)
  expect(JSON.stringify(listed.value)).toBe(JSON.stringify(value))
  const {
    rows: [row],
    total,
  } = await app.as(member).rpc.preferences.list.query({ prefix: name })
  expect([row, total]).toEqual([body, 1])
  expect(await app.as(member).rpc.preferences.update.mutate({ name, value })).toEqual(body)
})

test('the same value again keeps the version', async () => {
  const { body } = await write('same', { a: 1 })
  expect((await write('same', { a: 1 })).body).toEqual(body)
})

test('lists names by a prefix, which is no pattern, in the order of their bytes', async () => {
  for (const name of ['p.b', 'p.a', 'p_a', 'pxa', 'p-a', 'p.10', 'p.9', 'q']) await write(name, 1)
  expect(await namesOf('p')).toEqual(['p-a', 'p.10', 'p.9', 'p.a', 'p.b', 'p_a', 'pxa'])
  expect(await namesOf('p.')).toEqual(['p.10', 'p.9', 'p.a', 'p.b'])
  expect(await namesOf('p_')).toEqual(['p_a'])
  for (const prefix of ['%', 'P', 'p.a ', "'", 'p.bb']) expect([prefix, await namesOf(prefix)]).toEqual([prefix, []])
  expect((await app.as(member).get(`/api/preferences/list?prefix=${'p'.repeat(101)}`)).status).toBe(400)
})

test('a name of digits stays what it is', async () => {
  await write('007', 'Bond')
  await write('7', 'seven')
  await write('900719925474099312345', 'large')
  expect(await list('?prefix=00')).toMatchObject([{ name: '007', value: 'Bond', version: 1 }])
  expect(await list('?prefix=7')).toMatchObject([{ name: '7', value: 'seven', version: 1 }])
  expect(await list('?prefix=9007')).toMatchObject([{ name: '900719925474099312345', value: 'large' }])
})

describe('names and values', () => {
  const NAME = 'name: must have 1 to 100 characters of a-z, 0-9, dot, _ and -'
  test.each([['A'], ['a b'], ['ä'], ['a/b'], ['a'.repeat(101)], ['a\n'], ['%00']])('the name %j is refused', async (name) => {
    const { status, body } = await write(name, 1)
    expect([status, body.message]).toEqual([400, NAME])
  })

  test.each([['a'.repeat(100)], ['...'], ['-'], ['_'], ['a.b-c_d.0']])('the name %j is taken', async (name) => {
    expect((await write(name, 1)).status).toBe(200)
  })

  test('a name in the body, an unknown key, and no value are refused', async () => {
    const post = (body: unknown) => app.as(member).post('/api/preference/n/update', body)
    expect((await post({ name: 'n', value: 1 })).body.message).toBe('name: is given in the path, not in the body')
    expect((await post({ value: 1, more: 1 })).body.message).toBe('more: is not a known key')
    expect((await post({})).body.message).toBe('value: is required')
    expect((await post(undefined)).body.message).toBe('value: is required')
    expect(await namesOf('n')).toEqual([])
  })

  test.each([
    ['NUL', '{"value": ["a\\u0000"]}', 'value[0]: must not contain NUL'],
    ['half a surrogate pair', '{"value": {"a": "\\ud800"}}', 'value.a: must not contain half a surrogate pair'],
    ['a key with NUL', '{"value": {"\\u0000": 1}}', 'value: must not have keys with NUL or half a surrogate pair'],
    ['a number beyond all', '{"value": [1e999]}', 'value: must not have numbers beyond ±1.8e308'],
    ['65 levels', `{"value": ${'['.repeat(66)}${']'.repeat(66)}}`, 'value: must not be nested deeper than 64'],
  ])('%s in a value is refused', async (_, body, message) => {
    const answer = await app.as(member).send('/api/preference/n/update', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect([answer.status, answer.body.message]).toEqual([400, message])
  })
})

describe('If-Match', () => {
  test('writes over the version that was read, and over no other', async () => {
    const { body: first } = await write('tabs', 'one')
    const second = await write('tabs', 'two', { headers: { 'if-match': '"1"' } })
    expect([second.status, second.body.version]).toEqual([200, 2])
    const late = await write('tabs', 'three', { headers: { 'if-match': `"${first.version}"` } })
    expect([late.status, late.body.message, late.body.current, late.headers.get('etag')]).toEqual([
      409,
      'The preference has changed since',
      second.body,
      '"2"',
    ])
    expect((await write('tabs', 'four', { headers: { 'if-match': '*' } })).body.version).toBe(3)
    expect((await write('tabs', null, { headers: { 'if-match': '"2"' } })).status).toBe(409)
  })

  test('of a name without a value is "0", or the version of its deletion', async () => {
    const onlyNew = (value: unknown) => write('fresh', value, { headers: { 'if-match': '"0"' } })
    expect((await onlyNew('a')).status).toBe(200)
    expect((await onlyNew('b')).body).toMatchObject({ code: 'CONFLICT', current: { name: 'fresh', value: 'a', version: 1 } })
    expect((await write('fresh', null, { headers: { 'if-match': '"1"' } })).body.version).toBe(2)
    // Another tab still has version 1 of what was deleted.
    const stale = await write('fresh', 'old', { headers: { 'if-match': '"1"' } })
    expect([stale.status, stale.body.current]).toEqual([409, { name: 'fresh', value: null, version: 2, updated_at: expect.any(String) }])
    expect((await onlyNew('c')).body).toMatchObject({ value: 'c', version: 3 })
    expect((await onlyNew('d')).status).toBe(409)
    expect((await write('fresh', 'old', { headers: { 'if-match': '"1"' } })).status).toBe(409)
  })

  test('deleting what is not there answers so, twice', async () => {
    const none = { name: 'never', value: null, version: 0, updated_at: null }
    for (const _ of [1, 2]) expect((await write('never', null)).body).toEqual(none)
    expect((await write('never', 1, { headers: { 'if-match': '"1"' } })).body).toMatchObject({ code: 'CONFLICT', current: none })
  })

  test('lets one of two at once win, on REST and RPC', async () => {
    await write('race', 0)
    const answers = await Promise.all([1, 2, 3, 4].map((value) => write('race', value, { headers: { 'if-match': '"1"' } })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    expect((await list('?prefix=race'))[0].version).toBe(2)
    const twice = await Promise.all([5, 6].map((value) => write('race', value)))
    expect(twice.map(({ body }) => body.version).sort()).toEqual([3, 4])
  })
})

describe('who', () => {
  test('each user has values of their own, with sessions and personal keys', async () => {
    await write('mine', 'of Max')
    await write('mine', 'of Vera', { by: viewer })
    expect(await list('?prefix=mine')).toMatchObject([{ value: 'of Max', version: 1 }])
    expect(await list('?prefix=mine', viewer)).toMatchObject([{ value: 'of Vera', version: 1 }])
    expect(await list('?prefix=mine', keys.personal)).toMatchObject([{ value: 'of Max' }])
    expect((await write('mine', 'by key', { by: keys.personal })).body.version).toBe(2)
    expect(await list('?prefix=mine', owner)).toEqual([])
  })

  test('account keys are refused, read-only keys read, and nobody is nobody', async () => {
    const refused = { status: 403, body: expect.objectContaining({ message: 'API endpoint not available to API keys' }) }
    expect(await app.as(keys.account).get('/api/preferences/list')).toMatchObject(refused)
    expect(await write('a', 1, { by: keys.account })).toMatchObject(refused)
    expect((await app.as(keys.account).post('/trpc/preferences.update', { name: 'a', value: 1 })).status).toBe(403)
    const readOnly = await account.keyOf({ accountId: account.id, userId: member.id }, { kind: 'personal', read_only: true })
    expect(await namesOf('mine', readOnly)).toEqual(['mine'])
    expect(await write('a', 1, { by: readOnly })).toMatchObject({ status: 403, body: { message: 'API key is read-only' } })
    expect((await write('a', 1, { by: null })).status).toBe(401)
    // Whoever may not write is told so before the body is judged.
    expect((await write('A', 1, { by: keys.account })).status).toBe(403)
  })
})

describe('limits', () => {
  test('a value has at most 256 KB as JSON', async () => {
    const { outsider: by } = await app.account()
    expect((await write('large', jsonOf(256 * KB), { by })).status).toBe(200)
    const over = await write('large', jsonOf(256 * KB + 1), { by })
    expect([over.status, over.body.message]).toEqual([400, 'value: must have at most 256 KB of JSON'])
    // Bytes of UTF-8, not characters.
    expect((await write('umlauts', 'ü'.repeat(128 * KB), { by })).status).toBe(400)
    expect((await write('umlauts', 'ü'.repeat(128 * KB - 1), { by })).status).toBe(200)
    const rpc = await app.as(by).post('/trpc/preferences.update', { name: 'large', value: jsonOf(256 * KB + 1) })
    expect(rpc.status).toBe(400)
  })

  test('a user has at most 4 MB, whoever writes at once', async () => {
    const { outsider: by } = await app.account()
    await Promise.all(Array.from({ length: 15 }, (_, i) => write(`full.${i}`, jsonOf(256 * KB), { by })))
    const last = await Promise.all(['a', 'b', 'c', 'd'].map((name) => write(name, jsonOf(128 * KB), { by })))
    expect(last.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400])
    const message = 'value: is too large: the preferences of a user have at most 4 MB together'
    expect(last.find(({ status }) => status === 400)?.body.message).toBe(message)
    expect((await write('one', 1, { by })).status).toBe(400)
    // What is there may be replaced by as much, shortened and deleted.
    expect((await write('full.0', 'y'.repeat(256 * KB - 2), { by })).status).toBe(200)
    expect((await write('full.1', null, { by })).status).toBe(200)
    expect((await write('one', 1, { by })).status).toBe(200)
  })

  test('a user has at most 500, whoever writes at once, and deleted ones do not count', async () => {
    const { outsider: by } = await app.account()
    await app.db.write(sql`
      insert into preferences (user_id, name, value) select ${by.id}::int, 'n.' || i, '1' from generate_series(1, 498) i`)
    await app.db.write(sql`
      insert into preferences (user_id, name, value) select ${by.id}::int, 'deleted.' || i, null from generate_series(1, 20) i`)
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => write(name, 1, { by })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400])
    expect(answers.find(({ status }) => status === 400)?.body.message).toBe('name: is one too many: a user has at most 500 preferences')
    expect((await list('', by)).length).toBe(500)
    expect((await write('n.1', 2, { by })).status).toBe(200)
    expect((await write('n.1', null, { by })).status).toBe(200)
    expect((await write('e', 1, { by })).status).toBe(200)
  })

  test('the names of at most 500 deleted values are remembered, the last ones', async () => {
    const { outsider: by } = await app.account()
    await app.db.write(sql`
      insert into preferences (user_id, name, value, version, updated_at)
      select ${by.id}::int, 'old.' || i, null, 2, '2020-01-01'::timestamp + i * interval '1 day' from generate_series(1, 500) i`)
    await write('new', 1, { by })
    expect((await write('new', null, { by })).body.version).toBe(2)
    expect((await write('old.1', 1, { by })).body.version).toBe(1)
    expect((await write('old.2', 1, { by })).body.version).toBe(3)
    expect((await write('new', 1, { by })).body.version).toBe(3)
  })
})

test('nothing is kept for a user who is erased meanwhile', async () => {
  const other = await app.account({ withPassword: true })
  await write('draft', 'x', { by: other.member })
  const erasing = app.as(other.owner).post(`/api/user/${other.member.id}/erase`, { current_password: other.owner.password })
  const writing = Promise.all(Array.from({ length: 4 }, (_, i) => write(`draft.${i}`, 'x', { by: other.member })))
  expect((await erasing).body).toEqual({ ok: true })
  for (const { status } of await writing) expect([200, 401]).toContain(status)
  expect(await app.db.read(sql`select name from preferences where user_id = ${other.member.id}`)).toEqual([])
})

test('a disabled user has them again when enabled', async () => {
  const other = await app.account()
  await write('theme', 'dark', { by: other.member })
  await app.as(other.owner).post(`/api/user/${other.member.id}/disable`)
  expect((await write('theme', 'light', { by: other.member })).status).toBe(401)
  await app.as(other.owner).post(`/api/user/${other.member.id}/enable`)
  expect(await app.db.read(sql`select value from preferences where user_id = ${other.member.id}`)).toEqual([{ value: '"dark"' }])
})
