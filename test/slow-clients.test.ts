/** Clients that send nothing, or send slowly, or do not read, over raw connections. The times are shortened. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { buildApp } from '../src/app.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import type { ClientLimits } from '../src/platform/http/load/slow-clients.ts'
import { testApp } from './support/app.ts'
import { until } from './support/until.ts'

const app = await testApp()
const SHORT = { headersMs: 150, bodyMs: 150, largeBytesPerSecond: 1, uploadWindowMs: 150, uploadBytesPerSecond: 1, checkEveryMs: 20 }
/** A slow machine may need longer for headers that are sent at once, so they have time where bodies are the subject. */
const SHORT_BODY = { ...SHORT, headersMs: 30_000 }

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** Starts a service with its own times, on the database of the file. @returns opens a connection to it */
async function serviceWith(limits: Partial<ClientLimits>) {
  const feed = { ...app.deps.feed, close: async () => {} }
  const service = await buildApp({ ...app.deps, feed }, limits)
  await service.listen({ port: 0, host: '127.0.0.1' })
  closers.push(() => service.close())
  const { port } = service.server.address() as AddressInfo
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  return Object.assign(open, { server: service.server })
}

/** Returns everything that arrives until the service closes the connection. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  // A connection that is reset while the client sends still closes.
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

/** The status line and the body of an error. */
const outcomeOf = (answer: string) => [answer.split('\r\n')[0], JSON.parse(answer.split('\r\n\r\n')[1] ?? '')]

const TIMEOUT = [
  'HTTP/1.1 408 Request Timeout',
  { message: 'The request was not received in time', code: 'TIMEOUT', request_id: expect.stringMatching(/^req-/) },
]

