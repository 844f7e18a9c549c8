import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Release, Semaphore } from '../../src/platform/concurrency/semaphore.ts'

/** Returns the permit, if the semaphore grants it within a few microtasks. */
async function settled(permit: Promise<Release>): Promise<Release | undefined> {
  let release: Release | undefined
  permit.then(
    (given) => {
      release = given
    },
    () => {},
  )
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  return release
}

const isGranted = async (permit: Promise<Release>) => (await settled(permit)) !== undefined

/** Counts the free permits, and takes them all. */
async function takeFree(semaphore: Semaphore): Promise<number> {
  const leaving = new AbortController()
  let free = 0
  while (await isGranted(semaphore.acquire({ signal: leaving.signal }))) free++
  leaving.abort()
  return free
}

describe('a semaphore', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('grants its permits at once, and further ones in the order of the callers', async () => {
    const semaphore = new Semaphore(2)
    const [a, b, c, d] = [semaphore.acquire(), semaphore.acquire(), semaphore.acquire(), semaphore.acquire()]
    expect([await isGranted(a), await isGranted(b), await isGranted(c)]).toEqual([true, true, false])
    ;(await b)()
    expect([await isGranted(c), await isGranted(d)]).toEqual([true, false])
    ;(await a)()
    expect(await isGranted(d)).toBe(true)
  })

  test('counts a permit that is released twice only once', async () => {
    const semaphore = new Semaphore(1)
    const release = await semaphore.acquire()
    release()
    release()
    expect(await takeFree(semaphore)).toBe(1)
  })

  test('ignores a second release after the permit went to the next caller', async () => {
    const semaphore = new Semaphore(1)
    const release = await semaphore.acquire()
    const [next, last] = [semaphore.acquire(), semaphore.acquire()]
    release()
    release()
    expect([await isGranted(next), await isGranted(last)]).toEqual([true, false])
  })

  test('has all permits again after all were released', async () => {
    const semaphore = new Semaphore(3)
    const held = await Promise.all([1, 2, 3].map(() => semaphore.acquire()))
    for (const release of held) release()
    expect(await takeFree(semaphore)).toBe(3)
  })

  test('refuses a caller that has waited too long, and passes the permit to the next', async () => {
    const semaphore = new Semaphore(1, () => new Error('too busy'))
    const release = await semaphore.acquire()
    const late = expect(semaphore.acquire({ timeoutMs: 1_000 })).rejects.toThrow('too busy')
    await vi.advanceTimersByTimeAsync(1_000)
    await late
    const next = semaphore.acquire({ timeoutMs: 1_000 })
    release()
    expect(await isGranted(next)).toBe(true)
    // The timer of a served caller has been cleared.
    expect(vi.getTimerCount()).toBe(0)
  })

  test('forgets a caller whose signal aborts while it waits', async () => {
    const semaphore = new Semaphore(1)
    const release = await semaphore.acquire()
    const leaving = new AbortController()
    const gone = expect(semaphore.acquire({ signal: leaving.signal, timeoutMs: 1_000 })).rejects.toThrow('hung up')
    const next = semaphore.acquire()
    leaving.abort(new Error('hung up'))
    await gone
    release()
    expect(await isGranted(next)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('refuses a caller whose signal was already aborted, and takes no permit for it', async () => {
    const semaphore = new Semaphore(1)
    await expect(semaphore.acquire({ signal: AbortSignal.abort(new Error('hung up')) })).rejects.toThrow('hung up')
    expect(await takeFree(semaphore)).toBe(1)
  })

  test('loses no permit that is released in the turn in which its signal aborts', async () => {
    for (const isReleasedFirst of [true, false]) {
      const semaphore = new Semaphore(1)
      const release = await semaphore.acquire()
      const leaving = new AbortController()
      const waiting = semaphore.acquire({ signal: leaving.signal })
      const outcome = waiting.then(
        (given) => given(),
        () => {},
      )
      if (isReleasedFirst) release()
      leaving.abort()
      if (!isReleasedFirst) release()
      await outcome
      expect(await takeFree(semaphore)).toBe(1)
    }
  })

  test('loses no permit that is released in the turn in which the wait times out', async () => {
    for (const releasedAfterMs of [999, 1_000, 1_001]) {
      const semaphore = new Semaphore(1)
      const release = await semaphore.acquire()
      setTimeout(release, releasedAfterMs)
      const outcome = semaphore.acquire({ timeoutMs: 1_000 }).then(
        (given) => given(),
        () => {},
      )
      await vi.advanceTimersByTimeAsync(2_000)
      await outcome
      expect(await takeFree(semaphore)).toBe(1)
    }
  })

  test('releases the permit of a function that ran, whether it succeeded or failed', async () => {
    const semaphore = new Semaphore(1)
    expect(await semaphore.run(async () => 'done')).toBe('done')
    await expect(semaphore.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(await takeFree(semaphore)).toBe(1)
  })

  test('never runs more functions than it has permits, and runs every function that is not aborted', async () => {
    const semaphore = new Semaphore(3)
    let [running, most, done, refused] = [0, 0, 0, 0]
    const all = Array.from({ length: 60 }, (_, index) => {
      const leaving = new AbortController()
      if (index % 7 === 0) setTimeout(() => leaving.abort(), index % 11)
      return semaphore
        .run(
          async () => {
            most = Math.max(most, ++running)
            await new Promise((resolve) => setTimeout(resolve, (index * 5) % 13))
            running--
            done++
          },
          { signal: leaving.signal, ...(index % 5 === 0 && { timeoutMs: index % 9 }) },
        )
        .catch(() => refused++)
    })
    await vi.advanceTimersByTimeAsync(5_000)
    await Promise.all(all)
    expect([most, running, done + refused]).toEqual([3, 0, 60])
    expect(done).toBeGreaterThan(40)
    expect(await takeFree(semaphore)).toBe(3)
  })
})
