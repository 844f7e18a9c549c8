import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Self } from '../src/keys/schema.ts'
import { rotate, update } from '../src/keys/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { formatInstant } from '../src/platform/time/time.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()

describe('API keys', () => {
  test('are created by the session of their holder, work at once, and show their secret once', async () => {
    const { owner, member } = await app.account()
    const made = await app
      .as(owner)
      .post('/api/keys/create', { kind: 'account', name: '  Website form ', expires_at: '2099-01-01 00:00:00' })
    expect(made.status).toBe(200)
    expect(made.body.secret).toMatch(/^gp_acct_[0-9A-Za-z]{49}$/)
    expect(made.body).toMatchObject({
      kind: 'account',
      name: 'Website form',
      read_only: false,
      space_ids: null,
      ip_allowlist: [],
      expires_at: '2099-01-01 00:00:00',
    })
    const self = await app.as(made.body.secret).get('/api/key/self')
    expect(self.body).toMatchObject({ key: { id: made.body.id }, acts_as: { id: owner.id } })
    expect(self.body.key).not.toHaveProperty('secret')

    const personal = await app.as(member).rpc.keys.create.mutate({ kind: 'personal', name: 'Mine' })
    expect(personal.secret).toMatch(/^gp_user_/)
    expect((await app.as(personal.secret).rpc.keys.self.query()).acts_as.id).toBe(member.id)
  })

  test('are visible to their holder only, and those of the account to its owner', async () => {
    const { owner, member } = await app.account()
    expect((await app.as(member).post('/api/keys/create', { kind: 'account', name: 'No' })).body.message).toBe('Not authorized')
    const mine = await app.as(member).rpc.keys.create.mutate({ kind: 'personal', name: 'Mine' })
    expect((await app.as(owner).post(`/api/key/${mine.id}/rotate`)).status).toBe(404)
    const names = (await app.as(owner).get('/api/keys/list')).body.map(({ name }: { name: string }) => name)
    expect(names).not.toContain('Mine')
    expect((await app.as(member).get('/api/keys/list')).body[0]).toMatchObject({ id: mine.id, name: 'Mine' })
  })

  test('stop working at once when they are rotated or deleted', async () => {
    const { owner } = await app.account()
    const first = await app.as(owner).rpc.keys.create.mutate({ kind: 'account', name: 'Turning' })
    const second = await app.as(owner).rpc.keys.rotate.mutate({ key_id: first.id })
    expect(second.id).toBe(first.id)
    expect((await app.as(first.secret).get('/api/key/self')).status).toBe(401)
    expect((await app.as(second.secret).get('/api/key/self')).status).toBe(200)
    expect((await app.as(owner).post(`/api/key/${first.id}/delete`)).body).toEqual({ ok: true })
    expect((await app.as(second.secret).get('/api/key/self')).status).toBe(401)
    expect((await app.as(owner).post(`/api/key/${first.id}/delete`)).body.message).toBe('Key not found')
  })

  test('whose lists were set to NULL by SQL may be used from anywhere, but in no space, and are listed', async () => {
    const { id, owner, space, keyOf } = await app.account()
    const secret = await keyOf({ accountId: id, userId: owner.id }, { kind: 'account', name: 'By SQL' })
    await app.db.write(sql`
      update api_keys set ip_allowlist = null, all_spaces = false, space_ids = null where token_hash = ${Buffer.from(tokenHash(secret))}`)
    expect((await app.as(secret).get(`/api/space/${space}/get`)).body.message).toBe('API key not authorized for this workspace')
    const listed = (await app.as(owner).get('/api/keys/list')).body.find(({ name }: { name: string }) => name === 'By SQL')
    expect(listed).toMatchObject({ ip_allowlist: [], space_ids: [] })
  })

  test('work only within their spaces, addresses and time', async () => {
    const { owner, space, otherSpace } = await app.account()
    const stranger = await app.account()
    const { id, secret } = await app
      .as(owner)
      .rpc.keys.create.mutate({ kind: 'account', name: 'Narrow', space_ids: [otherSpace], ip_allowlist: ['127.0.0.0/8', '::1'] })
    expect((await app.as(secret).get(`/api/space/${space}/get`)).body.message).toBe('API key not authorized for this workspace')
    expect((await app.as(secret).get('/api/spaces/list')).body).toHaveLength(1)
    const change = (body: unknown) => app.as(owner).post(`/api/key/${id}/update`, body)
    expect((await change({ space_ids: [stranger.space] })).body.message).toBe('space_ids[0]: is not a space of this account')
    expect((await change({ ip_allowlist: ['300.1.1.1'] })).body.message).toBe('ip_allowlist[0]: must be an IP address or a CIDR range')
    expect((await change({ ip_allowlist: ['10.0.0.0/33'] })).status).toBe(400)
    expect((await change({ space_ids: null })).body.space_ids).toBeNull()
    expect((await app.as(secret).get(`/api/space/${space}/get`)).status).toBe(200)
    await change({ ip_allowlist: ['10.0.0.0/8'] })
    expect((await app.as(secret).get('/api/key/self')).body.message).toBe('The API key may not be used from this address')
    await change({ ip_allowlist: null, expires_at: '2026-02-30 00:00:00' }).then(({ status }) => expect(status).toBe(400))
    await change({ ip_allowlist: null, expires_at: '2020-01-01 00:00:00' })
    expect((await app.as(secret).get('/api/key/self')).body.message).toBe('The API key has expired')
  })

  test('are not created with an end that has come already, over REST and RPC', async () => {
    app.setClock(new Date('2030-05-01T10:00:00Z'))
    onTestFinished(() => app.setClock(null))
    const { owner } = await app.account()
    const create = (expires_at: string) => app.as(owner).post('/api/keys/create', { kind: 'personal', name: 'Brief', expires_at })
    for (const past of ['2020-01-01 00:00:00', '2030-05-01 10:00:00', '2030-05-01T11:59:00+02:00']) {
      const refused = await create(past)
      expect([refused.status, refused.body.message]).toEqual([400, 'expires_at: must be in the future'])
      const byRpc = app.as(owner).rpc.keys.create.mutate({ kind: 'personal', name: 'Brief', expires_at: past })
      await expect(byRpc).rejects.toMatchObject({ data: { httpStatus: 400, issues: [{ path: ['expires_at'] }] } })
    }
    const made = await create('2030-05-01 10:00:01')
    expect((await app.as(made.body.secret).get('/api/key/self')).status).toBe(200)
    app.setClock(new Date('2030-05-01T10:00:01Z'))
    expect((await app.as(made.body.secret).get('/api/key/self')).body.message).toBe('The API key has expired')
  })

  test('record their last use at most once a minute', async () => {
    const { owner, keys } = await app.account()
    const lastUsed = async () => (await app.as(owner).get('/api/keys/list')).body.at(-1).last_used_at
    const start = Math.trunc(Date.now() / 1000) * 1000
    const useAfter = (seconds: number) => {
      app.setClock(new Date(start + seconds * 1000))
      return app.as(keys.account).get('/api/key/self')
    }
    await useAfter(0)
    await expect.poll(lastUsed).toBe(formatInstant(new Date(start)))
    await useAfter(59)
    await useAfter(60)
    await expect.poll(lastUsed).toBe(formatInstant(new Date(start + 60_000)))
    app.setClock(null)
  })

  test('record the last use of many that are used at once, one of which is being changed', async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => app.account()))
    const ids = accounts.map(({ id }) => id)
    const used = async () => {
      const rows = await app.db.read<{ account_id: number }>(
        sql`select distinct account_id from api_keys where account_id = any(${ids}) and last_used_at is not null order by account_id`,
      )
      return rows.map(({ account_id }) => account_id)
    }
    const [locked, ...others] = ids.toSorted((a, b) => a - b)
    const useAll = () => Promise.all(accounts.map(({ keys }) => app.as(keys.account).get('/api/key/self')))
    const changing = await app.db.connect()
    await changing.query(`begin; select from api_keys where account_id = ${locked} for update`)
    await useAll()
    await expect.poll(used).toEqual(others)
    await changing.end()
    // The use of the locked key was left out, so the first one for which the key is looked up again is recorded.
    app.setClock(new Date(Date.now() + 31_000))
    await useAll()
    await expect.poll(used).toEqual([locked, ...others])
    app.setClock(null)
  })

  test('win over a cookie when both are sent', async () => {
    const { owner, keys } = await app.account()
    const both = { authorization: `Bearer ${keys.accountReadOnly}`, cookie: `gridpost_session=${owner.session}` }
    expect((await app.as(null).get('/api/auth/me', both)).body.message).toBe('API endpoint not available to API keys')
  })

  test('count by request where callers share a connection, also after one of them is deleted', async () => {
    const [one, other] = [await app.account(), await app.account()]
    const key = await app.as(one.owner).rpc.keys.create.mutate({ kind: 'personal', name: 'Shared' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sockets = new Set<unknown>()
    /** The id of the user for whom the key acts; the status of a refusal. */
    const whoIs = (authorization?: string) =>
      new Promise<number>((resolve, reject) => {
        const asked = get(`${app.url}/api/key/self`, { agent, headers: authorization ? { authorization } : {} }, (answer) => {
          sockets.add(answer.socket)
          json(answer).then((body) => resolve(answer.statusCode === 200 ? (body as Self).acts_as.id : (answer.statusCode ?? 0)), reject)
        })
        asked.on('error', reject)
      })
    const [first, second] = [`Bearer ${key.secret}`, `Bearer ${other.keys.personal}`]
    const asked = [first, first, second, first, undefined, `${first}x`, second]
    const found: number[] = []
    for (const authorization of asked) found.push(await whoIs(authorization))
    expect(found).toEqual([one.owner.id, one.owner.id, other.member.id, one.owner.id, 401, 401, other.member.id])
    expect(await whoIs(first)).toBe(one.owner.id)
    await app.as(one.owner).post(`/api/key/${key.id}/delete`, {})
    expect(await whoIs(first)).toBe(401)
    expect(sockets.size).toBe(1)
    agent.destroy()
  })

  test('answer a change of a key that is being deleted like a change of an unknown key', async () => {
    const { owner } = await app.account()
    const statuses: number[] = []
    for (let round = 0; round < 5; round++) {
      const { id } = await app.as(owner).rpc.keys.create.mutate({ kind: 'personal', name: 'Brief' })
      const answers = await Promise.all(
        ['rotate', 'update', 'delete', 'rotate', 'update'].map((change) => app.as(owner).post(`/api/key/${id}/${change}`, {})),
      )
      statuses.push(...answers.map(({ status }) => status))
    }
    const gone = { found_key_id: 2_147_483_647, kind: 'personal' as const }
    const context = systemContext(app.deps)
    await expect(rotate(context, gone)).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'Key not found' })
    await expect(update(context, gone, { name: 'Gone' })).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'Key not found' })
    for (const status of statuses) expect([200, 404]).toContain(status)
  })

  test('that end while a slow body is sent write nothing', async () => {
    const account = await app.account()
    const { path, id } = await makeTable(app, account)
    const losses = [
      (secret: string) => app.db.write(sql`delete from api_keys where token_hash = ${tokenHash(secret)}`),
      (secret: string) => app.db.write(sql`update api_keys set read_only = true where token_hash = ${tokenHash(secret)}`),
    ]
    const statuses = []
    for (const lose of losses) {
      const secret = await account.keyOf({ accountId: account.id, userId: account.owner.id }, { kind: 'account' })
      const outgoing = request(`${app.url}${path}/records/create`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      })
      const answer = once(outgoing, 'response') as Promise<[IncomingMessage]>
      outgoing.write('{"data": ')
      const isUsed = () => app.db.read(sql`select from api_keys where token_hash = ${tokenHash(secret)} and last_used_at is not null`)
      await expect.poll(async () => (await isUsed()).length).toBe(1)
      await lose(secret)
      app.setClock(new Date(Date.now() + 20_000))
      outgoing.end('{"name": "late"}}')
      const [response] = await answer
      response.resume()
      statuses.push(response.statusCode)
      app.setClock(null)
    }
    expect(statuses).toEqual([401, 403])
    expect(await app.db.read(sql`select from ${recordsOf(id)}`)).toEqual([])
  })
})
