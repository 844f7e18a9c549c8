/** The service ends with any connection open to it, and leaves none of its own connections. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { openFeed } from '../src/events/feed.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { testApp } from './support/app.ts'

const app = await testApp()
const options = { log: app.deps.log, clock: app.deps.clock, maxStreams: 10 }

/** Starts a service that the test closes, and opens a connection to it. */
async function connected() {
  const service = await buildApp({ ...app.deps, feed: openFeed(app.db, options) })
  await service.listen({ port: 0, host: '127.0.0.1' })
  const accepted = once(service.server, 'connection')
  const socket = connect((service.server.address() as AddressInfo).port, '127.0.0.1')
  await Promise.all([once(socket, 'connect'), accepted])
  return { service, socket }
}

/** Returns everything that arrives until the service ends the connection. */
async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

test('an idle connection does not delay the shutdown', async () => {
  const { service, socket } = await connected()
  const read = readToEnd(socket).catch((error) => error.code)
  await service.close()
  expect(['', 'ECONNRESET']).toContain(await read)
})

test('a stream that is opened during the shutdown is refused, and its connection is closed', async () => {
  const { member } = await app.account()
  const { service, socket } = await connected()
  socket.write(`GET /api/events HTTP/1.1\r\nHost: localhost\r\nCookie: gridpost_session=${member.session}\r\n\r\n`)
  await once(service.server, 'request')
  const [answer] = await Promise.all([readToEnd(socket), service.close()])
  expect(answer).toMatch(/^HTTP\/1\.1 503 /)
  expect(answer).toContain('The service is stopping')
})

test('a feed that is closed while it connects leaves no connection behind', async () => {
  const { member, id: accountId } = await app.account()
  const mayConnect = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const clients: { isEnded: boolean }[] = []
  const connectSlowly = async (): Promise<pg.Client> => {
    asked.resolve()
    await mayConnect.promise
    const client = await app.db.connect()
    const noted = { isEnded: false }
    clients.push(noted)
    client.on('end', () => {
      noted.isEnded = true
    })
    return client
  }
  const feed = openFeed({ ...app.db, connect: connectSlowly }, options)
  const actor = { kind: 'session', accountId, userId: member.id, keyId: null } as unknown as Parameters<typeof feed.subscribe>[0]['actor']
  const subscriber = { credentials: { kind: 'none' as const }, ip: '127.0.0.1', actor }
  const sink = { open: () => {}, send: () => {}, beat: () => {}, drained: async () => {}, end: () => {} }
  const refused = expect(feed.subscribe({ ...subscriber, ...sink }, undefined)).rejects.toThrow('The service is stopping')
  await asked.promise
  const closed = feed.close()
  mayConnect.resolve()
  await closed
  expect(clients).toEqual([{ isEnded: true }])
  await refused
})

test('opens of mails that were answered before the end are recorded, though they waited for a lock', async () => {
  const token = 'a-token-for-the-image-of-a-mail'
  await app.db.write(sql`
    insert into outbound_emails (comment_id, account_id, space_id, table_id, record_id, smtp_integration_id, request, message_id,
      pixel_token_hash, tokens_encrypted)
    values (1, 1, 1, 1, 1, 1, '{}', '<1@example.com>', ${tokenHash(token)}, '')`)
  const service = await buildApp(app.deps)
  const holder: pg.Client = await app.db.connect()
  await holder.query('begin')
  await holder.query('lock table outbound_emails in access exclusive mode')
  expect((await service.inject(`/email/pixel/${token}.png`)).statusCode).toBe(200)
  const closed = service.close()
  await holder.end()
  await closed
  expect(await app.db.read(sql`select comment_id, class from email_opens`)).toEqual([{ comment_id: 1, class: 'human' }])
})
