import { expect, test, vi } from 'vitest'
import { paced } from '../../console/src/grid/model/pacing.ts'

test('what is asked for while it runs is done once, after a rest that grows with what it takes', async () => {
  vi.useFakeTimers()
  try {
    const runs: number[] = []
    const begin = performance.now()
    const run = paced(async () => {
      runs.push(performance.now() - begin)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }, 3)
    const [one, other] = [{}, {}]
    run(one)
    expect(runs).toEqual([0])
    for (let index = 0; index < 20; index++) {
      run(one)
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(runs).toEqual([0])
    await vi.advanceTimersByTimeAsync(200)
    expect(runs).toEqual([0, 400])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(runs).toEqual([0, 400])
    run(one)
    run(other)
    expect(runs).toHaveLength(4)
  } finally {
    vi.useRealTimers()
  }
})
