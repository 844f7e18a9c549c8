import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RESERVED_AFTER_MS, WakeUps } from '../../src/platform/jobs/wake-ups.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Makes a worker for each name; one whose name is a capital letter is reserved. `takeWoken` returns who was woken since its last call, in order. */
function workersOf(...names: string[]) {
  const wakeUps = new WakeUps()
  const woken: string[] = []
  const workers = Object.fromEntries(
    names.map((name) => [name, wakeUps.add(() => woken.push(name), { isReserved: name !== name.toLowerCase() })]),
  )
  const began = (name: string, isFull = false) => workers[name]?.began(isFull)
  const ended = (name: string, isFull = false) => workers[name]?.ended(isFull)
  return { lookForJobs: () => wakeUps.lookForJobs(), began, ended, takeWoken: () => woken.splice(0) }
}

const untilReserved = () => vi.advanceTimersByTime(RESERVED_AFTER_MS)

test('one worker looks for a new job, and no other', () => {
  const { lookForJobs, began, takeWoken } = workersOf('A', 'a', 'b')
  lookForJobs()
  began('a')
  untilReserved()
  expect(takeWoken()).toEqual(['a'])
  lookForJobs()
  expect(takeWoken()).toEqual(['b'])
})

test('a worker that has fetched as many jobs as it can take leaves the others to the next worker, and looks again', () => {
  const { lookForJobs, began, ended, takeWoken } = workersOf('a', 'b')
  lookForJobs()
  began('a', true)
  expect(takeWoken()).toEqual(['a', 'b'])
  ended('a', true)
  expect(takeWoken()).toEqual(['a'])
})

test('a job that may have come after the fetch of the worker that was woken for it gets another worker', () => {
  const { lookForJobs, began, takeWoken } = workersOf('a', 'b')
  lookForJobs()
  lookForJobs()
  expect(takeWoken()).toEqual(['a', 'b'])
  lookForJobs()
  began('b')
  expect(takeWoken()).toEqual(['a'])
  began('a')
  expect(takeWoken()).toEqual([])
})

test('a job that comes while all work is looked for by the first that is free', () => {
  const { lookForJobs, began, ended, takeWoken } = workersOf('a', 'b')
  began('a')
  began('b')
  lookForJobs()
  lookForJobs()
  expect(takeWoken()).toEqual([])
  ended('b')
  ended('a')
  expect(takeWoken()).toEqual(['b'])
})

test('a reserved worker looks once for jobs that come while all others work, after a short time', () => {
  const { lookForJobs, began, ended, takeWoken } = workersOf('A', 'B', 'a')
  began('a')
  lookForJobs()
  lookForJobs()
  expect(takeWoken()).toEqual([])
  untilReserved()
  untilReserved()
  expect(takeWoken()).toEqual(['A'])
  // It took one, so another one may wait, for the second reserved worker.
  began('A', true)
  untilReserved()
  expect(takeWoken()).toEqual(['B'])
  // Both found nothing else, but jobs of a low priority may wait.
  ended('A', true)
  ended('a')
  expect(takeWoken()).toEqual(['a'])
})

test('no reserved worker looks if another worker has become free in this time', () => {
  const { lookForJobs, began, ended, takeWoken } = workersOf('A', 'a')
  began('a')
  lookForJobs()
  ended('a')
  untilReserved()
  expect(takeWoken()).toEqual(['a'])
})
