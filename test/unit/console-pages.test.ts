import { describe, expect, test } from 'vitest'
import { createPages, PAGE, type PageAnswer, type PagePlace } from '../../console/src/grid/pages/pages.ts'
import { createPace } from '../../console/src/grid/pages/request-pace.ts'
import { withChange } from '../../console/src/grid/pages/row.ts'

interface Asked {
  place: PagePlace
  signal: AbortSignal
  at: number
  answer(): Promise<void>
  fail(error: unknown): Promise<void>
}

/** A table of so many records, a clock that the test moves, and requests that wait for the test to answer them. */
function tableOf(total: number) {
  let now = 0
  let firstId = 1
  const timers = new Set<{ at: number; run: () => void }>()
  const asked: Asked[] = []
  const shifts: number[] = []
  const heldShifts: number[] = []
  let held = 0
  let order = (id: number) => id
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  const answerTo = (place: PagePlace): PageAnswer => {
    const from = 'offset' in place ? place.offset : Number(place.cursor || 0)
    const rows = Array.from({ length: Math.max(0, Math.min(PAGE, total - from)) }, (_, index) => ({ id: order(firstId + from + index) }))
    return { rows, ...('cursor' in place && from + PAGE < total && { next_cursor: String(from + PAGE) }) }
  }
  const pages = createPages({
    read: (place, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        asked.push({
          place,
          signal,
          at: now,
          answer: () => {
            resolve(answerTo(place))
            return turn()
          },
          fail: (error) => {
            reject(error)
            return turn()
          },
        })
      }),
    pace: createPace(5, 1_000),
    now: () => now,
    later(ms, run) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    changed: () => {},
    held: () => held,
    shifted(by, heldBy) {
      shifts.push(by)
      heldShifts.push(heldBy)
    },
    retryAfter: (error) => (error === 'busy' ? 1_000 : null),
  })
  const last = () => asked.at(-1) as Asked
  return {
    pages,
    asked,
    shifts,
    heldShifts,
    hold(row: number) {
      held = row
    },
    reorder(by: (id: number) => number) {
      order = by
    },
    last,
    places: () => asked.map(({ place }) => place),
    insertBefore(rows: number) {
      firstId -= rows
      total += rows
    },
    async pass(ms: number) {
      const end = now + ms
      for (;;) {
        const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        timers.delete(next)
        now = next.at
        next.run()
        await turn()
      }
      now = end
    },
  }
}

