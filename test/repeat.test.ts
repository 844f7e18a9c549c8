import { describe, expect, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { testApp } from './support/app.ts'

const app = await testApp()

describe('Idempotency-Key', () => {
  test('replays the first answer for the same body, and refuses another', async () => {
    const { owner, keys } = await app.account()
    const create = (name: string, key: string, caller: typeof owner | string = owner) =>
      app.as(caller).post('/api/spaces/create', { name }, { 'idempotency-key': key })
    const first = await create('Once', 'k1')
    const again = await create('Once', 'k1')
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.body).toEqual(first.body)
    const other = await create('Twice', 'k1')
    expect([other.status, other.body.message]).toEqual([409, 'This Idempotency-Key was used with another body'])
    expect((await create('Once', 'k1', keys.account)).body.id).not.toBe(first.body.id)
    expect((await app.as(owner).get('/api/spaces/list')).body).toHaveLength(4)
    for (const key of ['with space', '', 'x'.repeat(256), 'é'])
      expect(await create('Once', key)).toMatchObject({
        status: 400,
        body: { message: 'Idempotency-Key: must have 1 to 255 visible ASCII characters', issues: [{ path: ['Idempotency-Key'] }] },
      })
    expect((await create('Thrice', 'x'.repeat(255))).status).toBe(200)
    const rpc = await app.as(owner).post('/trpc/spaces.create', { name: 'Once' }, { 'idempotency-key': '' })
    expect([rpc.status, rpc.body.error.message]).toEqual([400, 'Idempotency-Key: must have 1 to 255 visible ASCII characters'])
  })

  test('replays the headers of the first answer, too', async () => {
    const { member } = await app.account()
    const create = async () => {
      const { headers } = await app
        .as(member)
        .post(
          '/api/tasks/create',
          { title: 'Call', assignee_user_id: member.id, assignee_email: member.email },
          { 'idempotency-key': 'headers' },
        )
      return ['etag', 'x-ignored', 'idempotent-replayed'].map((name) => headers.get(name))
    }
    expect(await create()).toEqual(['"1"', 'assignee_email', null])
    expect(await create()).toEqual(['"1"', 'assignee_email', 'true'])
  })

  test('lets only one of two concurrent requests do the work', async () => {
    const { owner } = await app.account()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => app.as(owner).post('/api/spaces/create', { name: 'Race' }, { 'idempotency-key': 'race' })),
    )
    for (const { status, body } of answers)
      expect(status === 200 || body.message === 'A request with this Idempotency-Key is still running').toBe(true)
    expect(new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.id)).size).toBe(1)
    expect((await app.as(owner).get('/api/spaces/list')).body).toHaveLength(3)
  })

  test('stores nothing of a failed request, and expires after a day', async () => {
    const { owner } = await app.account()
    const create = (name: unknown) => app.as(owner).post('/api/spaces/create', { name }, { 'idempotency-key': 'later' })
    expect((await create('')).status).toBe(400)
    const first = await create('Right')
    expect(first.status).toBe(200)
    app.setClock(new Date(Date.now() + 25 * 3_600_000))
    const nextDay = await create('Right')
    app.setClock(null)
    expect(nextDay.status).toBe(200)
    expect(nextDay.body.id).not.toBe(first.body.id)
  })

  test('is sent by each call of an RPC batch', async () => {
    const { keys } = await app.account()
    const both = async () =>
      (
        await app
          .as(keys.account)
          .post('/trpc/spaces.create,spaces.create?batch=1', { 0: { name: 'A' }, 1: { name: 'B' } }, { 'idempotency-key': 'a, b' })
      ).body
    const first = await both()
    expect(first.map(({ result }: { result: { data: { name: string } } }) => result.data.name)).toEqual(['A', 'B'])
    expect(await both()).toEqual(first)
  })

  test('is sent by each call of the client, also with commas', async () => {
    const { keys } = await app.account()
    const client = createClient({ baseUrl: app.url, apiKey: keys.account })
    const both = () =>
      Promise.all([
        client.spaces.create.mutate({ name: 'A' }, { context: { idempotencyKey: 'order-7,line-1' } }),
        client.spaces.create.mutate({ name: 'B' }, { context: { idempotencyKey: 'order-7,line-2' } }),
      ])
    const first = await both()
    expect(first.map(({ name }) => name)).toEqual(['A', 'B'])
    expect(await both()).toEqual(first)
  })
})
