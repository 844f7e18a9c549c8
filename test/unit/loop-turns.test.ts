/** Turns of the event loop that chunks of uploads take. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { chunkTurn, requestBegins, requestEnds } from '../../src/platform/concurrency/loop-turns.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('handles one chunk in each turn of the event loop, in their order', async () => {
  const handled: number[] = []
  for (const chunk of [1, 2, 3]) void chunkTurn().then(() => handled.push(chunk))
  for (const count of [1, 2, 3]) {
    await turn()
    expect(handled).toEqual([1, 2, 3].slice(0, count))
  }
})

test('lets a chunk wait for a request in progress, but not for long', async () => {
  vi.useFakeTimers()
  const request = requestBegins()
  let handled = 0
  for (const _ of [1, 2]) void chunkTurn().then(() => handled++)
  await vi.advanceTimersByTimeAsync(0)
  expect(handled).toBe(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(handled).toBe(1)
  requestEnds(request)
  await vi.advanceTimersByTimeAsync(1)
  expect(handled).toBe(2)
})

test('forgets a request of which nobody says that it has ended, also without uploads', () => {
  vi.useFakeTimers()
  const left = requestBegins()
  vi.advanceTimersByTime(101)
  requestEnds(requestBegins())
  expect(left.item).toBeUndefined()
})

test('does not wait for a request that has ended, nor for one that takes long', async () => {
  vi.useFakeTimers()
  requestEnds(requestBegins())
  const slow = requestBegins()
  await vi.advanceTimersByTimeAsync(100)
  let isHandled = false
  void chunkTurn().then(() => {
    isHandled = true
  })
  // No millisecond passes: the chunk waits for a turn of the loop only.
  await vi.advanceTimersByTimeAsync(0)
  expect(isHandled).toBe(true)
  requestEnds(slow)
})
