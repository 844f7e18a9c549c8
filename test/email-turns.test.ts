/** A flood of messages waits behind itself: other accounts and other senders get their turn. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import type { Statement } from '../src/platform/database/statements/statement.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { testApp } from './support/app.ts'
import { postMail, untilRead } from './support/mail-desk.ts'
import { queriesWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

/** An account with a record that can be answered, and the contents of its answers in the order in which they were read. */
async function thread() {
  const account = await app.account()
  const { id: table, records, path } = await makeTable(app, account, { records: [{}], fields: [{ name: 'Name', type: 'text' }] })
  const comment = await app.as(account.keys.account).post(`${path}/record/${records[0]}/comments/create`, { content: 'Sent' })
  const token = randomBytes(8).toString('hex')
  await app.db.write(sql`update record_comments set metadata = '{"recipients": []}' where id = ${comment.body.id}`)
  await app.db.write(sql`
    insert into reply_tokens (token_hash, account_id, space_id, table_id, record_id, comment_id)
    values (${tokenHash(token)}, ${account.id}, ${account.space}, ${table}, ${records[0]}, ${comment.body.id})`)
  const answers = async () =>
    (
      await app.db.read<{ content: string }>(
        sql`select content from record_comments where table_id = ${table} and type = 'email_in' order by id`,
      )
    ).map(({ content }) => content.split('\n')[0])
  const post = (from: string, text: string, bytes = 0) =>
    postMail(app, [
      ...[`From: ${from}`, `To: reply-${token}@reply.example.net`, `Message-ID: <${randomBytes(8).toString('hex')}@customer.example>`],
      ...['', text, '', ...Array.from({ length: bytes / 1_000 }, () => 'A line of text that is not short at all. '.repeat(24))],
    ])
  /** Lets the jobs that read these messages wait. @returns a function that lets them go on */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.set(hashOf(tokenHash(token)), promise)
    return resolve
  }
  return { answers, post, hold }
}

/**
 * What the jobs of messages wait for that are held, by the hash of the token in their address. A lock in the database would let them fail after
 * five seconds, in which a slow machine may not get to the other messages.
 */
const held = new Map<string, Promise<void>>()
const hashOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const locksThread = ({ text }: Statement) => text.includes('from reply_tokens') && text.includes('for update of r')
Object.assign(
  app.db,
  queriesWith(app.db, (statement) => {
    if (!locksThread(statement)) return
    return Promise.all(statement.values.map((value) => (value instanceof Uint8Array ? held.get(hashOf(value)) : undefined)))
  }),
)

/** Messages above 1 MB are read beside the others, and fewer of them at once. */
const [ORDINARY, LARGE] = [
  { bytes: 0, count: 9 },
  { bytes: 1_100_000, count: 4 },
]

interface Flood {
  bytes: number
  count: number
  /** The senders, in the order of the messages, and the number of accounts. */
  from(index: number): string
  accounts: number
}

const mallory = () => 'mallory@hostile.example'

test.each<[what: string, flood: Flood]>([
  ['of one sender for one account', { ...ORDINARY, from: mallory, accounts: 1 }],
  ['above 1 MB of one sender for one account', { ...LARGE, from: mallory, accounts: 1 }],
  ['under many names for one account', { ...ORDINARY, from: (index) => `mallory-${index}@hostile.example`, accounts: 1 }],
  ['of one sender for many accounts', { ...ORDINARY, from: mallory, accounts: 9 }],
])('many messages %s delay nobody else', async (_, { bytes, count, from, accounts }) => {
  await untilRead(app)
  const flooded = await Promise.all(Array.from({ length: accounts }, thread))
  const other = await thread()
  const releases = flooded.map(({ hold }) => hold())
  try {
    for (let index = 0; index < count; index++) await flooded[index % accounts]?.post(from(index), `flood ${index}`, bytes)
    await other.post('ann@customer.example', 'Thank you', bytes)
    await expect.poll(other.answers).toEqual(['Thank you'])
    expect((await Promise.all(flooded.map(({ answers }) => answers()))).flat()).toEqual([])
  } finally {
    for (const release of releases) release()
  }
})

test('within an account the senders take turns', async () => {
  const flooded = await thread()
  const release = flooded.hold()
  for (let index = 0; index < 30; index++) await flooded.post('mallory@hostile.example', `flood ${index}`)
  await flooded.post('ann@customer.example', 'Thank you')
  await flooded.post('bob@customer.example', 'Me too')
  release()
  await untilRead(app)
  const order = await flooded.answers()
  expect(order).toHaveLength(32)
  // Before the lock was there, the places of ordinary messages were taken by the flood; the others are the next.
  expect(Math.max(order.indexOf('Thank you'), order.indexOf('Me too'))).toBeLessThan(14)
})