const signIn = (length: number | 'chunked', path = '/api/auth/login') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n`

describe('a connection is closed', () => {
  test('that sends nothing', async () => {
    const open = await serviceWith(SHORT)
    expect(await readToEnd(await open())).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('whose headers never end', async () => {
    const open = await serviceWith(SHORT)
    const socket = await open()
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n')
    expect(outcomeOf(await readToEnd(socket))).toEqual(TIMEOUT)
  })

  test('whose further request never ends', async () => {
    // The first one needs some of this time.
    const open = await serviceWith({ ...SHORT, headersMs: 3_000 })
    const socket = await open()
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    socket.write('GET /healthz HTTP/1.1\r\n')
    expect(outcomeOf(await readToEnd(socket))).toEqual(TIMEOUT)
  })

  test.each<[string, number | 'chunked']>([
    ['a small body', 100],
    ['a chunked body', 'chunked'],
  ])('whose client stops in the middle of %s', async (_, length) => {
    const open = await serviceWith({ ...SHORT_BODY, largeBytesPerSecond: 1_000_000 })
    const socket = await open()
    socket.write(`${signIn(length)}\r\n${length === 'chunked' ? '5\r\n{"ema\r\n' : '{"ema'}`)
    expect(outcomeOf(await readToEnd(socket))).toEqual(TIMEOUT)
  })

  test('whose client sends a small body byte by byte', async () => {
    const open = await serviceWith(SHORT_BODY)
    const socket = await open()
    socket.write(`${signIn(60_000)}\r\n`)
    const trickle = setInterval(() => socket.write('x'), 10)
    const answer = await readToEnd(socket)
    clearInterval(trickle)
    expect(outcomeOf(answer)).toEqual(TIMEOUT)
  })

  test('whose client never sends the body of a refused request', async () => {
    const open = await serviceWith(SHORT_BODY)
    const socket = await open()
    socket.write(`${signIn(100, '/api/nowhere')}\r\n{`)
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 404 /)
  })
})

describe('an answer that its client does not read', async () => {
  const { owner, space, keys } = await app.account()
  const fields = [{ name: 'Text', type: 'long_text' }]
  const { id } = (await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Large', fields })).body
  // More than the buffers of the system.
  await app.db.write(sql`
    insert into ${recordsOf(id)} (text, created_at, updated_at) select repeat('x', 100000), now(), now() from generate_series(1, 250)`)
  const body = JSON.stringify({ limit: 1_000 })
  const request = `${signIn(body.length, `/api/table/${id}/records/query`)}Authorization: Bearer ${keys.account}\r\n\r\n${body}`

  /** Asks for the page, and stops reading after its first bytes. */
  const ask = async (open: () => Promise<Socket>) => {
    const socket = await open()
    socket.write(request)
    await once(socket, 'readable')
    return socket
  }

  test.each<[string, Partial<ClientLimits>]>([
    ['after a while', { answerWindowMs: 150 }],
    ['earlier if all such answers together take too much memory', { mostUnreadBytes: 1_000_000, stalledMs: 100 }],
  ])('is given up %s', async (_, limits) => {
    const open = await serviceWith({ checkEveryMs: 20, ...limits })
    const socket = await ask(open)
    const isClosed = () => new Promise<boolean>((resolve) => open.server.getConnections((_error, count) => resolve(count === 0)))
    await until(isClosed, 'for the end of the connection')
    socket.destroy()
  })

  test('is kept until then', async () => {
    const socket = await ask(await serviceWith({ checkEveryMs: 20, answerWindowMs: 300_000, stalledMs: 300_000, mostUnreadBytes: 1 }))
    await sleep(200)
    let bytes = 0
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    await until(
      () => bytes > 25_000_000,
      () => `for the whole answer: ${bytes} bytes came`,
    )
    socket.destroy()
  })
})

describe.each<[string, string, object]>([
  ['a large batch', '/api/tasks/createMany', { tasks: Array.from({ length: 12 }, () => ({ title: 'a', details: 'a'.repeat(99_000) })) }],
  ['an upload', '/api/tasks/upload', { name: 'large.txt', data: Buffer.alloc(900_000, 'large').toString('base64') }],
])('%s', (_, path, input) => {
  /** Sends 100 bytes at a time for a while, then the rest. */
  const send = async (limits: Partial<ClientLimits>, whileMs: number) => {
    const { member } = await app.account()
    const body = JSON.stringify(input)
    const socket = await (await serviceWith(limits))()
    const cookie = `Cookie: gridpost_session=${member.session}\r\nConnection: close\r\n`
    socket.write(`${signIn(body.length, path)}${cookie}\r\n`)
    const ended = readToEnd(socket)
    let sent = 0
    const sendMore = () => {
      socket.write(body.slice(sent, sent + 100))
      sent += 100
    }
    const trickle = setInterval(sendMore, 10)
    await Promise.race([sleep(whileMs), ended])
    clearInterval(trickle)
    socket.write(body.slice(sent))
    return (await ended).split('\r\n')[0]
  }

  test('may take longer than a small body', async () => {
    expect(await send({ ...SHORT_BODY, uploadWindowMs: 20_000 }, 1_000)).toBe('HTTP/1.1 200 OK')
  })

  test('is refused if it arrives too slowly', async () => {
    expect(await send({ ...SHORT_BODY, largeBytesPerSecond: 1_000_000, uploadBytesPerSecond: 1_000_000 }, 10_000)).toBe(TIMEOUT[0])
  })
})

describe('an upload', () => {
  /** Sends the bytes of a file as they are, and stops before its last one. */
  const stalled = async (limits: Partial<ClientLimits>) => {
    const { member } = await app.account()
    const socket = await (await serviceWith(limits))()
    const head = 'PUT /api/tasks/upload?name=a.bin HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n'
    socket.write(`${head}Cookie: gridpost_session=${member.session}\r\n\r\n`)
    socket.write(Buffer.alloc(999_999))
    return outcomeOf(await readToEnd(socket))
  }

  test('is refused if it stops, however quick it was before', async () => {
    expect(await stalled({ ...SHORT_BODY, uploadBytesPerSecond: 100 })).toEqual(TIMEOUT)
    expect(await app.db.read(sql`select name from stored_files where name = 'a.bin'`)).toEqual([])
  })
})

describe('large bodies that one account never ends', () => {
  test('do not hold up those of another, nor its own as long as they send nothing', async () => {
    const [slow, other] = [await app.account(), await app.account()]
    const slowHeaders = `Cookie: gridpost_session=${slow.member.session}\r\nExpect: 100-continue\r\n`
    const sockets = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {})
        socket.write(`${signIn(60_000_000, '/api/tasks/upload')}${slowHeaders}\r\n`)
        await once(socket, 'data')
        return socket
      }),
    )
    const file = { name: 'large.bin', type: 'application/octet-stream', data: Buffer.alloc(4_500_000).toString('base64') }
    expect((await app.as(other.member).post('/api/tasks/upload', file)).status).toBe(200)
    expect((await app.as(slow.member).post('/api/tasks/upload', file)).status).toBe(200)
    // Now they are large, and hold all places of the account.
    for (const socket of sockets) socket.write(`{"name":"a","data":"${'A'.repeat(1_000_000)}`)
    expect((await app.as(other.member).post('/api/tasks/upload', file)).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  })
})

