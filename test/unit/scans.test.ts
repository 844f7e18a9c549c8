/** Statements that callers wait for run a few at a time, those that took long four at a time. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Scans } from '../../src/platform/database/slow-query-limiter.ts'

const PATIENT = { onHangUp: () => () => {} }
const SCAN = 'select everything'

/** Somebody who can hang up. */
function caller() {
  const listeners = new Set<() => void>()
  return {
    onHangUp: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    hangUp: () => {
      for (const listener of [...listeners]) listener()
    },
    listeners,
  }
}

/** With four scans under way, and how each gives its place back. */
async function busy() {
  const scans = new Scans(8)
  scans.note(SCAN, 800, true)
  const leaves = await Promise.all([1, 2, 3, 4].map(() => scans.enter(SCAN, PATIENT)))
  return { scans, leaves: leaves as (() => void)[] }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('what never took long, or is quick again, needs no place among the scans', async () => {
  const { scans } = await busy()
  expect(scans.enter('select one', PATIENT)).toBeTypeOf('function')
  scans.note('select one', 499, true)
  expect(scans.enter('select one', PATIENT)).toBeTypeOf('function')
  scans.note(SCAN, 99, true)
  expect(scans.enter(SCAN, PATIENT)).toBeTypeOf('function')
})

test('what took long stays a scan while it is not quick: with less company it takes less', async () => {
  const { scans } = await busy()
  scans.note(SCAN, 100, true)
  expect(scans.enter(SCAN, PATIENT)).toBeInstanceOf(Promise)
})

test('all together are eight, and the ninth waits, scan or not', async () => {
  const { scans, leaves } = await busy()
  const others = await Promise.all([1, 2, 3, 4].map(() => scans.enter('select one', PATIENT)))
  const [first, second] = [scans.enter('select one', PATIENT), scans.enter(SCAN, PATIENT)]
  expect(first).toBeInstanceOf(Promise)
  others[0]?.()
  expect(await first).toBeTypeOf('function')
  leaves[0]?.()
  expect(await second).toBeTypeOf('function')
})

test('a scan that finds no place among all gives the one among the scans back', async () => {
  const { scans, leaves } = await busy()
  leaves[0]?.()
  const others = await Promise.all([1, 2, 3, 4, 5].map(() => scans.enter('select one', PATIENT)))
  const late = expect(scans.enter(SCAN, PATIENT)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  await vi.advanceTimersByTimeAsync(5_000)
  await late
  others[0]?.()
  expect(await scans.enter(SCAN, PATIENT)).toBeTypeOf('function')
})

test('what failed early is as long as it was, and what failed late is long', async () => {
  const { scans } = await busy()
  scans.note(SCAN, 5, false)
  expect(scans.enter(SCAN, PATIENT)).toBeInstanceOf(Promise)
  scans.note('select for ever', 10_000, false)
  expect(scans.enter('select for ever', PATIENT)).toBeInstanceOf(Promise)
})

test('the fifth waits for a place, and who came first gets it first', async () => {
  const { scans, leaves } = await busy()
  const got: string[] = []
  const enter = async (name: string) => {
    const leave = await scans.enter(SCAN, PATIENT)
    got.push(name)
    return leave
  }
  const waiting = ['a', 'b'].map(enter)
  leaves[0]?.()
  const leave = await waiting[0]
  expect(got).toEqual(['a'])
  leave?.()
  await waiting[1]
  expect(got).toEqual(['a', 'b'])
})

test('places that were given back are there again', async () => {
  const { scans, leaves } = await busy()
  for (const leave of leaves) leave()
  expect(await Promise.all([1, 2, 3, 4].map(() => scans.enter(SCAN, PATIENT)))).toHaveLength(4)
})

test('who waits too long is told to come again, and waits no more', async () => {
  const { scans, leaves } = await busy()
  const late = expect(scans.enter(SCAN, PATIENT)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 2 })
  await vi.advanceTimersByTimeAsync(5_000)
  await late
  leaves[0]?.()
  expect(await scans.enter(SCAN, PATIENT)).toBeTypeOf('function')
})

test('who hangs up leaves the queue to the others', async () => {
  const { scans, leaves } = await busy()
  const [gone, next] = [caller(), caller()]
  const refused = expect(scans.enter(SCAN, gone)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  const place = scans.enter(SCAN, next)
  gone.hangUp()
  await refused
  leaves[0]?.()
  expect(await place).toBeTypeOf('function')
  expect([gone.listeners.size, next.listeners.size]).toEqual([0, 0])
})

test('only the latest two hundred are remembered', () => {
  const scans = new Scans(8)
  for (let index = 0; index < 201; index++) scans.note(`select ${index}`, 800, true)
  expect(scans.enter('select 0', PATIENT)).toBeTypeOf('function')
  expect(scans.enter('select 1', PATIENT)).toBeInstanceOf(Promise)
})
