/** Many integrations at once: a server that hangs, trickles or refuses delays its own mails only, and accounts take turns. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { forgetQueuedMails } from './support/queued-mails.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({}, { worker: true })

beforeEach(async () => {
  // Mails of an earlier test may still wait. Those that are on their way are told apart by their sender.
  await forgetQueuedMails(app)
  smtp.received.length = 0
  smtp.onContent = {}
  smtp.onSender = {}
})

/** A server that does with each connection what the test says. */
async function rawServer(onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  let opened = 0
  const server = createServer((socket) => {
    opened++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // `afterAll` does nothing in a test, and connections that hang would keep the worker from ending.
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, sockets, opened: () => opened }
}

/** An integration, of a new account unless another is given, and a way to queue mails through it. */
async function sender(integration: object = {}, of?: Awaited<ReturnType<typeof app.account>>) {
  const account = of ?? (await app.account())
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const created = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
    label: 'Desk',
    host: '127.0.0.1',
    port: smtp.port,
    tls: 'none',
    from_domains: ['example.com'],
    ...integration,
  })
  expect(created.status, JSON.stringify(created.body)).toBe(200)
  const from = `desk-${created.body.id}@example.com`
  const send = async (subject: string): Promise<number> => {
    const { status, body } = await app.as(account.keys.account).post('/api/email/send', {
      tableId: table,
      recordId: records[0],
      smtpIntegrationId: created.body.id,
      fromIdentity: { email: from },
      to: ['ann@customer.example'],
      subject,
    })
    expect(status).toBe(202)
    return body.id
  }
  const sendMany = async (count: number, subject: string) => {
    for (let index = 0; index < count; index++) await send(`${subject} ${index}`)
  }
  /** The subjects of the sender's mails in the order of their arrival. */
  const arrived = () => smtp.received.filter(({ email }) => email.from?.address === from).map(({ email }) => email.subject)
  return { ...account, integration: created.body, send, sendMany, arrived, account }
}

test('a server that hangs, trickles or refuses delays its own mails only', async () => {
  const silent = await rawServer(() => {})
  const trickling = await rawServer((socket) => {
    const timer = setInterval(() => socket.write('2'), 200)
    socket.on('close', () => clearInterval(timer))
  })
  const stalling = await rawServer((socket) => {
    socket.write('220 stalling.example\r\n')
    socket.on('data', (line) => {
      if (/^(EHLO|MAIL)/.test(line.toString())) socket.write('250 OK\r\n')
    })
  })
  for (const { port } of [silent, trickling, stalling, { port: 1 }]) await (await sender({ port })).sendMany(10, 'late')
  const good = await sender()
  await expect.poll(() => [silent, trickling, stalling].map(({ sockets }) => sockets.size > 0)).toEqual([true, true, true])
  const tookMs: number[] = []
  for (const subject of ['first', 'second', 'third', 'fourth', 'fifth']) {
    const startedAt = performance.now()
    await good.send(subject)
    await expect.poll(() => good.arrived().at(-1), { interval: 20 }).toBe(subject)
    tookMs.push(performance.now() - startedAt)
  }
  // A busy machine may delay some of them, where the other servers, each of which is given up after 15 s or more, would delay all.
  expect(Math.min(...tookMs)).toBeLessThan(10_000)
  // Each server has no more connections than its integration allows.
  expect(Math.max(...[silent, trickling, stalling].map(({ sockets }) => sockets.size))).toBeLessThanOrEqual(3)
})

test('mails use at most max_connections connections at once, and each for many mails', async () => {
  const before = smtp.connections
  const { sendMany, arrived } = await sender({ max_connections: 2 })
  let open = 0
  let most = 0
  const { promise: areTwo, resolve: noteTwo } = Promise.withResolvers<void>()
  smtp.onContent = {
    meanwhile: async () => {
      most = Math.max(most, ++open)
      if (open === 2) noteTwo()
      // On a slow machine the first mail could be gone before there is a second.
      await areTwo
      await new Promise((resolve) => setTimeout(resolve, 30))
      open--
    },
  }
  await sendMany(20, 'many')
  await expect.poll(() => arrived().length).toBe(20)
  expect(most).toBe(2)
  expect(smtp.connections - before).toBeLessThanOrEqual(4)
})

test('mails that share a connection with one that hangs go over another', async () => {
  const { sendMany, arrived, integration } = await sender({ max_connections: 2 })
  // From now on each connection takes several mails at once.
  await sendMany(10, 'quick')
  await expect.poll(() => arrived().length).toBe(10)
  const pausedUntil = (time: object) => app.db.write(sql`update smtp_integrations set paused_until = ${time} where id = ${integration.id}`)
  await pausedUntil(sql`localtimestamp + interval '1 hour'`)
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  smtp.on.recipient = () => {
    delete smtp.on.recipient
    return isOver
  }
  await sendMany(12, 'one hangs')
  await pausedUntil(sql`null`)
  await expect.poll(() => arrived().length).toBe(21)
  end()
  await expect.poll(() => arrived().length).toBe(22)
})

