import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runInPlace } from '../../src/platform/concurrency/awaited-place.ts'
import { FairLimit, type Place } from '../../src/platform/concurrency/fair-limit.ts'
import type { FairLimitOptions } from '../../src/platform/concurrency/fair-limit-options.ts'

const OPTIONS: FairLimitOptions = {
  ...{ places: 4, competingPlaces: 3, refusingPlaces: () => 3, keptFree: 1 },
  ...{ mostWaiting: 3, waitMs: 1_000, refusingWaitMs: 100, countedMs: 200 },
}

/** Names of requests such as `a1`: the letter is the party. */
function limitOf(options: Partial<FairLimitOptions> = {}) {
  const limit = new FairLimit({ ...OPTIONS, ...options })
  const inside = new Map<string, Place>()
  const refused: string[] = []
  const leaving = new Map<string, () => void>()
  return {
    limit,
    refused,
    inside: () => [...inside.keys()],
    come(...names: string[]) {
      for (const name of names) {
        const party = `account ${name[0]}`
        const place = limit.tryEnter(party)
        const enter = (given: Place) => void inside.set(name, given)
        if (place) enter(place)
        else leaving.set(name, limit.wait(party, { enter, refuse: () => void refused.push(name) }))
      }
    },
    /** Ends the work of the requests, in this order. */
    end(...names: string[]) {
      for (const name of names) {
        limit.leave(inside.get(name) as Place)
        inside.delete(name)
      }
    },
    stopWaiting: (name: string) => leaving.get(name)?.(),
  }
}

const SWEEP_MS = 20

