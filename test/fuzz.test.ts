/**
 * Sends the examples of all operations with random faults, over REST and RPC. Each answer is one that the document describes
 * (test/support/documented.ts), and the only answers with 500 are the two that api.md fixes.
 * `npm run fuzz` sends them for ten minutes, with another seed each time.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { type Caller, testApp } from './support/app.ts'
import { callerFor, callRest, callRpc, idsFor, idsOf, type Operation, operations } from './support/operations.ts'

/** Zero sends a fixed number of requests with a fixed seed, so that the result is the same each time. */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 0)
const SEED = Number(process.env.FUZZ_SEED ?? (SECONDS ? Date.now() % 2 ** 31 : 20_261_122))
const REQUESTS = 3_000
/** The ids of the resources are made anew after this number of requests, because some of them are deleted. */
const REQUESTS_PER_WORLD = 150

const app = await testApp()
const random = randomFrom(SEED)
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T

test(`answers every request as documented (seed ${SEED})`, { timeout: (SECONDS + 300) * 1_000 }, async () => {
  const until = performance.now() + SECONDS * 1_000
  const counts = new Map<number, number>()
  let heapBefore = 0
  let sent = 0
  for (; SECONDS ? performance.now() < until : sent < REQUESTS; sent += REQUESTS_PER_WORLD) {
    await fuzz(REQUESTS_PER_WORLD, counts)
    heapBefore ||= usedHeap()
  }
  const grown = (usedHeap() - heapBefore) / 2 ** 20
  console.log(`${sent} requests, statuses ${JSON.stringify(Object.fromEntries([...counts].sort()))}, heap +${grown.toFixed(1)} MB`)
  expect(grown).toBeLessThan(64)
  expect(counts.get(200) ?? 0).toBeGreaterThan(0)
})

async function fuzz(requests: number, counts: Map<number, number>): Promise<void> {
  const account = await app.account()
  const known = await idsOf(app, account)
  const callers: Caller[] = [account.admin, account.viewer, account.keys.personal, account.outsider, null]
  for (let index = 0; index < requests; index++) {
    const operation = pick(operations)
    const caller = random() < 0.7 ? callerFor(operation, account) : pick(callers)
    const ids = idsFor(operation, known)
    const name = pick([...operation.pathIds, ...operation.bodyIds])
    if (name && random() < 0.2) ids[name] = pick(IDS)
    const input = faulty(operation.meta.example?.input ?? {}, 0) as Record<string, unknown>
    const call = pick([callRest, callRpc])
    const as = app.as(caller)
    const answer = await call(
      { ...as, post: (path, body) => as.post(path, body, random() < 0.2 ? pick(HEADERS) : {}) },
      operation,
      ids,
      input,
    )
    counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
    if (answer.status >= 500)
      expect(['Not Authorized', 'View not found'], saying(operation, ids, input, answer.body)).toContain(answer.body.message)
  }
}

const saying = (operation: Operation, ...what: unknown[]) => `${operation.name} ${what.map((one) => JSON.stringify(one)).join(' ')}`

/** The value with a fault in some places. */
function faulty(value: unknown, depth: number): unknown {
  if (random() < 0.12) return pick(VALUES)
  if (Array.isArray(value)) {
    const items = value.map((item) => faulty(item, depth + 1))
    return random() < 0.1 ? [...items, ...items, pick(VALUES)] : items
  }
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).filter(() => random() > 0.05)
  const changed = entries.map(([key, item]) => [random() < 0.02 ? pick(KEYS) : key, faulty(item, depth + 1)] as const)
  if (random() < 0.08) changed.push([pick(KEYS), pick(VALUES)])
  return Object.fromEntries(changed)
}

const nested = (depth: number): unknown => (depth ? { all: [nested(depth - 1)] } : { column: 'company', compare: '=', value: 'x' })
const IDS = [0, -1, 1.5, 2 ** 31, 2 ** 53, '', 'abc', '1e3', '../..', '%', '\u0000', 'null', '1;drop table users', 'constructor']
const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'no_such_key',
  '',
  'id',
  'view_id',
  'filter',
  'order',
  'cursor',
  'search',
  'limit',
  'explain',
]
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  1e308,
  2 ** 31,
  2 ** 53,
  '',
  ' ',
  'yes',
  'a\u0000b',
  '\ud800',
  '\u202e\u2028',
  "'; drop table users; --",
  '%_\\',
  '{{field:company}} {{field:',
  '<script>alert(1)</script><p style="position:fixed">',
  '@{1:x} @{',
  '@me',
  'today',
  'next_7_days',
  '9999-12-31',
  '0000-00-00',
  '2026-02-30 25:61:61',
  '2026-03-29 02:30:00',
  'Casablanca/Nowhere',
  'a@b',
  'ann@customer.example',
  'data:image/png;base64,AAAA',
  'x'.repeat(5_000),
  [],
  [[]],
  [null],
  [1, 'a', {}],
  {},
  { $gt: '' },
  { all: [] },
  { any: [{ column: 'stage', compare: 'contains', value: ['Won', null, 3] }] },
  [{ column: 'company', compare: 'is_empty' }],
  nested(5),
  nested(60),
  Array.from({ length: 300 }, (_, index) => index),
]
const HEADERS: Record<string, string>[] = [
  { 'if-match': '"1"' },
  { 'if-match': 'W/"99999999999999999999", *' },
  { 'if-match': '"' },
  { 'idempotency-key': 'k' },
  { 'idempotency-key': 'x'.repeat(300) },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { accept: 'text/html' },
  { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
  { 'x-forwarded-for': "1.2.3.4, ' or 1=1" },
]

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}
