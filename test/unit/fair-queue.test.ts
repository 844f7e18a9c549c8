import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FairQueue, type FairQueueOptions, type Slot } from '../../src/platform/concurrency/fair-queue.ts'

const OPTIONS: FairQueueOptions = { slots: 4, slotsOfAccount: 3, mostWaiting: 3, waitMs: 1_000, countedMs: 200 }
const ONE_SLOT = { slots: 1, slotsOfAccount: 1 }

/** Names of requests such as `a1`: the letter is the account. */
function queueOf(options: Partial<FairQueueOptions> = {}) {
  const queue = new FairQueue({ ...OPTIONS, ...options })
  const inside = new Map<string, Slot>()
  const refused: string[] = []
  const leaving = new Map<string, () => void>()
  return {
    queue,
    refused,
    inside: () => [...inside.keys()],
    come(...names: string[]) {
      for (const name of names) {
        const account = `account ${name[0]}`
        const slot = queue.tryEnter(account)
        const enter = (given: Slot) => void inside.set(name, given)
        if (slot) enter(slot)
        else leaving.set(name, queue.wait(account, { enter, refuse: () => void refused.push(name) }))
      }
    },
    /** Ends the work of the requests, in this order. */
    end(...names: string[]) {
      for (const name of names) {
        queue.leave(inside.get(name) as Slot)
        inside.delete(name)
      }
    },
    stopWaiting: (name: string) => leaving.get(name)?.(),
  }
}

