/** The bytes of large answers are freed once they are sent (src/platform/freed-chunk.ts), and those of their rows are used again. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const RECORDS = 12
const { id: table } = await makeTable(app, account, { fields: [{ name: 'Text', type: 'long_text' }] })
const { id: vast } = await makeTable(app, account, { fields: [{ name: 'Text', type: 'long_text' }] })
await fill(table, 20_000)
await fill(vast, 2_000_000)

/** Each record has a text of its own. */
async function fill(tableId: number, length: number): Promise<void> {
  await app.db.execute(sql`
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

/** Asks for all vast records, and reads nothing of the answer for a while. */
async function readSlowly(): Promise<string[]> {
  const headers = { authorization: `Bearer ${account.keys.account}`, 'content-type': 'application/json' }
  const sent = request(`${app.url}/api/table/${vast}/records/query`, { method: 'POST', headers }).end('{}')
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  await setTimeout(300)
  return texts(JSON.parse(Buffer.concat(await answer.toArray()).toString()))
}

test('pages of several sizes at once have their own rows each', async () => {
  for (let round = 0; round < 5; round++) {
    const limits = Array.from({ length: RECORDS }, (_, index) => index + 1)
    const pages = await Promise.all(limits.map((limit) => page(table, limit)))
    expect(pages).toEqual(limits.map((limit) => expected(20_000, limit)))
  }
})

test('a client that reads slowly gets the whole answer, while others get theirs', async () => {
  const slow = readSlowly()
  for (let round = 0; round < 5; round++) expect(await page(table, RECORDS)).toEqual(expected(20_000, RECORDS))
  expect(await slow).toEqual(expected(2_000_000, RECORDS))
})
