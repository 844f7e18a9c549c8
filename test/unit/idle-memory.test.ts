import { getHeapSpaceStatistics } from 'node:v8'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { collectWhenIdle } from '../../src/platform/processes/idle-memory.ts'

const SPAN_MS = 30_000
/** Five minutes of little to do. */
const IDLE = Array.from({ length: 10 }, () => 0.01)
let utilization = 0

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  vi.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => ({ idle: 0, active: 0, utilization }))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

function spans(of: number[]) {
  for (utilization of of) vi.advanceTimersByTime(SPAN_MS)
}

test('collects once a process has been idle for five minutes, and again only after it was busy', () => {
  const collect = vi.fn()
  const stop = collectWhenIdle(collect)
  spans([1, 0.2, 0.06, ...IDLE.slice(1)])
  expect(collect).not.toHaveBeenCalled()
  spans([0.06, ...IDLE.slice(1)])
  expect(collect).not.toHaveBeenCalled()
  spans([...IDLE, 0.09, ...IDLE])
  expect(collect).toHaveBeenCalledTimes(1)
  spans([0.9, ...IDLE, ...IDLE])
  expect(collect).toHaveBeenCalledTimes(2)
  stop()
  spans([0.9, ...IDLE])
  expect(collect).toHaveBeenCalledTimes(2)
})

test('leaves a large heap alone, whose collection would be a long pause', () => {
  const collect = vi.fn()
  vi.spyOn(process, 'memoryUsage').mockReturnValue({ ...process.memoryUsage(), heapUsed: 500_000_000 })
  const stop = collectWhenIdle(collect)
  spans([0.9, ...IDLE])
  expect(collect).not.toHaveBeenCalled()
  stop()
})

test('gives back the new space, which a usual collection leaves as large as it has become', () => {
  let kept: unknown[] = []
  for (let round = 0; round < 40; round++) kept = Array.from({ length: 100_000 }, (_, index) => ({ index, kept: round }))
  expect(kept).toHaveLength(100_000)
  const newSpaceMb = () =>
    (getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0) / 1024 ** 2
  expect(newSpaceMb()).toBeGreaterThan(4)
  // How much of the garbage of this test V8 has collected by now differs, and it could be more than an idle process gives back.
  vi.spyOn(process, 'memoryUsage').mockReturnValue({ ...process.memoryUsage(), heapUsed: 50_000_000 })
  const stop = collectWhenIdle()
  spans(IDLE)
  expect(newSpaceMb()).toBeLessThan(2)
  stop()
})