const numbered = (from: number, count: number) => Array.from({ length: count }, (_, index) => `a${from + index}`)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a fair queue', () => {
  test('gives an account its slots, and further ones in the order of arrival', () => {
    const { come, end, inside } = queueOf()
    come('a1', 'a2', 'a3', 'a4', 'a5')
    expect(inside()).toEqual(['a1', 'a2', 'a3'])
    end('a2')
    expect(inside()).toEqual(['a1', 'a3', 'a4'])
  })

  test('keeps a slot free for other accounts', () => {
    const { come, end, inside } = queueOf()
    come('a1', 'a2', 'a3', 'a4', 'b1', 'b2')
    expect(inside()).toEqual(['a1', 'a2', 'a3', 'b1'])
    end('b1')
    expect(inside()).toEqual(['a1', 'a2', 'a3', 'b2'])
  })

  test('lets the accounts that wait take turns, however long their queues are', () => {
    const { come, end, inside } = queueOf(ONE_SLOT)
    come('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2')
    const served: string[] = []
    for (let [next] = inside(); next; [next] = inside()) {
      served.push(next)
      end(next)
    }
    expect(served).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('refuses the oldest request of an account with too many, and then serves its newest first', () => {
    const { come, end, inside, refused } = queueOf()
    come(...numbered(1, 8))
    expect(refused).toEqual(['a4', 'a5'])
    end('a1')
    expect(inside()).toEqual(['a2', 'a3', 'a8'])
  })

  test('serves in the order of arrival again once nobody has waited', () => {
    const { come, end, inside } = queueOf(ONE_SLOT)
    come(...numbered(1, 5))
    end('a1', 'a5', 'a4', 'a3')
    come('a6', 'a7', 'a8')
    end('a6')
    expect(inside()).toEqual(['a7'])
  })

  test('refuses nobody of another account', () => {
    const { come, end, inside, refused } = queueOf()
    come('a1', 'a2', 'a3', 'b1', 'b2', ...numbered(4, 20))
    expect(refused).toEqual(numbered(4, 17))
    end('a1', 'a2')
    expect(inside()).toEqual(['a3', 'b1', 'b2', 'a23'])
  })

  test('refuses after the longest wait', () => {
    const { come, refused } = queueOf({ countedMs: 60_000 })
    come('a1', 'a2', 'a3', 'a4')
    vi.advanceTimersByTime(500)
    come('a5')
    vi.advanceTimersByTime(490)
    expect(refused).toEqual([])
    vi.advanceTimersByTime(20)
    expect(refused).toEqual(['a4'])
    vi.advanceTimersByTime(500)
    expect(refused).toEqual(['a4', 'a5'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('refuses what has waited too long instead of serving it late, as soon as a slot is free', () => {
    const { come, end, inside, refused } = queueOf({ ...ONE_SLOT, waitMs: 5 })
    come('a1', 'a2', 'a3')
    vi.advanceTimersByTime(6)
    end('a1')
    expect([inside(), refused]).toEqual([[], ['a2', 'a3']])
    come('a4')
    expect(inside()).toEqual(['a4'])
  })

  test('offers a free slot to every account, also after one whose requests are all late', () => {
    const { come, end, inside, refused } = queueOf({ ...ONE_SLOT, waitMs: 5 })
    come('a1', 'a2', 'a3')
    vi.advanceTimersByTime(6)
    come('c1')
    end('a1')
    expect([inside(), refused]).toEqual([['c1'], ['a2', 'a3']])
  })

  test('refuses the many that are late in several parts', () => {
    const { come, refused } = queueOf({ mostWaiting: 200, countedMs: 60_000 })
    come(...numbered(1, 153))
    vi.advanceTimersByTime(1_000)
    expect(refused).toEqual(numbered(4, 64))
    vi.advanceTimersByTime(10)
    expect(refused).toEqual(numbered(4, 128))
  })

  test('refuses everybody beyond the number that can wait at all', () => {
    const { come, refused } = queueOf({ ...ONE_SLOT, mostWaiting: 5_000 })
    come(...numbered(0, 2_050))
    expect(refused).toEqual(['a2049'])
  })

  test('gives the room of the longest queue to others when all queues together are full', () => {
    const { come, refused } = queueOf({ ...ONE_SLOT, mostWaiting: 5_000 })
    come(...numbered(0, 2_049), 'b1', 'c1', 'b2')
    expect(refused).toEqual(['a2048', 'a2047', 'a2046'])
  })

  test('gives away the slot of work that takes long, and counts no slot twice when it ends', () => {
    const { come, end, inside } = queueOf()
    come('a1', 'a2', 'a3', 'a4')
    vi.advanceTimersByTime(220)
    expect(inside()).toEqual(['a1', 'a2', 'a3', 'a4'])
    end('a1', 'a2', 'a3')
    come('a5', 'a6', 'a7')
    expect(inside()).toEqual(['a4', 'a5', 'a6'])
  })

  test('gives a slot at once that work of long ago still has', () => {
    const { come, inside } = queueOf()
    come('a1', 'a2', 'a3')
    vi.advanceTimersByTime(200)
    come('a4')
    expect(inside()).toContain('a4')
  })

  test('gives away the slot of a request whose body does not arrive with its headers', () => {
    const { queue, come, inside } = queueOf({ slotsOfAccount: 4 })
    const slow = [1, 2, 3, 4].map(() => queue.tryEnter('strangers 1') as Slot)
    const bodies = slow.map((slot) => {
      const body = { complete: false }
      slot.body = body
      return body
    })
    expect(queue.tryEnter('account b')).toBeUndefined()
    Object.assign(bodies[0] ?? {}, { complete: true })
    vi.advanceTimersByTime(5)
    come('b1', 'b2', 'b3', 'b4')
    expect(inside()).toEqual(['b1', 'b2', 'b3'])
    expect(queue.taken).toBe(4)
    for (const slot of slow) queue.leave(slot)
    expect(inside()).toEqual(['b1', 'b2', 'b3', 'b4'])
  })

  test('gives away the slot of a request that only waits for its time', () => {
    const { queue, come, inside } = queueOf({ slotsOfAccount: 4 })
    const [first, ...others] = [1, 2, 3, 4].map(() => queue.tryEnter('strangers 1') as Slot)
    for (const slot of others) slot.isIdle = true
    expect(queue.tryEnter('account b')).toBeUndefined()
    vi.advanceTimersByTime(5)
    come('b1', 'b2', 'b3', 'b4')
    expect(inside()).toEqual(['b1', 'b2', 'b3'])
    for (const slot of others) queue.leave(slot)
    expect(inside()).toEqual(['b1', 'b2', 'b3'])
    queue.leave(first as Slot)
    expect(inside()).toEqual(['b1', 'b2', 'b3', 'b4'])
  })

  test('counts an account as one that comes again when its work of long ago loses its slot', () => {
    const { queue } = queueOf()
    for (const account of ['account a', 'account b', 'account b', 'account b']) expect(queue.tryEnter(account)).toBeDefined()
    vi.advanceTimersByTime(200)
    // The fourth slot is kept for others.
    expect([1, 2, 3, 4].map(() => queue.tryEnter('account a') !== undefined)).toEqual([true, true, true, false])
  })

  test('gives the slots of idle work to those that wait before others', () => {
    const { queue, come, inside } = queueOf({ slots: 2, slotsOfAccount: 2 })
    for (const slot of [queue.tryEnter('strangers 1'), queue.tryEnter('strangers 1')]) (slot as Slot).body = { complete: false }
    come('a1')
    vi.advanceTimersByTime(6)
    come('b1')
    expect(inside()).toEqual(['a1', 'b1'])
  })

  test('gives the slots of thousands of callers on who have hung up meanwhile', () => {
    const queue = new FairQueue({ ...OPTIONS, ...ONE_SLOT, mostWaiting: 2_000 })
    const first = queue.tryEnter('a') as Slot
    let left = 0
    for (let count = 0; count < 2_000; count++)
      queue.wait('a', {
        enter: (slot) => {
          left++
          queue.leave(slot)
        },
        refuse: () => expect.unreachable(),
      })
    queue.leave(first)
    expect([left, queue.taken, queue.waiting]).toEqual([2_000, 0, 0])
  })

  test('counts heavy work with its weight', () => {
    const { queue } = queueOf()
    const heavy = queue.tryEnter('a', 4)
    expect(queue.tryEnter('a')).toBeUndefined()
    expect(queue.tryEnter('b')).toBeUndefined()
    queue.leave(heavy as Slot)
    expect(queue.tryEnter('a')).toBeDefined()
  })

  test('forgets a request that stops waiting', () => {
    const { come, end, inside, stopWaiting } = queueOf()
    come('a1', 'a2', 'a3', 'a4', 'a5')
    stopWaiting('a4')
    end('a1')
    expect(inside()).toEqual(['a2', 'a3', 'a5'])
  })

  test('runs functions, and gives their slots back when they fail', async () => {
    const { queue } = queueOf(ONE_SLOT)
    const refusal = () => new Error('busy')
    await expect(queue.run('a', () => Promise.reject(new Error('failed')), { refusal })).rejects.toThrow('failed')
    const first = Promise.withResolvers<string>()
    const running = queue.run('a', () => first.promise, { refusal })
    const leaving = new AbortController()
    const gone = expect(queue.run('a', async () => 'never', { refusal, signal: leaving.signal })).rejects.toThrow('hung up')
    const second = queue.run('a', async () => 'second', { refusal })
    leaving.abort(new Error('hung up'))
    await gone
    first.resolve('first')
    expect(await Promise.all([running, second])).toEqual(['first', 'second'])
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1)
    await expect(queue.run('a', async () => 'never', { refusal, signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone')
  })

  test('refuses functions that wait too long', async () => {
    const { queue } = queueOf({ ...ONE_SLOT, countedMs: 60_000 })
    queue.tryEnter('a')
    const late = expect(queue.run('a', async () => 'never', { refusal: () => new Error('busy') })).rejects.toThrow('busy')
    await vi.advanceTimersByTimeAsync(1_010)
    await late
  })
})

/**
 * A process that answers a request of `account a` in each millisecond, and begins four at once. What comes is given for each millisecond; requests are named in
 * the order in which they come.
 */
function processOf() {
  const queue = new FairQueue({ slots: 4, slotsOfAccount: 3, mostWaiting: 2_000, waitMs: 450, sheddingWaitMs: 50, countedMs: 60_000 })
  const inside: Slot[] = []
  const waits = { served: [] as number[], refused: [] as number[] }
  const order: number[] = []
  let due = 0
  let last = 0
  const come = () => {
    const name = ++last
    const since = performance.now()
    const enter = (slot: Slot) => {
      inside.push(slot)
      order.push(name)
      waits.served.push(performance.now() - since)
    }
    const slot = queue.tryEnter('account a')
    if (slot) enter(slot)
    else queue.wait('account a', { enter, refuse: () => void waits.refused.push(performance.now() - since) })
  }
  return {
    queue,
    waits,
    order,
    /** @param load how many times the capacity comes; @param speed the share of the capacity that the process has */
    pass(ms: number, { load, speed = 1 }: { load: number; speed?: number }) {
      for (let [passed, work] = [0, 0]; passed < ms; passed++) {
        for (due += load; due >= 1; due--) come()
        for (work += speed; work >= 1; work--) {
          const done = inside.shift()
          if (done) queue.leave(done)
        }
        vi.advanceTimersByTime(1)
      }
    },
  }
}

describe('a queue that sheds load', () => {
  test.each([0.1, 0.25, 0.4])('refuses nothing at 80 % after a pause of %f s', (seconds) => {
    const { pass, waits } = processOf()
    for (let round = 0; round < 3; round++) {
      pass(3_000, { load: 0.8 })
      pass(seconds * 1_000, { load: 0.8, speed: 0 })
    }
    pass(3_000, { load: 0.8 })
    expect(waits.refused).toEqual([])
    expect(waits.served.at(-1)).toBeLessThan(10)
  })

  test('refuses nothing at 80 % while the process has half of its speed for some tenths of a second', () => {
    const { pass, waits } = processOf()
    pass(1_000, { load: 0.8 })
    pass(500, { load: 0.8, speed: 0.5 })
    pass(3_000, { load: 0.8 })
    expect(waits.refused).toEqual([])
  })

  test('refuses nothing of a burst that is served in time', () => {
    const { pass, waits } = processOf()
    pass(1, { load: 440 })
    pass(3_000, { load: 0.5 })
    expect(waits.refused).toEqual([])
    expect(waits.served).toHaveLength(1_940)
  })

  test('lets nobody wait for more than 0.45 s at twice the capacity, and serves in the order of arrival at first', () => {
    const { pass, waits, order } = processOf()
    pass(2_500, { load: 2 })
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(Math.max(...waits.served)).toBeLessThanOrEqual(450)
    expect(Math.max(...waits.refused)).toBeLessThanOrEqual(460)
  })

  test('after 2.5 s of long waits serves the newest first, and refuses what has waited for 50 ms', () => {
    const { pass, waits } = processOf()
    pass(3_500, { load: 2 })
    for (const some of Object.values(waits)) some.length = 0
    pass(5_000, { load: 2 })
    expect(Math.max(...waits.served)).toBeLessThan(5)
    expect(Math.max(...waits.refused)).toBeLessThanOrEqual(60)
    expect(waits.served.length).toBeGreaterThanOrEqual(4_995)
  })

  test('serves in the order of arrival again once nobody has waited', () => {
    const { pass, waits, order } = processOf()
    pass(4_000, { load: 2 })
    pass(200, { load: 0.5 })
    const refused = waits.refused.length
    order.length = 0
    pass(100, { load: 2 })
    pass(200, { load: 0 })
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(waits.refused).toHaveLength(refused)
  })

  test('goes on while the process is stopped for a moment', () => {
    const { pass, waits } = processOf()
    pass(4_000, { load: 2 })
    pass(30, { load: 2, speed: 0 })
    for (const some of Object.values(waits)) some.length = 0
    pass(1_000, { load: 2 })
    expect(Math.max(...waits.served)).toBeLessThan(5)
  })

  test('sheds a queue at once that is full', () => {
    const { queue, pass, waits } = processOf()
    pass(1, { load: 2_010 })
    expect([queue.waiting, waits.refused.length]).toEqual([1_999, 7])
    pass(100, { load: 1 })
    expect(queue.waiting).toBeLessThan(60)
    expect(Math.max(...waits.served)).toBeLessThan(50)
  })

  test('serves another account at once', () => {
    const { queue, pass } = processOf()
    let longest = 0
    for (let count = 0; count < 100; count++) {
      pass(40, { load: 2 })
      const since = performance.now()
      const slot = queue.tryEnter('account b')
      if (slot) queue.leave(slot)
      else
        queue.wait('account b', {
          enter: (given) => {
            longest = Math.max(longest, performance.now() - since)
            queue.leave(given)
          },
          refuse: () => expect.unreachable(),
        })
    }
    expect(longest).toBeLessThan(5)
  })

  test('refuses nothing of a few callers who repeat at once what was refused after a pause', () => {
    const queue = new FairQueue({ slots: 4, slotsOfAccount: 3, mostWaiting: 2_000, waitMs: 450, sheddingWaitMs: 50, countedMs: 60_000 })
    const inside: Slot[] = []
    let refused = 0
    const come = () => {
      const enter = (slot: Slot) => void inside.push(slot)
      const slot = queue.tryEnter('account a')
      if (slot) enter(slot)
      else {
        queue.wait('account a', {
          enter,
          refuse: () => {
            refused++
            setTimeout(come, 1)
          },
        })
      }
    }
    for (let caller = 0; caller < 30; caller++) come()
    vi.advanceTimersByTime(3_000)
    expect(refused).toBeGreaterThan(30)
    const serve = (ms: number) => {
      for (let passed = 0; passed < ms; passed++) {
        const done = inside.shift()
        if (done) {
          queue.leave(done)
          come()
        }
        vi.advanceTimersByTime(1)
      }
    }
    serve(100)
    const sofar = refused
    serve(5_000)
    expect(refused).toBe(sofar)
  })
})
