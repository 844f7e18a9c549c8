import { describe, expect, test } from 'vitest'
import { barHeight, placeAt, resized, scrolledTo, settled, TALLEST, topToShow } from '../../console/src/grid/pages/scaled-scroll.ts'

const small = { total: 100_000 * 32, viewport: 800 }
const large = { total: 5_000_000 * 32, viewport: 800 }
const END = large.total - large.viewport
const END_OF_BAR = TALLEST - large.viewport

describe('scaled scrolling', () => {
  test('rows that fit into an element are scrolled by its own bar', () => {
    expect(barHeight(small)).toBe(small.total)
    expect(scrolledTo(small, placeAt(small, 0), 1_234)).toEqual({ top: 1_234, bar: 1_234 })
    expect(placeAt(small, 1e12)).toEqual({ top: small.total - 800, bar: small.total - 800 })
  })

  test('more rows have an element that a browser can make', () => {
    expect(barHeight(large)).toBe(TALLEST)
    expect(TALLEST).toBeLessThan(33_554_428)
  })

  test('the ends of the rows are the ends of the bar', () => {
    expect(placeAt(large, 0)).toEqual({ top: 0, bar: 0 })
    expect(placeAt(large, END)).toEqual({ top: END, bar: END_OF_BAR })
    expect(placeAt(large, -5)).toEqual({ top: 0, bar: 0 })
    expect(placeAt(large, 1).bar).toBeGreaterThan(0)
    expect(placeAt(large, END - 1).bar).toBeLessThan(END_OF_BAR)
  })

  test('a step of the wheel moves the rows by as many pixels', () => {
    const from = placeAt(large, 70_000_000)
    expect(scrolledTo(large, from, from.bar + 120)).toEqual({ top: 70_000_120, bar: from.bar + 120 })
    expect(scrolledTo(large, from, from.bar - 800)).toEqual({ top: 69_999_200, bar: from.bar - 800 })
  })

  test('a jump of the bar moves to the same part of the rows', () => {
    const place = scrolledTo(large, placeAt(large, 0), END_OF_BAR / 2)
    expect(place.bar).toBe(END_OF_BAR / 2)
    expect(place.top).toBeCloseTo(END / 2, -1)
    expect(scrolledTo(large, placeAt(large, 0), END_OF_BAR).top).toBe(END)
  })

  test('one who scrolls with the wheel alone reaches both ends', () => {
    for (const direction of [1, -1]) {
      let place = placeAt(large, direction > 0 ? END - 3_000_000 : 3_000_000)
      for (let step = 0; step < 5_000; step++) {
        const before = place
        const wanted = Math.min(Math.max(place.bar + direction * 700, 0), END_OF_BAR)
        if (wanted === place.bar) break
        place = scrolledTo(large, place, wanted)
        // Nothing that is shown jumps: the rows move by no more than the step.
        expect(Math.abs(place.top - before.top)).toBeLessThanOrEqual(700)
      }
      expect(place).toEqual(placeAt(large, direction > 0 ? END : 0))
    }
  })

  test('the bar comes to rest where it belongs without a movement of the rows', () => {
    const moved = scrolledTo(large, placeAt(large, 70_000_000), placeAt(large, 70_000_000).bar + 1_500)
    const rest = settled(large, moved)
    expect(rest.top).toBe(moved.top)
    expect(rest).toEqual(placeAt(large, moved.top))
  })

  test('a count that comes late keeps what is seen', () => {
    expect(resized(large, { top: 6_400, bar: 6_400 }).top).toBe(6_400)
    expect(resized({ total: 320, viewport: 800 }, { top: 6_400, bar: 6_400 })).toEqual({ top: 0, bar: 0 })
  })

  test('a part is shown whole with the least movement', () => {
    expect(topToShow(small, 320, { start: 0, size: 32 })).toBe(0)
    expect(topToShow(small, 320, { start: 640, size: 32 })).toBe(320)
    expect(topToShow(small, 320, { start: 1_120, size: 32 })).toBe(352)
  })
})
