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

  test('has a part for each call of an RPC batch, which may be empty; with more or fewer no call runs', async () => {
    const { owner } = await app.account()
    const batch = (paths: string, inputs: object[], key: string, query = 'batch=1') =>
      app.as(owner).post(`/trpc/${paths}?${query}`, { ...inputs }, { 'idempotency-key': key })
    const two = (key: string, query?: string) => batch('spaces.create,spaces.create', [{ name: 'A' }, { name: 'B' }], key, query)
    const count = async () => (await app.as(owner).get('/api/spaces/list')).body.length as number
    const before = await count()
    for (const key of ['a', 'a,b,c', 'a,b,', ',a,b', '']) {
      for (const query of ['batch=1', '%62atch=1', 'input=1&batch=1', 'batch=%31#']) {
        const { status, body } = await two(key, query)
        expect([key, query, status]).toEqual([key, query, 400])
        const parts = key.split(',').length
        const message = `Idempotency-Key: must have a part for each call of the batch, separated by commas: 2, not ${parts}`
        for (const { error } of body) {
          expect(error.data).toMatchObject({ message, code: 'BAD_REQUEST', httpStatus: 400, issues: [{ path: ['Idempotency-Key'] }] })
        }
        expect(body).toHaveLength(2)
      }
    }
    expect(await count()).toBe(before)

    // Neither a path nor a comma is hidden by encoding it, and none is decoded twice.
    const hidden = await app
      .as(owner)
      .post('/%74rpc/spaces.create%2Cspaces.create?batch=1', { 0: { name: 'A' } }, { 'idempotency-key': 'a' })
    expect([hidden.status, hidden.body.length]).toEqual([400, 2])
    const twice = await batch('spaces.create%252Cspaces.create', [{ name: 'A' }, { name: 'B' }], 'a')
    expect([twice.status, await count()]).toEqual([404, before])

    // Calls that read are refused as well, and so are those of a path whose commas are encoded.
    const reads = await batch('spaces.list,auth.me', [{}, {}], 'a')
    expect([reads.status, ...reads.body.map(({ error }: { error: { data: object } }) => error.data)]).toMatchObject([
      400,
      { issues: [{ path: ['Idempotency-Key'] }] },
      { issues: [{ path: ['Idempotency-Key'] }] },
    ])
    expect((await batch('spaces.create%2Cspaces.create', [{ name: 'A' }, { name: 'B' }], 'a')).status).toBe(400)
    expect(await count()).toBe(before)

    const ids = ({ body }: { body: { result: { data: { id: number } } }[] }) => body.map(({ result }) => result.data.id)
    const [first, second] = [await two('x,'), await two('x,')]
    expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
    expect(ids(second)[0]).toBe(ids(first)[0])
    expect(ids(second)[1]).not.toBe(ids(first)[1])
    expect([(await two(',')).status, (await two(' , ')).status]).toEqual([200, 200])
    expect(await count()).toBe(before + 7)
    const three = () => batch('spaces.create,spaces.create,spaces.create', [{ name: 'A' }, { name: 'B' }, { name: 'C' }], 'a,,c')
    const [[a, , c], [sameA, , sameC]] = [ids(await three()), ids(await three())]
    expect([sameA, sameC]).toEqual([a, c])
    expect(await count()).toBe(before + 11)
  })

  test('of a single call is one key, also in a batch and with commas', async () => {
    const { keys } = await app.account()
    const create = (path: string, body: object) => app.as(keys.account).post(path, body, { 'idempotency-key': 'order-7,line-1' })
    const inBatch = () => create('/trpc/spaces.create?batch=1', { 0: { name: 'A' } })
    const first = await inBatch()
    expect(first.status).toBe(200)
    for (const again of [
      await inBatch(),
      await create('/trpc/spaces.create', { name: 'A' }),
      await create('/api/spaces/create', { name: 'A' }),
    ])
      expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  test('with a wrong number of parts is judged after the caller, and each call of the batch is counted', async () => {
    const { keys } = await app.account()
    const send = (caller: string | null) =>
      app.as(caller).post('/trpc/spaces.create,spaces.create?batch=1', { 0: { name: 'A' }, 1: { name: 'B' } }, { 'idempotency-key': 'a' })
    expect((await send(null)).status).toBe(401)
    expect((await send(keys.personal)).body[0].error.data.message).toBe('Endpoint not available to personal API keys')
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