test.each<[string, number | 'chunked', string, string]>([
  ['with a wrong session', 100_000, '/api/email/send', 'Cookie: gridpost_session=guessed\r\n'],
  ['by RPC', 100_000, '/trpc/tasks.createMany', ''],
  ['by RPC, in chunks', 'chunked', '/trpc/auth.login', ''],
])('a body above 64 KB is refused before it is read if it comes from a stranger %s', async (_, length, path, headers) => {
  const open = await serviceWith({})
  const socket = await open()
  socket.write(`${signIn(length, path)}${headers}\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /)
  socket.destroy()
})

test('a sign-in has at most 64 KB', async () => {
  const { status } = await app.as(null).post('/api/auth/login', { email: 'a@example.com', password: 'x'.repeat(70_000) })
  expect(status).toBe(413)
})

describe('a request is answered', () => {
  test('however long the service takes', async () => {
    const { owner, space, keys } = await app.account()
    const { id } = (
      await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Locked', fields: [{ name: 'Name', type: 'text' }] })
    ).body
    const record = (await app.as(keys.account).post(`/api/table/${id}/records/create`, { data: { name: 'a' } })).body
    const open = await serviceWith(SHORT_BODY)
    const body = JSON.stringify({ data: { name: 'b' } })
    const locker = await app.db.connect()
    await locker.query('begin')
    await locker.query(`select from "t${id}".records where id = $1 for update`, [record.id])
    const headers = `Authorization: Bearer ${keys.account}\r\nConnection: close\r\n`
    const socket = await open()
    socket.write(`${signIn(body.length, `/api/table/${id}/record/${record.id}/update`)}${headers}\r\n${body}`)
    const answer = readToEnd(socket)
    await sleep(500)
    await locker.query('commit')
    await locker.end()
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each<[string, number, string]>([
    ['a body', 100, '/api/auth/login'],
    ['the body of an upload', 2_000, '/api/tasks/upload'],
  ])('although the service was too busy to read %s that has come', async (_, length, path) => {
    const { member } = await app.account()
    const socket = await (await serviceWith(SHORT_BODY))()
    const headers = `Cookie: gridpost_session=${member.session}\r\nExpect: 100-continue\r\nConnection: close\r\n`
    socket.write(`${signIn(length, path)}${headers}\r\n`)
    await once(socket, 'data')
    // The system has taken the bytes when the write returns, and the next thing that the process does is to look at its timers.
    socket.write(JSON.stringify({ name: 'a' }).padEnd(length))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * SHORT.bodyMs)
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('on a new connection, at the expense of idle ones, if there are too many', async () => {
    const open = await serviceWith({ maxConnections: 3 })
    const idle = await Promise.all([open(), open(), open()])
    for (const socket of idle) {
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'data')
    }
    const closed = Promise.all(idle.map((socket) => once(socket, 'close')))
    const dropped = await open()
    await once(dropped, 'close')
    await closed
    const next = await open()
    next.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(await readToEnd(next)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('of more than a hundred requests that wait for an answer', () => {
  const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
  const answersIn = (text: string) => text.split('HTTP/1.1 200 ').length - 1

  test.each([101, 102, 103, 500, 5_000, 100_000])(
    'those that were begun are answered before the connection ends, if there are %i',
    async (requests) => {
      const socket = await (await serviceWith({}))()
      const reset = vi.fn()
      socket.on('error', reset)
      socket.write(HEALTH.repeat(requests - 1))
      socket.write(HEALTH.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
      const text = await readToEnd(socket)
      // The rest of what has arrived with the last of them is dropped.
      expect(answersIn(text)).toBe(101)
      expect(text).toMatch(/\{"ok":true\}$/)
      expect(reset).not.toHaveBeenCalled()
    },
  )

  test('they are answered as well if the first of them takes long, and the client reads late', async () => {
    const { owner, space, keys } = await app.account()
    const fields = [{ name: 'Name', type: 'text' }]
    const { id } = (await app.as(owner).post(`/api/space/${space}/tables/create`, { name: 'Slow', fields })).body
    const record = (await app.as(keys.account).post(`/api/table/${id}/records/create`, { data: { name: 'a' } })).body
    const locker = await app.db.connect()
    await locker.query('begin')
    await locker.query(`select from "t${id}".records where id = $1 for update`, [record.id])
    const socket = await (await serviceWith({}))()
    const body = JSON.stringify({ data: { name: 'b' } })
    socket.write(
      `${signIn(body.length, `/api/table/${id}/record/${record.id}/update`)}Authorization: Bearer ${keys.account}\r\n\r\n${body}`,
    )
    socket.write(HEALTH.repeat(2_000))
    await sleep(300)
    await locker.query('commit')
    await locker.end()
    await sleep(300)
    const text = await readToEnd(socket)
    expect([answersIn(text), text.includes('"name":"b"')]).toEqual([101, true])
  })

  test('nothing is read any more from a client that goes on sending', async () => {
    const socket = await (await serviceWith({}))()
    const sending = setInterval(() => socket.write(HEALTH.repeat(1_000)), 1)
    const text = await readToEnd(socket)
    clearInterval(sending)
    expect(answersIn(text)).toBe(101)
  })
})

test('a request that the service makes to itself has no connection to close', async () => {
  const service = await buildApp({ ...app.deps, feed: { ...app.deps.feed, close: async () => {} } }, SHORT_BODY)
  closers.push(() => service.close())
  await service.listen({ port: 0, host: '127.0.0.1' })
  const { statusCode } = await service.inject({
    method: 'POST',
    url: '/webhooks/email_receive',
    payload: 'To: nobody@elsewhere.example\r\n\r\nx',
  })
  expect(statusCode).toBe(200)
  // By the time that a slow body is refused, the check has passed over the request above.
  const socket = connect((service.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  socket.write(`${signIn(10)}\r\n{`)
  expect(outcomeOf(await readToEnd(socket))).toEqual(TIMEOUT)
})
