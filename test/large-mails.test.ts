/**
 * How long a large mail keeps the service from answering others: what one turn of the event loop does with it. The sender and the parser have
 * threads and processes of their own, which do not count.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openReceiver } from '../src/email/receiver/receiver.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { cpuTime } from './support/cpu-time.ts'
import { mailThread } from './support/mail-thread.ts'
import { deliver, type LargeMessage } from './support/postman.ts'
import { startSmtp } from './support/smtp.ts'

const MB = 1_048_576
const LARGE = 25 * MB - 1_024
/** The most memory for bytes that one turn takes: the pieces of a mail have 1 MB at most, and the whole has 25. */
const MOST_BYTES = 5 * MB
/** A tenth of it is usual; a collection of garbage takes most of that. */
const MOST_MS = 100

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })
const { address, answers } = await mailThread(app, smtp)
const stored = async () => (await app.db.read<{ count: number }>(sql`select count(*)::int as count from inbound_emails`))[0]?.count ?? 0

/** The most memory for bytes, and the most CPU time, that this thread takes in one turn until the function has ended. */
async function largestTurn(fn: () => Promise<void>): Promise<{ bytes: number; ms: number }> {
  const largest = { bytes: 0, ms: 0 }
  let isOver = false
  const ended = fn().finally(() => {
    isOver = true
  })
  while (!isOver) {
    const [spent, before] = [cpuTime(), process.memoryUsage().arrayBuffers]
    await turn()
    largest.bytes = Math.max(largest.bytes, process.memoryUsage().arrayBuffers - before)
    largest.ms = Math.max(largest.ms, spent())
  }
  await ended
  return largest
}

/** Measures the second run: the first one compiles the code. */
async function expectSmallTurns(run: () => Promise<void>): Promise<void> {
  await run()
  const { bytes, ms } = await largestTurn(run)
  expect(bytes).toBeLessThan(MOST_BYTES)
  expect(ms).toBeLessThan(MOST_MS)
}

/** Waits until another mail has become a comment. */
async function expectAnother(comments: number): Promise<void> {
  expect(await answers()).toHaveLength(comments + 1)
}

test('a mail of 25 MB at the webhook is received, stored and read, and its attachment stored, in small pieces', async () => {
  await expectSmallTurns(async () => {
    const before = await stored()
    expect(await deliver({ to: { url: app.url }, messages: [{ address, bytes: LARGE }] })).toEqual([200])
    await expectAnother(before)
  })
  expect((await answers())[0]).toMatchObject({ content: 'See the plan.', attachments: [{ name: 'plan.pdf', size: expect.any(Number) }] })
})

test('so is one that comes by SMTP', async () => {
  const inboundSmtp = { protocol: 'lmtp' as const, host: '127.0.0.1', port: 0 }
  const receiver = await openReceiver({ ...app.deps, settings: { ...app.deps.settings, inboundSmtp } })
  onTestFinished(() => receiver.close())
  await expectSmallTurns(async () => {
    const before = await stored()
    const [answer] = await deliver({ to: { lmtp: receiver.address.port }, messages: [{ address, bytes: LARGE }] })
    expect(answer).toMatch(/^250/)
    await expectAnother(before)
  })
})

test.each<[string, LargeMessage, number]>([
  ['for nobody', { address: 'reply-0123456789abcdef@reply.example.net', bytes: LARGE }, 200],
  ['that is too large', { address, bytes: LARGE + 2_048 }, 413],
])('one %s costs less than half of one that is stored, and leaves nothing', async (_, refused, status) => {
  const before = await stored()
  const costOf = async (message: LargeMessage) => {
    const spent = cpuTime()
    const [answered] = await deliver({ to: { url: app.url }, messages: [message] })
    await answers()
    return { ms: spent(), answered }
  }
  const kept = await costOf({ address, bytes: LARGE })
  const { ms, answered } = await costOf(refused)
  expect(answered).toBe(status)
  expect(ms).toBeLessThan(kept.ms / 2)
  expect(await stored()).toBe(before + 1)
})
