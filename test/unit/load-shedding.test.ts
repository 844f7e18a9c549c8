import { expect, test } from 'vitest'
import { LoadShedding } from '../../src/platform/concurrency/load-shedding.ts'

function queueAt(now: number): LoadShedding {
  const shedding = new LoadShedding(50)
  shedding.noteNoQueue(now)
  return shedding
}

test('a queue is shed after 2.5 s without a short wait', () => {
  const shedding = queueAt(1_000)
  shedding.noteWait(51, 2_000)
  expect([shedding.isShedding(3_500), shedding.isShedding(3_501)]).toEqual([false, true])
})

test('a queue in which one has waited for a short time is not shed', () => {
  const shedding = queueAt(1_000)
  shedding.noteWait(50, 2_000)
  expect([shedding.isShedding(4_500), shedding.isShedding(4_501)]).toEqual([false, true])
})

test('a queue that was full is shed until nobody has waited, also one without a limit for short waits', () => {
  for (const shedding of [queueAt(1_000), new LoadShedding(undefined)]) {
    shedding.noteFull()
    shedding.noteWait(1, 1_000)
    expect(shedding.isShedding(1_000)).toBe(true)
    shedding.noteNoQueue(1_100)
    expect(shedding.isShedding(1_100)).toBe(false)
  }
})

test('a queue without a limit for short waits is not shed however long its requests wait', () => {
  const shedding = new LoadShedding(undefined)
  shedding.noteNoQueue(0)
  expect(shedding.isShedding(1_000_000)).toBe(false)
})

test('a queue that is shed is shed until nobody has waited, however briefly the newest have', () => {
  const shedding = queueAt(0)
  shedding.noteWait(1, 2_600)
  expect(shedding.isShedding(2_600)).toBe(true)
  shedding.noteNoQueue(2_700)
  expect([shedding.isShedding(2_700), shedding.isShedding(5_200), shedding.isShedding(5_201)]).toEqual([false, false, true])
})
