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