describe('a fair limit', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('gives one party all places, and further ones in the order of arrival', () => {
    const { come, end, inside } = limitOf()
    come('a1', 'a2', 'a3', 'a4', 'a5', 'a6')
    expect(inside()).toEqual(['a1', 'a2', 'a3', 'a4'])
    end('a2')
    expect(inside()).toEqual(['a1', 'a3', 'a4', 'a5'])
  })

  test('keeps a place free for another party once there is one', () => {
    const { come, end, inside } = limitOf()
    come('a1', 'a2', 'b1')
    end('b1')
    come('a3')
    expect(inside()).toEqual(['a1', 'a2'])
    come('b2')
    expect(inside()).toEqual(['a1', 'a2', 'b2'])
  })

  test('gives the places that there are at the moment while requests are refused', () => {
    let places = 3
    const { come, end, inside, refused } = limitOf({ refusingPlaces: () => places })
    come('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8')
    expect(refused).toEqual(['a5'])
    end('a1', 'a2')
    expect(inside()).toEqual(['a3', 'a4', 'a8'])
    places = 2
    end('a3')
    expect(inside()).toEqual(['a4', 'a8'])
  })

  test('asks for the places of a party that is refused with its share of refusals, and lets others take all', () => {
    const asked: number[] = []
    const refusingPlaces = (refusedShare: number) => {
      asked.push(refusedShare)
      return refusedShare > 0.01 ? 1 : 3
    }
    const { come, end, inside } = limitOf({ refusingPlaces, keptFree: 0, mostWaiting: 1, countedMs: 60_000 })
    come('a1', 'a2', 'a3', 'a4', 'a5', 'a6')
    end('a1', 'a2')
    expect(inside()).toEqual(['a3', 'a4', 'a6'])
    expect(asked.every((share) => share > 0 && share < 0.01)).toBe(true)
    come(...Array.from({ length: 20 }, (_, index) => `a${index + 7}`))
    end('a3', 'a4', 'a6')
    expect(inside()).toEqual(['a26'])
    come('b1', 'b2', 'b3')
    expect(inside()).toEqual(['a26', 'b1', 'b2'])
  })

  test('asks for the places of a party that is refused with whether another account has begun a request a moment ago', () => {
    const asked: boolean[] = []
    const refusingPlaces = (_: number, isBesideLight: boolean) => {
      asked.push(isBesideLight)
      return 2
    }
    const { come, end } = limitOf({
      refusingPlaces,
      givesWay: { excessForMs: 10, forMs: 5, manyWaiting: 20, places: () => 2 },
      competingPlaces: 4,
      keptFree: 0,
      mostWaiting: 1,
    })
    come('a1', 'a2', 'a3', 'a4', 'a5', 'a6')
    const last = (during: () => void) => {
      asked.length = 0
      during()
      return asked.at(-1)
    }
    expect(last(() => end('a1'))).toBe(false)
    come('b1')
    expect(last(() => end('a2'))).toBe(true)
    vi.advanceTimersByTime(10)
    expect(last(() => end('b1'))).toBe(false)
  })

  test('gives a party that is refused a first place beside others that use all', () => {
    const { come, end, inside, refused } = limitOf({ refusingPlaces: () => 1, keptFree: 0, mostWaiting: 1 })
    come('b1', 'a1', 'b2', 'a2', 'a3')
    expect(refused).toEqual(['a2'])
    end('a1')
    expect(inside()).toEqual(['b1', 'b2', 'a3'])
  })

  describe('beside a party that is served', () => {
    const options = { places: 4, competingPlaces: 4, keptFree: 0, mostWaiting: 2, countedMs: 60_000 }
    const givesWay = { excessForMs: 10, forMs: 5, manyWaiting: 2, places: () => 2 }
    const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `a${from + index}`)

    test('keeps a party that is refused to its first place', () => {
      const { come, end, inside, refused } = limitOf({ ...options, refusingPlaces: () => 2 })
      come('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7')
      expect(refused).toEqual(['a5'])
      end('a1', 'a2', 'a3')
      expect(inside()).toEqual(['a4', 'a7'])
      come('b1')
      // Its place that ends is not filled again.
      end('a4')
      expect(inside()).toEqual(['a7', 'b1'])
      end('a7')
      expect(inside()).toEqual(['b1', 'a6'])
      come('a8')
      end('b1')
      expect(inside()).toEqual(['a6', 'a8'])
    })

    test('keeps a party of which many wait to some places, for a moment', () => {
      const { come, end, inside, refused } = limitOf({ ...options, givesWay, mostWaiting: 20 })
      come(...numbered(1, 13))
      end('a1')
      expect(inside()).toEqual(['a2', 'a3', 'a4', 'a5'])
      come('b1')
      end('a2', 'a3')
      expect(inside()).toEqual(['a4', 'a5', 'a6', 'b1'])
      end('a4')
      expect(inside()).toEqual(['a5', 'a6', 'b1'])
      end('a5')
      expect(inside()).toEqual(['a6', 'b1', 'a7'])
      vi.advanceTimersByTime(10)
      end('a6')
      expect(inside()).toEqual(['b1', 'a7', 'a8', 'a9'])
      expect(refused).toEqual([])
    })

    test('leaves those places to it, however many others have', () => {
      const { come, end, inside } = limitOf({ ...options, givesWay, mostWaiting: 20 })
      come('a1', 'a2', 'c1', 'd1', ...numbered(3, 8))
      end('a1')
      expect(inside()).toEqual(['a2', 'c1', 'd1', 'a3'])
    })

    test('leaves it all places while a few would do less', () => {
      const { come, end, inside } = limitOf({ ...options, givesWay: { ...givesWay, places: () => 4 }, mostWaiting: 20 })
      come('a1', 'a2', 'a3', 'b1', ...numbered(4, 9))
      end('a1')
      expect(inside()).toEqual(['a2', 'a3', 'b1', 'a4'])
    })

    test('lets it give way neither to strangers nor to a party that needs many places', () => {
      const fillsPlaces = (enterOthers: (limit: ReturnType<typeof limitOf>) => void, places = 2) => {
        const all = limitOf({ ...options, givesWay: { ...givesWay, places: () => places }, mostWaiting: 20 })
        enterOthers(all)
        all.come(...numbered(1, 9))
        all.end('a1', 'a2')
        return all.inside().filter((name) => name.startsWith('a')).length > places
      }
      expect(fillsPlaces(({ limit }) => limit.tryEnter('account b'))).toBe(false)
      expect(fillsPlaces(({ limit }) => limit.tryEnter('strangers 1'))).toBe(true)
      expect(fillsPlaces(({ come }) => come('b1'), 1)).toBe(false)
      expect(fillsPlaces(({ come }) => come('b1', 'b2'), 1)).toBe(true)
    })

    test('lets it give way to one account, however many places another that has come later needs', () => {
      const { come, end, inside } = limitOf({ ...options, competingPlaces: 6, givesWay, mostWaiting: 20 })
      come('b1', ...numbered(1, 3), 'c1', 'c2', 'c3', ...numbered(4, 9))
      expect(inside()).toEqual(['b1', 'a1', 'a2', 'a3', 'c1', 'c2'])
      end('c1', 'c2', 'c3', 'a1')
      expect(inside()).toEqual(['b1', 'a2', 'a3'])
    })

    test('lets it give way to no account of which a request waits', () => {
      const { come, end, inside } = limitOf({ ...options, givesWay: { ...givesWay, excessForMs: 20 }, mostWaiting: 20 })
      come(...numbered(1, 9), 'b1', 'b2')
      end('a1', 'a2', 'a3')
      expect(inside()).toEqual(['a4', 'a5', 'b1', 'a6'])
    })

    test('lets it give way to an account whose request has ended a moment ago', () => {
      const { come, end, inside } = limitOf({ ...options, givesWay, mostWaiting: 20 })
      come('b1')
      end('b1')
      come(...numbered(1, 9))
      end('a1', 'a2', 'a3')
      expect(inside()).toEqual(['a4', 'a5'])
      vi.advanceTimersByTime(10)
      end('a4')
      expect(inside()).toEqual(['a5', 'a6', 'a7', 'a8'])
    })

    test('lets it give way for longer while more of it come than are served', () => {
      const { come, end, inside } = limitOf({ ...options, competingPlaces: 5, keptFree: 1, givesWay, mostWaiting: 20 })
      const beginAndEnd = (name: string) => {
        come(name)
        end(name)
      }
      beginAndEnd('b1')
      come(...numbered(1, 14))
      vi.advanceTimersByTime(SWEEP_MS)
      end('a1', 'a2', 'a3', 'a4')
      vi.advanceTimersByTime(SWEEP_MS)
      beginAndEnd('b2')
      end('a5')
      expect(inside()).toEqual(['a6', 'a7', 'a8'])
      vi.advanceTimersByTime(5)
      end('a6')
      expect(inside()).toEqual(['a7', 'a8', 'a9', 'a10'])
      come(...numbered(15, 30))
      beginAndEnd('b3')
      vi.advanceTimersByTime(5)
      end('a7')
      expect(inside()).toEqual(['a8', 'a9', 'a10'])
      vi.advanceTimersByTime(5)
      end('a8')
      expect(inside()).toEqual(['a9', 'a10', 'a11', 'a12'])
    })

    test('leaves its places to a party that is refused but keeps all of them', () => {
      const { come, end, inside, refused } = limitOf({ ...options, refusingPlaces: () => 4 })
      come('b1', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6')
      expect(refused).toEqual(['a4'])
      end('a1')
      expect(inside()).toEqual(['b1', 'a2', 'a3', 'a6'])
    })
  })

  test('lets the parties that wait take turns, however long their queues are', () => {
    const { come, end, inside } = limitOf({ places: 1, competingPlaces: 1, refusingPlaces: () => 1, keptFree: 0 })
    come('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2')
    const served: string[] = []
    for (let [next] = inside(); next; [next] = inside()) {
      served.push(next)
      end(next)
    }
    expect(served).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  test('gives a flooding party back all places when it has been alone for a while', () => {
    const { come, end, inside } = limitOf()
    come('b1', 'a1')
    end('b1')
    come('a2', 'a3')
    expect(inside()).toEqual(['a1', 'a2'])
    vi.advanceTimersByTime(900)
    end('a1', 'a2', 'a3')
    vi.advanceTimersByTime(600_000)
    come('a4', 'a5', 'a6', 'a7')
    expect(inside()).toEqual(['a4', 'a5', 'a6', 'a7'])
  })

  test('refuses the oldest request of a party with too many, and then serves its newest first', () => {
    const { come, end, inside, refused } = limitOf()
    come('a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8')
    expect(refused).toEqual(['a5'])
    // Fewer places count while requests are refused.
    end('a1')
    expect(inside()).toEqual(['a2', 'a3', 'a4'])
    end('a2')
    expect(inside()).toEqual(['a3', 'a4', 'a8'])
  })

  test('refuses nobody of another party', () => {
    const { come, end, inside, refused } = limitOf({ keptFree: 0 })
    come('a1', 'a2', 'a3', 'a4', 'b1', 'b2', ...Array.from({ length: 20 }, (_, index) => `a${index + 5}`))
    expect(refused.filter((name) => name.startsWith('b'))).toEqual([])
    end('a1', 'a2', 'a3')
    expect(inside()).toEqual(['a4', 'b1', 'a24'])
  })

  test('refuses after a wait that is short while the party is being refused', () => {
    const { come, refused } = limitOf({ countedMs: 60_000 })
    come('a1', 'a2', 'a3', 'a4', 'a5')
    vi.advanceTimersByTime(990)
    expect(refused).toEqual([])
    vi.advanceTimersByTime(40)
    expect(refused).toEqual(['a5'])
    come('a6')
    vi.advanceTimersByTime(140)
    expect(refused).toEqual(['a5', 'a6'])
    vi.advanceTimersByTime(1_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('refuses what has waited too long instead of serving it late, as soon as a place is free', () => {
    const { come, end, inside, refused } = limitOf({
      places: 1,
      competingPlaces: 1,
      refusingPlaces: () => 1,
      keptFree: 0,
      mostWaiting: 2,
      refusingWaitMs: 5,
    })
    come('a1', 'a2', 'a3', 'a4')
    vi.advanceTimersByTime(6)
    end('a1')
    expect(inside()).toEqual([])
    expect(refused).toEqual(['a2', 'a3', 'a4'])
    come('a5')
    expect(inside()).toEqual(['a5'])
  })

  test('goes on serving the newest first after a moment without requests', () => {
    const { come, end, inside, refused } = limitOf({ places: 1, competingPlaces: 1, refusingPlaces: () => 1, keptFree: 0, mostWaiting: 2 })
    come('a1', 'a2', 'a3', 'a4')
    expect(refused).toEqual(['a2'])
    end('a1', 'a4', 'a3')
    expect(inside()).toEqual([])
    come('a5', 'a6', 'a7')
    end('a5')
    expect(inside()).toEqual(['a7'])
  })

  test('serves in the order of arrival again a second after the last refusal', () => {
    const { come, end, inside } = limitOf({ places: 1, competingPlaces: 1, refusingPlaces: () => 1, keptFree: 0, mostWaiting: 1 })
    come('a1', 'a2', 'a3')
    end('a1', 'a3')
    vi.advanceTimersByTime(1_020)
    expect(vi.getTimerCount()).toBe(0)
    come('a4', 'a5')
    end('a4')
    expect(inside()).toEqual(['a5'])
  })

  describe('with a number of waiting requests that only a flood exceeds', () => {
    const options = { places: 1, competingPlaces: 1, keptFree: 0, mostWaiting: 10, floodWaiting: 4, refusingWaitMs: 5, countedMs: 60_000 }
    const numbered = (from: number, count: number) => Array.from({ length: count }, (_, index) => `a${from + index}`)

    test('serves a burst in the order of arrival, and refuses only what no longer fits into the queue', async () => {
      const { come, end, inside, refused } = limitOf(options)
      come(...numbered(1, 13))
      await vi.advanceTimersByTimeAsync(0)
      expect(refused).toEqual(['a12', 'a13'])
      for (const name of numbered(1, 11)) {
        expect(inside()).toEqual([name])
        vi.advanceTimersByTime(SWEEP_MS)
        end(name)
      }
      expect(refused).toEqual(['a12', 'a13'])
    })

    test('refuses a flood after some intervals in which more come than are served, even if unevenly, and serves its newest first', () => {
      const { come, end, inside, refused } = limitOf(options)
      come('a1', 'a2', 'a3')
      let last = 3
      for (const [interval, count] of [3, 1, 2, 3].entries()) {
        expect(refused).toEqual([])
        end(`a${interval + 1}`)
        come(...numbered(last + 1, count))
        last += count
        vi.advanceTimersByTime(SWEEP_MS)
      }
      expect([inside(), refused]).toEqual([['a5'], numbered(6, 7)])
      come('a13')
      end('a5')
      expect(inside()).toEqual(['a13'])
    })

    test('refuses nobody after a pause, in which none is served and after which the queue shrinks', () => {
      const { come, end, inside, refused } = limitOf(options)
      come(...numbered(1, 3))
      for (let pause = 0; pause < 5; pause++) {
        come(...numbered(4 + pause, 1))
        vi.advanceTimersByTime(SWEEP_MS)
      }
      for (const name of numbered(1, 7)) {
        end(name)
        vi.advanceTimersByTime(SWEEP_MS)
      }
      expect([inside(), refused]).toEqual([['a8'], []])
    })

    test('refuses nobody while requests are served slowly after a pause, and a flood some time after it', () => {
      const { come, end, inside, refused } = limitOf({ ...options, mostWaiting: 100 })
      let last = 0
      const bring = (count: number) => {
        come(...numbered(last + 1, count))
        last += count
      }
      const pass = (intervals: number, served: number, came: number) => {
        for (let interval = 0; interval < intervals; interval++) {
          end(...inside().slice(0, served))
          bring(came)
          vi.advanceTimersByTime(SWEEP_MS)
        }
      }
      bring(3)
      pass(4, 0, 3)
      pass(20, 1, 2)
      expect(refused).toEqual([])
      pass(8, 1, 2)
      expect(refused.length).toBeGreaterThan(0)
    })

    test('refuses nobody after a pause of the process, of which it is told', () => {
      const { limit, come, end, refused } = limitOf({ ...options, mostWaiting: 100 })
      come(...numbered(1, 2))
      limit.notePause()
      for (let interval = 1; interval <= 20; interval++) {
        end(`a${interval}`)
        come(...numbered(2 * interval + 1, 2))
        vi.advanceTimersByTime(SWEEP_MS)
      }
      expect(refused).toEqual([])
    })

    test('gives all places after a pause, although parties compete, until fewer wait than there are places', () => {
      const { come, end, inside } = limitOf({ ...options, places: 3, competingPlaces: 1, mostWaiting: 20 })
      come('b1')
      end('b1')
      come(...numbered(1, 8))
      expect(inside()).toEqual(['a1'])
      vi.advanceTimersByTime(2 * SWEEP_MS)
      end('a1')
      expect(inside()).toEqual(['a2', 'a3', 'a4'])
      end('a2')
      expect(inside()).toEqual(['a3', 'a4', 'a5'])
      end('a3')
      for (let interval = 0; interval < 26; interval++) {
        vi.advanceTimersByTime(SWEEP_MS - 1)
        end(inside()[0] as string)
        come(`a${interval + 9}`)
        vi.advanceTimersByTime(1)
      }
      const [, ...others] = inside()
      end(...others)
      expect(inside()).toHaveLength(1)
    })

    test('gives fewer places again two seconds after a pause, however many wait, and takes that for no pause', () => {
      const { come, end, inside } = limitOf({
        ...options,
        places: 3,
        competingPlaces: 1,
        mostWaiting: 200,
        floodWaiting: 150,
        waitMs: 60_000,
      })
      come('b1')
      end('b1')
      come(...numbered(1, 120))
      vi.advanceTimersByTime(2 * SWEEP_MS)
      end('a1')
      expect(inside()).toEqual(['a2', 'a3', 'a4'])
      for (let serving = 2; serving < 102; serving++) {
        vi.advanceTimersByTime(SWEEP_MS)
        end(`a${serving}`)
      }
      expect(inside()).toEqual(['a102', 'a103'])
      vi.advanceTimersByTime(4 * SWEEP_MS)
      end('a102')
      expect(inside()).toEqual(['a103'])
    })

    test('gives fewer places again some time after a pause of the process in which nobody waited', () => {
      const { limit, come, end, inside } = limitOf({ ...options, places: 3, competingPlaces: 1 })
      come('b1')
      end('b1')
      limit.notePause()
      come('a1', 'a2', 'a3', 'a4')
      expect(inside()).toEqual(['a1', 'a2', 'a3'])
      end('a1', 'a2', 'a3', 'a4')
      vi.advanceTimersByTime(2_000)
      come('a5', 'a6')
      expect(inside()).toEqual(['a5'])
    })

    test('lets what is refused because all queues together are full count for the longest', async () => {
      const { come, refused } = limitOf({ ...options, mostWaiting: 3_000, floodWaiting: 1_000 })
      come(...numbered(1, 2_049))
      for (const late of ['b1', 'b2', 'b3', 'b4']) {
        come(late)
        await vi.advanceTimersByTimeAsync(SWEEP_MS)
      }
      expect(refused.slice(0, 4)).toEqual(['a2049', 'a2048', 'a2047', 'a2046'])
      expect(refused.length).toBeGreaterThan(4)
    })

    test('refuses nobody of a party whose long queue becomes shorter', () => {
      const { come, end, refused } = limitOf({ ...options, mostWaiting: 100, waitMs: 60_000 })
      come(...numbered(1, 60))
      for (let interval = 0; interval < 40; interval++) {
        end(...numbered(2 * interval + 1, 2))
        come(`a${61 + interval}`)
        vi.advanceTimersByTime(SWEEP_MS)
      }
      expect(refused).toEqual([])
    })

    test('refuses a party whose queue stays full, because work hangs or because a few more come than can be served', async () => {
      const { come, refused } = limitOf(options)
      come(...numbered(1, 11))
      for (const late of ['a12', 'a13', undefined, 'a14']) {
        if (late) come(late)
        await vi.advanceTimersByTimeAsync(SWEEP_MS)
      }
      expect(refused).toEqual(['a12', 'a13', 'a14', ...numbered(2, 10)])
    })

    test('refuses a party that keeps many waiting for long, and not one that sends no more', () => {
      const { come, end, refused } = limitOf({ ...options, waitMs: 60_000 })
      const serveFor = (intervals: number) => {
        for (let count = 0; count < intervals; count++) {
          end(`a${++last - 9}`)
          come(`a${last}`)
          vi.advanceTimersByTime(SWEEP_MS)
        }
      }
      let last = 9
      come(...numbered(1, 9))
      // For ten seconds they could have been left by a slow moment of the process.
      serveFor(520)
      expect(refused).toEqual([])
      serveFor(29)
      expect(refused.length).toBeGreaterThan(0)

      const other = limitOf({ ...options, mostWaiting: 50, waitMs: 60_000 })
      other.come(...numbered(1, 40))
      for (const name of numbered(1, 30)) {
        other.end(name)
        vi.advanceTimersByTime(SWEEP_MS)
      }
      expect(other.refused).toEqual([])
    })

    describe('after a second in which all that came were served', () => {
      /** In each interval the oldest `served` requests end, and `came` new ones come. */
      function busyLimit(more: Partial<FairLimitOptions> = {}) {
        const busy = limitOf({ ...options, mostWaiting: 200, ...more })
        let last = 0
        const bring = (count: number) => {
          busy.come(...numbered(last + 1, count))
          last += count
        }
        const pass = (intervals: number, { served, came }: { served: number; came: number }) => {
          for (let interval = 0; interval < intervals; interval++) {
            for (let left = served; left > 0; left--) busy.end(...busy.inside().slice(0, 1))
            bring(came)
            vi.advanceTimersByTime(SWEEP_MS)
          }
        }
        bring(4)
        pass(50, { served: 4, came: 4 })
        return { ...busy, pass }
      }

      test('refuses nobody while the process is slower, and no more come than before', () => {
        const { pass, refused } = busyLimit()
        pass(40, { served: 1, came: 4 })
        expect(refused).toEqual([])
        pass(150, { served: 5, came: 4 })
        expect(refused).toEqual([])
      })

      test('refuses a flood within half a second', () => {
        const { pass, refused } = busyLimit()
        pass(22, { served: 4, came: 8 })
        expect(refused.length).toBeGreaterThan(0)
      })

      test('refuses the same number of requests when the process stays slower for ten seconds', () => {
        const { pass, refused } = busyLimit({ mostWaiting: 1_900, waitMs: 60_000 })
        pass(470, { served: 1, came: 4 })
        expect(refused).toEqual([])
        pass(80, { served: 1, came: 4 })
        expect(refused.length).toBeGreaterThan(0)
      })

      test('refuses the same number of requests as a flood, once it has forgotten that it served as many', () => {
        const { pass, refused } = busyLimit()
        pass(1, { served: 4, came: 0 })
        vi.advanceTimersByTime(11_000)
        pass(15, { served: 1, came: 4 })
        expect(refused.length).toBeGreaterThan(0)
      })

      test('gives no more places for a burst that is soon served', () => {
        const { come, end, inside, pass } = busyLimit({ places: 3, competingPlaces: 1 })
        come('b1')
        end(...inside())
        pass(2, { served: 4, came: 7 })
        pass(2, { served: 4, came: 2 })
        expect(inside()).toHaveLength(1)
      })

      test('gives all places while the process is slower, although parties compete, but for two seconds only', () => {
        const { come, end, inside, pass } = busyLimit({ places: 3, competingPlaces: 1, waitMs: 60_000 })
        come('b1')
        end(...inside())
        expect(inside()).toHaveLength(1)
        pass(10, { served: 1, came: 4 })
        expect(inside()).toHaveLength(3)
        pass(100, { served: 4, came: 4 })
        end(...inside().slice(1))
        expect(inside()).toHaveLength(1)
      })
    })

    test('soon refuses nobody of a few callers who repeat what is refused at once', () => {
      const { come, end, inside, refused } = limitOf({ ...options, refusingPlaces: () => 1 })
      let [last, repeated] = [4, 0]
      come(...numbered(1, 4))
      const repeatFor = (ms: number) => {
        for (let passed = 0; passed < ms; passed += 10) {
          vi.advanceTimersByTime(10)
          end(...inside().slice(0, 1))
          for (const again of [...refused.slice(repeated), 'served']) come(`${again && 'a'}${++last}`)
          repeated = refused.length
        }
        return repeated
      }
      // Nothing is served for a second, as while the process is stopped.
      vi.advanceTimersByTime(1_020)
      expect(refused).toEqual(['a2', 'a3', 'a4'])
      expect(repeatFor(900)).toBeGreaterThan(50)
      repeatFor(300)
      const sofar = refused.length
      expect(repeatFor(3_000)).toBe(sofar)
    })

    test('refuses nothing of a party that is tried, and gives it a few places', () => {
      const some = { places: 4, competingPlaces: 4, refusingPlaces: () => 1, mostWaiting: 20 }
      const { come, end, inside, refused } = limitOf({
        ...options,
        ...some,
        givesWay: { excessForMs: 10, forMs: 5, manyWaiting: 32, places: () => 2 },
      })
      come(...numbered(1, 8))
      vi.advanceTimersByTime(1_000)
      end('a1', 'a2', 'a3')
      vi.advanceTimersByTime(900)
      come(...numbered(9, 2))
      vi.advanceTimersByTime(80)
      expect([inside(), refused]).toEqual([['a4'], [...numbered(5, 4), ...numbered(9, 2)]])
      come(...numbered(11, 3))
      vi.advanceTimersByTime(20)
      expect(inside()).toEqual(['a4', 'a13'])
      vi.advanceTimersByTime(40)
      expect(refused).toHaveLength(6)
      expect(inside()).toEqual(['a4', 'a13', 'a11', 'a12'])
    })

    test('refuses the many that are late when a flood is noticed in several parts', () => {
      const { come, end, refused } = limitOf({ ...options, mostWaiting: 200 })
      come(...numbered(1, 150))
      for (const served of [1, 2, 3, 4]) {
        end(`a${served}`)
        come(...numbered(150 + served * 2, 2))
        vi.advanceTimersByTime(SWEEP_MS)
      }
      expect(refused).toHaveLength(64)
      vi.advanceTimersByTime(SWEEP_MS)
      expect(refused).toHaveLength(128)
    })
  })

  test('gives away the place of work that takes long, and counts no place twice when it ends', () => {
    const { come, end, inside } = limitOf()
    come('a1', 'a2', 'a3', 'a4', 'a5')
    vi.advanceTimersByTime(220)
    expect(inside()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
    end('a1', 'a2', 'a3', 'a4')
    come('a6', 'a7', 'a8', 'a9')
    expect(inside()).toEqual(['a5', 'a6', 'a7', 'a8'])
  })

  test('gives away the place of a request whose body does not arrive with its headers', () => {
    const { limit, come, inside } = limitOf()
    const slow = [1, 2, 3, 4].map(() => limit.tryEnter('strangers 1') as Place)
    const bodies = slow.map((place) => {
      const body = { complete: false }
      place.body = body
      return body
    })
    expect(limit.tryEnter('account b')).toBeUndefined()
    Object.assign(bodies[0] ?? {}, { complete: true })
    vi.advanceTimersByTime(5)
    come('b1', 'b2', 'b3', 'b4')
    expect(inside()).toEqual(['b1', 'b2', 'b3'])
    expect(limit.taken).toBe(4)
    for (const place of slow) limit.leave(place)
    expect(inside()).toEqual(['b1', 'b2', 'b3', 'b4'])
  })

  test('counts a party as one that comes again when its work of long ago loses its place', () => {
    const { limit } = limitOf({ competingPlaces: 4 })
    for (const party of ['account a', 'account b', 'account b', 'account b']) expect(limit.tryEnter(party)).toBeDefined()
    vi.advanceTimersByTime(200)
    // The fourth place is kept for others.
    expect([1, 2, 3, 4].map(() => limit.tryEnter('account a') !== undefined)).toEqual([true, true, true, false])
  })

  test('gives the places of idle work to those that wait before others', () => {
    const { limit, come, inside } = limitOf({ places: 2, competingPlaces: 2, keptFree: 0 })
    for (const place of [limit.tryEnter('strangers 1'), limit.tryEnter('strangers 1')]) (place as Place).body = { complete: false }
    come('a1')
    vi.advanceTimersByTime(6)
    come('b1')
    expect(inside()).toEqual(['a1', 'b1'])
  })

  test('gives a place at once that work of long ago still has', () => {
    const { come, inside } = limitOf()
    come('a1', 'a2', 'a3', 'a4')
    vi.advanceTimersByTime(200)
    come('a5')
    expect(inside()).toContain('a5')
  })

  test('offers a free place to every party, also after one whose requests are all late', () => {
    const { come, end, inside, refused } = limitOf({ places: 1, competingPlaces: 1, keptFree: 0, mostWaiting: 1, refusingWaitMs: 5 })
    come('a1', 'a2', 'a3')
    vi.advanceTimersByTime(6)
    come('c1')
    end('a1')
    expect([inside(), refused]).toEqual([['c1'], ['a2', 'a3']])
  })

  test('gives the places of thousands of callers on who have hung up meanwhile', () => {
    const limit = new FairLimit({ ...OPTIONS, places: 1, competingPlaces: 1, keptFree: 0, mostWaiting: 2_000 })
    const first = limit.tryEnter('a') as Place
    let left = 0
    for (let count = 0; count < 2_000; count++)
      limit.wait('a', {
        enter: (place) => {
          left++
          limit.leave(place)
        },
        refuse: () => expect.unreachable(),
      })
    limit.leave(first)
    expect([left, limit.taken, limit.waiting]).toEqual([2_000, 0, 0])
  })

  test('counts heavy work with its weight', () => {
    const { limit } = limitOf()
    const heavy = limit.tryEnter('a', 4)
    expect(limit.tryEnter('a')).toBeUndefined()
    limit.leave(heavy as Place)
    expect(limit.tryEnter('a')).toBeDefined()
  })

  test('forgets a request that stops waiting', () => {
    const { come, end, inside, stopWaiting } = limitOf()
    come('a1', 'a2', 'a3', 'a4', 'a5', 'a6')
    stopWaiting('a5')
    end('a1')
    expect(inside()).toEqual(['a2', 'a3', 'a4', 'a6'])
  })

  test('runs functions, and gives their places back when they fail', async () => {
    const { limit } = limitOf({ places: 1, competingPlaces: 1, refusingPlaces: () => 1, keptFree: 0 })
    const refusal = () => new Error('busy')
    await expect(runInPlace(limit, 'a', () => Promise.reject(new Error('failed')), { refusal })).rejects.toThrow('failed')
    const first = Promise.withResolvers<string>()
    const running = runInPlace(limit, 'a', () => first.promise, { refusal })
    const leaving = new AbortController()
    const gone = expect(runInPlace(limit, 'a', async () => 'never', { refusal, signal: leaving.signal })).rejects.toThrow('hung up')
    const second = runInPlace(limit, 'a', async () => 'second', { refusal })
    leaving.abort(new Error('hung up'))
    await gone
    first.resolve('first')
    expect(await Promise.all([running, second])).toEqual(['first', 'second'])
    expect(vi.getTimerCount()).toBeLessThanOrEqual(1)
    await expect(runInPlace(limit, 'a', async () => 'never', { refusal, signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow(
      'gone',
    )
  })

  test('refuses everybody beyond the number that can wait at all', async () => {
    const { come, refused } = limitOf({ places: 1, competingPlaces: 1, refusingPlaces: () => 1, keptFree: 0, mostWaiting: 5_000 })
    come(...Array.from({ length: 2_050 }, (_, index) => `a${index}`))
    await vi.advanceTimersByTimeAsync(0)
    expect(refused).toEqual(['a2049'])
  })

  test('gives the room of the longest queue to others when all queues together are full', async () => {
    const { come, refused } = limitOf({ places: 1, competingPlaces: 1, refusingPlaces: () => 1, keptFree: 0, mostWaiting: 5_000 })
    come(...Array.from({ length: 2_049 }, (_, index) => `a${index}`))
    come('b1', 'c1', 'b2')
    await vi.advanceTimersByTimeAsync(0)
    expect(refused).toEqual(['a2048', 'a2047', 'a2046'])
  })
})