describe('the pages of a grid', () => {
  test('the first page is asked for with an empty cursor, and one reads on with the cursor of the page before', async () => {
    const { pages, places, last } = tableOf(1_000)
    pages.show(0, 30)
    expect(places()).toEqual([{ cursor: '' }])
    await last().answer()
    expect(pages.rowAt(29)).toEqual({ id: 30 })
    expect(pages.rowAt(200)).toBeUndefined()
    pages.show(100, 130)
    expect(places()).toEqual([{ cursor: '' }, { cursor: '200' }])
    await last().answer()
    expect(pages.rowAt(399)).toEqual({ id: 400 })
  })

  test('one jumps with an offset, and what is passed by is aborted', async () => {
    const { pages, asked, places, last } = tableOf(1_000_000)
    pages.show(0, 30)
    await last().answer()
    pages.show(500_000, 500_030)
    pages.show(700_000, 700_030)
    expect(places().slice(1)).toEqual([{ offset: 500_000 }, { offset: 700_000 }])
    expect(asked[1]?.signal.aborted).toBe(true)
    await last().answer()
    expect(pages.rowAt(700_007)).toEqual({ id: 700_008 })
  })

  test('while the bar is dragged nothing is asked for until it rests', async () => {
    const { pages, asked, last, pass } = tableOf(1_000_000)
    pages.show(0, 30)
    await last().answer()
    for (const row of [100_000, 200_000, 300_000]) {
      pages.show(row, row + 30, true)
      await pass(16)
    }
    expect(asked).toHaveLength(1)
    await pass(100)
    expect(asked.slice(1).map(({ place }) => place)).toEqual([{ offset: 300_000 }])
  })

  test('at most five requests begin in a second', async () => {
    const { pages, asked, pass } = tableOf(1_000_000)
    for (let at = 0; at < 40; at++) {
      pages.show(at * 10_000, at * 10_000 + 30)
      await pass(100)
    }
    const times = asked.map(({ at }) => at)
    for (const from of times) expect(times.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(5)
    expect(times.length).toBeGreaterThan(10)
  })

  test('the count comes apart from the rows, and the end that is seen wins', async () => {
    const { pages, last } = tableOf(450)
    expect(pages.length()).toEqual({ rows: 0, isFinal: false })
    pages.show(0, 30)
    await last().answer()
    expect(pages.length()).toEqual({ rows: 201, isFinal: false })
    pages.setCount(449)
    expect(pages.length()).toEqual({ rows: 449, isFinal: true })
    pages.show(430, 448)
    await last().answer()
    expect(pages.length()).toEqual({ rows: 450, isFinal: true })
  })

  test('a table without records, and one that has lost its end', async () => {
    const none = tableOf(0)
    none.pages.show(0, 30)
    await none.last().answer()
    expect(none.pages.length()).toEqual({ rows: 0, isFinal: true })
    const shrunk = tableOf(300)
    shrunk.pages.setCount(10_000)
    shrunk.pages.show(9_000, 9_030)
    await shrunk.last().answer()
    expect(shrunk.pages.length().rows).toBeLessThanOrEqual(9_000)
  })

  test('a bounded number of pages is kept, those near to what is shown', async () => {
    const { pages, last, pass } = tableOf(1_000_000)
    for (let page = 0; page < 60; page++) {
      pages.show(page * PAGE, page * PAGE + 30)
      await pass(1_000)
      await last().answer()
    }
    expect(pages.loadedPages()).toBeLessThanOrEqual(24)
    expect(pages.rowAt(59 * PAGE)).toBeDefined()
    expect(pages.rowAt(0)).toBeUndefined()
    expect(pages.indexOf(1)).toBeUndefined()
  })

  test('rows that are read anew stay until the answer comes, and what is seen first keeps its place', async () => {
    const { pages, last, shifts, insertBefore, pass } = tableOf(1_000)
    pages.show(0, 30)
    await last().answer()
    pages.show(20, 50)
    insertBefore(3)
    await pass(1_000)
    pages.refresh()
    expect(pages.rowAt(20)).toEqual({ id: 21 })
    await last().answer()
    expect(shifts).toEqual([3])
    expect(pages.rowAt(23)).toEqual({ id: 21 })
    expect(pages.indexOf(21)).toBe(23)
  })

  test('a record that goes elsewhere takes nothing with it, and one stays at the record that one is at', async () => {
    const { pages, last, shifts, heldShifts, hold, reorder, pass } = tableOf(1_000)
    pages.show(0, 30)
    await last().answer()
    pages.show(20, 50)
    hold(25)
    // Record 21, which is seen first, goes behind the 150th: those between come forward by one.
    reorder((id) => (id === 150 ? 21 : id >= 21 && id < 150 ? id + 1 : id))
    await pass(1_000)
    pages.refresh()
    await last().answer()
    expect([shifts, heldShifts]).toEqual([[-1], [-1]])
    expect(pages.indexOf(26)).toBe(24)

    const other = tableOf(1_000)
    other.pages.show(20, 50)
    await other.last().answer()
    other.hold(25)
    // Record 26, which one is at, goes down within what is seen.
    other.reorder((id) => (id === 40 ? 26 : id >= 26 && id < 40 ? id + 1 : id))
    await other.pass(1_000)
    other.pages.refresh()
    await other.last().answer()
    expect([other.shifts, other.heldShifts]).toEqual([[0], [14]])
  })

  test('an answer that is older than what is known of a record does not take it back', async () => {
    const { pages, last, pass } = tableOf(10)
    pages.show(0, 9)
    await last().answer()
    pages.replace([{ id: 3, _version: 2, name: 'New' }])
    pages.replace([{ id: 3, _version: 1, name: 'Old' }])
    expect(pages.rowAt(2)).toEqual({ id: 3, _version: 2, name: 'New' })
    pages.refresh()
    await pass(1_000)
    await last().answer()
    expect(pages.rowAt(2)).toEqual({ id: 3, _version: 2, name: 'New' })
    pages.replace([{ id: 3, _version: 3, name: 'Newer' }])
    expect(pages.rowAt(2)).toMatchObject({ name: 'Newer' })
  })

  test('what is shown is told of once all of it was read anew', async () => {
    const { pages, last, asked, pass } = tableOf(1_000)
    pages.show(190, 220)
    await asked[0]?.answer()
    await asked[1]?.answer()
    await pass(1_000)
    const settled: boolean[] = []
    pages.refresh((isNew) => settled.push(isNew))
    expect(asked).toHaveLength(4)
    await asked[3]?.answer()
    expect(settled).toEqual([])
    await asked[2]?.answer()
    expect(settled).toEqual([true])
    pages.refresh((isNew) => settled.push(isNew))
    await last().fail('gone')
    expect(settled).toEqual([true, false])
  })

  test('a request that is older than a change and fails is sent again as the rows are asked for by now', async () => {
    const { pages, asked, last } = tableOf(1_000)
    pages.show(0, 30)
    pages.refresh()
    await last().fail('no such column')
    expect([asked.length, pages.failure()]).toEqual([2, undefined])
    await last().fail('no such column')
    expect([asked.length, pages.failure()]).toEqual([2, 'no such column'])
  })

  test('a request that fails for now is sent again, and a failure that is final is told', async () => {
    const { pages, asked, last, pass } = tableOf(1_000)
    pages.show(0, 30)
    await last().fail('busy')
    expect(pages.failure()).toBeUndefined()
    expect(pages.waitsFor()).toBe('busy')
    pages.show(1, 31)
    expect(asked).toHaveLength(1)
    await pass(1_000)
    expect(asked).toHaveLength(2)
    await last().fail('gone')
    expect(pages.failure()).toBe('gone')
    pages.show(2, 32)
    expect(asked).toHaveLength(2)
    pages.retry()
    await last().answer()
    expect(pages.rowAt(0)).toEqual({ id: 1 })
  })

  test('rows are replaced where they are, and a change leaves what a row does not show', async () => {
    const { pages, last } = tableOf(10)
    pages.show(0, 9)
    await last().answer()
    pages.replace([{ id: 4, name: 'Ann' }, { id: 99 }])
    expect(pages.rowAt(3)).toEqual({ id: 4, name: 'Ann' })
    expect(withChange({ id: 4, name: 'Ann', _version: 1 }, { id: 4, data: { name: 'Bob', secret: 1 }, version: 2 })).toEqual({
      id: 4,
      name: 'Bob',
      _version: 2,
    })
  })

  test('nothing is asked for after the end', async () => {
    const { pages, asked } = tableOf(1_000)
    pages.show(0, 30)
    pages.end()
    expect(asked[0]?.signal.aborted).toBe(true)
    pages.show(500, 530)
    expect(asked).toHaveLength(1)
  })
})
