/** What a single call of the typed client has of its own: a request, a version, and a login with more keys. */
import type { TRPCClientError } from '@trpc/client'
import { describe, expect, test } from 'vitest'
import { type AppRouter, type CallContext, type Client, createClient } from '../src/client.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account({ withPassword: true })
const { owner, member } = account
const table = await makeTable(app, account, { records: [{ name: 'Acme' }] })
const place = { table_id: table.id, record_id: table.records[0] as number }

interface Sent {
  path: string
  ifMatch: string | null
}

/** A client of the member that notes its requests. */
function noting(): { client: Client; sent: Sent[] } {
  const sent: Sent[] = []
  const client = createClient({
    baseUrl: app.url,
    headers: { cookie: `gridpost_session=${member.session}` },
    fetch: (to, init) => {
      sent.push({ path: new URL(String(to)).pathname.replace('/trpc/', ''), ifMatch: new Headers(init?.headers).get('if-match') })
      return fetch(to, init)
    },
  })
  return { client, sent }
}

const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('the call should fail'),
    ({ data }: TRPCClientError<AppRouter>) => data,
  )

describe('a call that is to be alone', () => {
  test('is a request of its own, whatever is called at the same time', async () => {
    const { client, sent } = noting()
    const context: CallContext = { alone: true }
    await Promise.all([
      client.auth.me.query(),
      client.spaces.list.query({}),
      client.tasks.badgeCount.query(undefined, { context }),
      client.records.query.query({ table_id: table.id }, { context: { alone: true } }),
      client.tasks.create.mutate({ title: 'Alone' }, { context: { alone: true } }),
    ])
    expect(sent.map(({ path }) => path).sort()).toEqual(['auth.me,spaces.list', 'records.query', 'tasks.badgeCount', 'tasks.create'])
  })

  test('is batched again where alone is false', async () => {
    const { client, sent } = noting()
    await Promise.all([client.auth.me.query(undefined, { context: { alone: false } }), client.spaces.list.query({})])
    expect(sent.map(({ path }) => path)).toEqual(['auth.me,spaces.list'])
  })

  test('is aborted without the others', async () => {
    const { client } = noting()
    const ending = new AbortController()
    const [ended, other] = await Promise.allSettled([
      client.records.query.query({ table_id: table.id }, { context: { alone: true }, signal: ending.signal }),
      client.auth.me.query(),
      ending.abort(),
    ])
    expect([ended.status, other.status]).toEqual(['rejected', 'fulfilled'])
  })
})

describe('a call with a version', () => {
  test.each([
    ['the number', (version: number) => version],
    ['the ETag', (version: number) => `"${version}"`],
    ['any', () => '*'],
  ])('changes the row if it still has %s', async (_, ifMatchOf) => {
    const { client, sent } = noting()
    const { id: task_id, version } = await client.tasks.create.mutate({ title: 'Once' })
    const changed = await client.tasks.update.mutate({ task_id, title: 'Twice' }, { context: { ifMatch: ifMatchOf(version) } })
    expect([changed.title, changed.version]).toEqual(['Twice', version + 1])
    expect(sent.at(-1)?.ifMatch).toBe(ifMatchOf(version) === '*' ? '*' : `"${version}"`)
  })

  test('fails with the row as it is now if somebody changed it in between, for every kind of row', async () => {
    const client = app.as(owner).rpc
    const { table_id } = place
    const { id: task_id } = await client.tasks.create.mutate({ title: 'One' })
    const { id: view_id } = await client.views.create.mutate({ table_id, name: 'One', type: 'grid' })
    const { id } = await client.signatures.create.mutate({ name: 'One', html: '<p>One</p>' })
    const { id: field_id } = await client.fields.create.mutate({ table_id, name: 'One', type: 'text' })
    const { id: record_id } = await client.records.create.mutate({ table_id, data: { name: 'One' } })
    const updates: ((context: CallContext) => Promise<{ version?: number | undefined }>)[] = [
      (context) => client.tasks.update.mutate({ task_id, title: 'Two' }, { context }),
      (context) => client.views.update.mutate({ table_id, view_id, name: 'Two' }, { context }),
      (context) => client.signatures.update.mutate({ id, name: 'Two' }, { context }),
      (context) => client.fields.update.mutate({ table_id, field_id, name: 'Two' }, { context }),
      (context) => client.records.update.mutate({ table_id, record_id, data: { name: 'Two' } }, { context }),
    ]
    for (const update of updates) {
      expect((await update({ ifMatch: 1 })).version).toBe(2)
      expect(await failure(update({ ifMatch: 1 }))).toMatchObject({ code: 'CONFLICT', httpStatus: 409, current: { version: 2 } })
    }
  })
})

describe('a login', () => {
  test('takes an object that has more keys than it needs, such as a user with a name', async () => {
    const { email, name } = owner
    const user = { name, email, password: owner.password, note: 'An owner' }
    const signedIn = await createClient({ baseUrl: app.url }).auth.login.mutate(user)
    expect(signedIn).toMatchObject({ email: email.toLowerCase(), name })
  })

  test('is refused as before without a key, and with a wrong one', async () => {
    const { auth } = createClient({ baseUrl: app.url })
    const incomplete = { email: owner.email } as unknown as Parameters<typeof auth.login.mutate>[0]
    expect(await failure(auth.login.mutate(incomplete))).toMatchObject({ httpStatus: 400, issues: [{ path: ['password'] }] })
    const none = undefined as unknown as Parameters<typeof auth.login.mutate>[0]
    expect(await failure(auth.login.mutate(none))).toMatchObject({ httpStatus: 400 })
    expect(await failure(auth.login.mutate({ email: owner.email, password: 'wrong' }))).toMatchObject({ httpStatus: 401 })
  })
})