test('a mail goes over a new connection when the server has ended the kept one', async () => {
  const { send, arrived } = await sender()
  await send('one')
  await expect.poll(arrived).toEqual(['one'])
  const before = smtp.connections
  smtp.endConnections()
  await send('two')
  await expect.poll(arrived).toEqual(['one', 'two'])
  expect(smtp.connections).toBe(before + 1)
})

test('rate_per_minute spreads the mails', async () => {
  const { send, sendMany, arrived } = await sender({ rate_per_minute: 60 })
  const startedAt = performance.now()
  await sendMany(3, 'slowly')
  await expect.poll(() => arrived().length, { interval: 20 }).toBe(3)
  expect(performance.now() - startedAt).toBeGreaterThan(1_500)
  expect(await send('later')).toBeGreaterThan(0)
})

test('an account with many mails leaves room for the others', async () => {
  const slow = await startSmtp()
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  slow.onContent = { meanwhile: () => isOver }
  const [flood, other] = [await sender({ port: slow.port }), await sender()]
  await flood.sendMany(40, 'flood')
  await other.send('other')
  await expect.poll(other.arrived).toEqual(['other'])
  // The flood has three connections, and no mail of it has been answered.
  expect([slow.connections, slow.received]).toEqual([3, []])
  end()
  await slow.close()
})

/** Says its part of a dialogue, one answer to each command, and nothing more after it. */
const falling = (...answers: string[]) => {
  return (socket: Socket) => {
    const left = [...answers]
    const answer = () => void (left.length && socket.write(`${left.shift()}\r\n`))
    answer()
    socket.on('data', answer)
  }
}

test('servers that hang at any point keep no places from mails of other accounts and other integrations', async () => {
  const dialogue = ['220 hangs.example', '250 AUTH PLAIN', '235 OK', '250 OK', '250 OK', '354 Go']
  const until = (answers: number) => rawServer(falling(...dialogue.slice(0, answers)))
  const trickling = (socket: Socket) => {
    const timer = setInterval(() => socket.write('2'), 200)
    socket.on('close', () => clearInterval(timer))
  }
  // Those that hang from the sender on are given up after a minute at the earliest, the others after 15 or 30 s.
  const early = await Promise.all([rawServer(() => {}), rawServer(trickling), until(1), until(2)])
  const late = await Promise.all([until(3), until(4), until(5), until(6)])
  const hanging = async ({ port }: { port: number }, connections: number) => {
    const desk = await sender({ port, max_connections: connections, username: 'desk', password: 'secret' })
    await desk.sendMany(connections, 'late')
    return desk
  }
  const [first] = await Promise.all(late.map((server) => hanging(server, 20)))
  if (!first) throw new Error('There is no server')
  await Promise.all(early.map((server) => hanging(server, 4)))
  await expect.poll(() => [...late, ...early].map(({ opened }) => opened())).toEqual([20, 20, 20, 20, 4, 4, 4, 4])
  const [stranger, colleague] = [await sender(), await sender({}, first.account)]
  await stranger.send('of another account')
  await colleague.send('of another integration')
  await expect.poll(stranger.arrived).toEqual(['of another account'])
  await expect.poll(colleague.arrived).toEqual(['of another integration'])
  // Those that hang before the content alone could take all 60 places, and none of them was given up meanwhile.
  expect(late.map(({ sockets, opened }) => [sockets.size, opened()])).toEqual(Array(4).fill([20, 20]))
})

test.each([
  ['max_connections', 0, 'must be 1 or more'],
  ['max_connections', 21, 'must be at most 20'],
  ['rate_per_minute', 0, 'must be 1 or more'],
  ['rate_per_minute', 1.5, 'must be a whole number'],
])('%s: %s is refused', async (key, value, message) => {
  const { admin, integration } = await sender()
  const { status, body } = await app.as(admin).post(`/api/smtp/${integration.id}/update`, { [key]: value })
  expect([status, body.message]).toEqual([400, expect.stringContaining(key)])
  expect(body.message).toContain(message)
})

test('the limits of an integration have defaults, and can be changed', async () => {
  const { admin, integration } = await sender()
  expect(integration).toMatchObject({ max_connections: 3, rate_per_minute: null })
  const update = (change: object) => app.as(admin).post(`/api/smtp/${integration.id}/update`, change)
  expect((await update({ max_connections: 20, rate_per_minute: 600 })).body).toMatchObject({ max_connections: 20, rate_per_minute: 600 })
  expect((await update({ rate_per_minute: null })).body).toMatchObject({ max_connections: 20, rate_per_minute: null })
})

test('a mail that was queued by the previous release is sent', async () => {
  const { send, arrived } = await sender({ rate_per_minute: 1 })
  await send('first')
  const id = await send('second')
  await expect.poll(arrived).toEqual(['first'])
  await app.db.write(sql`update outbound_emails set due_at = null where comment_id = ${id}`)
  await app.db.write(sql`update smtp_integrations set rate_at = null`)
  await app.deps.jobs.send({ name: 'email.send' } as never, { comment_id: id })
  await expect.poll(arrived).toEqual(['first', 'second'])
})
