import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Batches } from '../../src/platform/concurrency/batches.ts'

class Outage extends Error {}

/** Doubles numbers; for one that is odd it fails. */
function doubling({ most = 10, isAway = () => false, restMs = 0 }: { most?: number; isAway?: () => boolean; restMs?: number } = {}) {
  const calls: number[][] = []
  const batches = new Batches(
    async (items: readonly number[]) => {
      calls.push([...items])
      await setImmediate()
      if (isAway()) throw new Outage()
      const odd = items.find((item) => item % 2)
      if (odd !== undefined) throw new Error(`${odd} is odd`)
      return items.map((item) => item * 2)
    },
    { most, isForAll: (error) => error instanceof Outage, restMs },
  )
  return { calls, add: (...items: number[]) => Promise.allSettled(items.map((item) => batches.add(item))) }
}

const done = (value: number) => ({ status: 'fulfilled', value })
const failed = (message: string) => ({ status: 'rejected', reason: expect.objectContaining({ message }) })

test('items that come together share calls of a limited size, and each gets its own result', async () => {
  const { calls, add } = doubling({ most: 2 })
  expect(await add(2, 4, 6)).toEqual([done(4), done(8), done(12)])
  expect(calls).toEqual([[2, 4], [6]])
})

test('an item that fails does not fail the others', async () => {
  const { calls, add } = doubling()
  expect(await add(2, 3, 4)).toEqual([done(4), failed('3 is odd'), done(8)])
  expect(calls).toEqual([[2, 3, 4], [2], [3], [4]])
})

test('an error that is for all of them is not tried again for each, and later items run', async () => {
  let isAway = true
  const { calls, add } = doubling({ isAway: () => isAway })
  expect(await add(2, 3)).toEqual([failed(''), failed('')])
  expect(calls).toEqual([[2, 3]])
  isAway = false
  expect(await add(4)).toEqual([done(8)])
})

test('items that come while others are under way wait for them, and share the next call', async () => {
  const { calls, add } = doubling()
  const first = add(2)
  await setImmediate()
  expect(calls).toEqual([[2]])
  expect(await add(4, 6)).toEqual([done(8), done(12)])
  expect(await first).toEqual([done(4)])
  expect(calls).toEqual([[2], [4, 6]])
})

test('items that come during the rest after a call share the next one', async () => {
  const { calls, add } = doubling({ restMs: 300 })
  const startedAt = performance.now()
  expect(await add(2)).toEqual([done(4)])
  const second = add(4)
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  expect(await Promise.all([second, add(6)])).toEqual([[done(8)], [done(12)]])
  expect(calls).toEqual([[2], [4, 6]])
  expect(performance.now() - startedAt).toBeGreaterThan(290)
})

/** Notes the items of each call, which ends when the test says so. */
function held(lateMs?: number) {
  const calls: string[] = []
  const ends: (() => void)[] = []
  const batches = new Batches(
    async (items: readonly string[]) => {
      calls.push(items.join(' '))
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      await promise
      return items
    },
    { most: 10, isForAll: () => true, ...(lateMs !== undefined && { lateMs }) },
  )
  return { calls, ends, batches }
}

test('a group waits for its own calls, and not for those of another', async () => {
  const { calls, ends, batches } = held()
  const added = [batches.add('a', 'letters'), batches.add('1', 'digits')]
  await setImmediate()
  added.push(batches.add('b', 'letters'), batches.add('2', 'digits'))
  await setImmediate()
  expect(calls).toEqual(['a', '1'])
  ends[1]?.()
  await expect.poll(() => calls).toEqual(['a', '1', '2'])
  ends[0]?.()
  await expect.poll(() => calls).toEqual(['a', '1', '2', 'b'])
  for (const end of ends) end()
  expect(await Promise.all(added)).toEqual(['a', '1', 'b', '2'])
})

test('a call that is late is not waited for', async () => {
  const { calls, ends, batches } = held(20)
  const first = batches.add('slow')
  await setImmediate()
  const second = batches.add('next')
  await expect.poll(() => calls).toEqual(['slow', 'next'])
  ends[1]?.()
  expect(await second).toBe('next')
  ends[0]?.()
  expect(await first).toBe('slow')
})

test('results that come later are not waited for by the next call, and may fail one by one', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const batches = new Batches(
    async (items: readonly number[]) => items.map((item) => (item === 2 ? Promise.reject(new Error('2 is refused')) : promise)),
    { most: 1, isForAll: () => true },
  )
  const added = Promise.allSettled([1, 2, 3].map((item) => batches.add(item)))
  resolve(7)
  expect(await added).toEqual([done(7), failed('2 is refused'), done(7)])
})
