/** Large answers arrive as a whole, although the bytes that they are written from are freed at once (src/platform/bytes/freed-chunk.ts). */
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const RECORDS = 24
/** Of 1.8 MB each: together more than the system takes of them. Of more at once a process of a busy machine may refuse some. */
const PIPELINED = 10
const { id: table } = await makeTable(app, account, { fields: [{ name: 'Text', type: 'long_text' }] })
const { id: vast } = await makeTable(app, account, { fields: [{ name: 'Text', type: 'long_text' }] })
await fill(table, 20_000)
await fill(vast, 75_000)

/** Each record has a text of its own. */
async function fill(tableId: number, length: number): Promise<void> {
  await app.db.write(sql`
    insert into ${recordsOf(tableId)} (text, created_at, updated_at)
    select left(repeat(i || ' large ', ${length}), ${length}), now(), now() from generate_series(1, ${RECORDS}::int) i`)
}

const textOf = (record: number, length: number) => `${record} large `.repeat(length).slice(0, length)
/** Digests, because a difference of such texts would be a long message. */
const texts = (body: { text: string }[]) => body.map(({ text }) => sha1(text))
const expected = (length: number, count: number) => Array.from({ length: count }, (_, index) => sha1(textOf(index + 1, length)))
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex')

async function page(tableId: number, limit: number): Promise<string[]> {
  const { status, body } = await app.as(account.member).post(`/api/table/${tableId}/records/query`, { limit })
  expect(status).toBe(200)
  return texts(body)
}

/** Asks for large pages on one connection, and reads nothing for a while, so that most of them wait in the process. */
async function readSlowly(): Promise<string[][]> {
  const body = JSON.stringify({ limit: RECORDS })
  const head = `POST /api/table/${vast}/records/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.keys.account}\r\nContent-Type: application/json`
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').pause()
  for (let left = PIPELINED; left > 0; left--)
    socket.write(`${head}\r\nConnection: ${left > 1 ? 'keep-alive' : 'close'}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  await setTimeout(1_000)
  const received = Buffer.concat(await socket.toArray()).toString()
  const answers = received.split('HTTP/1.1 200 OK').slice(1)
  return answers.map((answer) => texts(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))))
}

test('a client that reads slowly gets whole answers, while others get theirs', async () => {
  const slow = readSlowly()
  for (let round = 0; round < 5; round++) expect(await page(table, RECORDS)).toEqual(expected(20_000, RECORDS))
  expect(await slow).toEqual(Array.from({ length: PIPELINED }, () => expected(75_000, RECORDS)))
})
