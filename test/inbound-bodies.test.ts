/** Messages at the webhook whose size is large or not stated, from senders that the service knows nothing about. */
import { randomBytes } from 'node:crypto'
import { readdir, readlink } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' })
const MB = 1_048_576

/** The address of a thread. */
async function replyAddress(): Promise<string> {
  const account = await app.account()
  const { id: table, records, path } = await makeTable(app, account, { records: [{}], fields: [{ name: 'Name', type: 'text' }] })
  const comment = await app.as(account.keys.account).post(`${path}/record/${records[0]}/comments/create`, { content: 'Sent' })
  const token = randomBytes(8).toString('hex')
  await app.db.write(sql`
    insert into reply_tokens (token_hash, account_id, space_id, table_id, record_id, comment_id)
    values (${tokenHash(token)}, ${account.id}, ${account.space}, ${table}, ${records[0]}, ${comment.body.id})`)
  return `reply-${token}@reply.example.net`
}

const messageTo = (address: string, bytes: number) => {
  const head = Buffer.from(
    `From: ann@customer.example\r\nTo: ${address}\r\nMessage-ID: <${randomBytes(8).toString('hex')}@c.example>\r\n\r\n`,
  )
  return Buffer.concat([head, randomBytes(bytes - head.length)])
}

/** Begins to post a message without stating its size. */
function post() {
  const sending = request(`${app.url}/webhooks/email_receive`, { method: 'POST', headers: { 'content-type': 'message/rfc822' } })
  const answered = new Promise<{ status: number; code: string }>((resolve, reject) => {
    sending.on('error', reject)
    sending.on('response', async (response) => {
      const body = Buffer.concat(await response.toArray()).toString()
      resolve({ status: response.statusCode ?? 0, code: body && JSON.parse(body).code })
    })
  })
  const write = (part: Buffer) => new Promise<void>((resolve) => sending.write(part, () => resolve()))
  const end = (part?: Buffer) => {
    sending.end(part)
    return answered
  }
  return { write, end, answered, hangUp: () => sending.destroy() }
}

/** The temporary files that the service has open; their names have been removed. */
async function openFiles(): Promise<number> {
  const open = await readdir('/proc/self/fd')
  const targets = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(join(app.settings.dataDir, 'tmp'))).length
}
const storedSizes = async () =>
  (await app.db.read<{ bytes: number }>(sql`select octet_length(raw) as bytes from inbound_emails order by 1`)).map(({ bytes }) => bytes)

test('a large message for a thread waits on disk, and is stored whole', async () => {
  const messages = [2, 3, 4, 5].map((size) => size * MB + size)
  const address = await replyAddress()
  const posts = messages.map((bytes) => ({ ...post(), message: messageTo(address, bytes) }))
  await Promise.all(posts.map(({ write, message }) => write(message.subarray(0, 1.5 * MB))))
  await expect.poll(openFiles).toBe(4)
  const answers = await Promise.all(posts.map(({ end, message }) => end(message.subarray(1.5 * MB))))
  expect(answers).toEqual(messages.map(() => ({ status: 200, code: '' })))
  expect(await storedSizes()).toEqual(messages)
  const hashes = await app.db.read(sql`select id from inbound_emails where sha256(raw) = sha256`)
  expect(hashes).toHaveLength(4)
  expect(await openFiles()).toBe(0)
})

test('one for nobody takes neither disk space nor memory, and is limited as well', async () => {
  const before = await storedSizes()
  const [dropped, tooLarge, gone] = [post(), post(), post()]
  const message = messageTo('reply-0123456789abcdef@reply.example.net', 20 * MB)
  for (const { write } of [dropped, tooLarge, gone]) await write(message.subarray(0, 10 * MB))
  expect(await openFiles()).toBe(0)
  expect(await dropped.end(message.subarray(10 * MB))).toEqual({ status: 200, code: '' })
  await tooLarge.write(message)
  expect(await tooLarge.end()).toEqual({ status: 413, code: 'PAYLOAD_TOO_LARGE' })
  gone.hangUp()
  await expect(gone.answered).rejects.toThrow()
  expect(await storedSizes()).toEqual(before)
})

test('one that names more than 100 reply addresses is for nobody, whichever of them are known', async () => {
  const before = await storedSizes()
  const unknown = (count: number) => Array.from({ length: count }, () => `reply-${randomBytes(8).toString('hex')}@reply.example.net`)
  const known = await replyAddress()
  expect(await post().end(messageTo([...unknown(100), known].join(',\r\n '), 9_000))).toEqual({ status: 200, code: '' })
  expect(await storedSizes()).toEqual(before)
  expect(await post().end(messageTo([...unknown(99), known].join(',\r\n '), 8_999))).toEqual({ status: 200, code: '' })
  expect(await storedSizes()).toEqual([8_999, ...before])
})

test('one whose sender hangs up leaves nothing behind', async () => {
  const before = await storedSizes()
  const { write, hangUp, answered } = post()
  await write(messageTo(await replyAddress(), 3 * MB))
  await expect.poll(openFiles).toBe(1)
  hangUp()
  await expect(answered).rejects.toThrow()
  await expect.poll(openFiles).toBe(0)
  expect(await storedSizes()).toEqual(before)
})

test('only the first 64 KB of a message are in memory while it arrives', async () => {
  const address = await replyAddress()
  // The second has one byte more than a message may have in memory.
  const [small, larger] = [
    { ...post(), message: messageTo(address, 65_535) },
    { ...post(), message: messageTo(address, 65_537) },
  ]
  await small.write(small.message.subarray(0, -1))
  await larger.write(larger.message)
  await expect.poll(openFiles).toBe(1)
  await Promise.all([small.end(small.message.subarray(-1)), larger.end()])
  expect(await openFiles()).toBe(0)
})

test('a message that comes in pieces of a byte is stored as it was sent', async () => {
  const message = messageTo(await replyAddress(), 9_000)
  const { write, end } = post()
  for (const byte of message) await write(Buffer.from([byte]))
  expect(await end()).toEqual({ status: 200, code: '' })
  const stored = await app.db.read<{ raw: Buffer }>(sql`select raw from inbound_emails order by id desc limit 1`)
  expect(stored[0]?.raw.equals(message)).toBe(true)
})
