import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type SharedPage, ShortPages } from '../../src/platform/database/short-pages.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const page = (value: unknown = 1) => ({ text: 'select $1', values: [value] })
const took = (ms: number): SharedPage => ({ waitedMs: ms, tookMs: ms, bytes: 100 })

function isBegun(pages: ShortPages, statement = page(), party = 'account 1'): boolean {
  const end = pages.begin(statement, party)
  end?.()
  return end !== undefined
}

/** Pages of which one is known, and a function that reads it so many times on the shared connection. */
function knownPage() {
  const pages = new ShortPages()
  pages.note(page(), took(1))
  const share = (times: number, ended: SharedPage | null) => {
    for (let time = 0; time < times; time++) pages.begin(page(), 'account 1')?.(ended)
  }
  return { pages, share }
}

test('shares the connection only for a page that was short on its own', () => {
  const pages = new ShortPages()
  expect(isBegun(pages)).toBe(false)
  pages.note(page(), took(6))
  pages.note(page(), { tookMs: 1, bytes: 200_000 })
  expect(isBegun(pages)).toBe(false)
  pages.note(page(), { tookMs: 5, bytes: 100_000 })
  expect(isBegun(pages)).toBe(true)
})

test('tells pages apart by their values', () => {
  const { pages } = knownPage()
  expect([page(), page('1'), page(2)].map((other) => isBegun(pages, other))).toEqual([true, false, false])
})

test('does not remember statements with long values', () => {
  const pages = new ShortPages()
  pages.note(page('x'.repeat(5_000)), took(1))
  expect(isBegun(pages, page('x'.repeat(5_000)))).toBe(false)
})

test('avoids a page that takes long, until it was short on its own after a minute', () => {
  const { pages, share } = knownPage()
  share(10, took(50))
  expect(isBegun(pages)).toBe(false)
  pages.note(page(), took(1))
  expect(isBegun(pages)).toBe(false)
  vi.advanceTimersByTime(60_000)
  expect(isBegun(pages)).toBe(false)
  pages.note(page(), took(50))
  expect(isBegun(pages)).toBe(false)
  pages.note(page(), took(1))
  expect(isBegun(pages)).toBe(true)
})

test('avoids a page at once that has timed out, and not one of which nothing is known', () => {
  const { pages, share } = knownPage()
  expect([isBegun(pages), isBegun(pages)]).toEqual([true, true])
  share(1, null)
  expect(isBegun(pages)).toBe(false)
})

test('forgives a pause, but not a page that takes a little too long each time', () => {
  const { pages, share } = knownPage()
  share(2, took(1_000))
  expect(isBegun(pages)).toBe(true)
  share(50, took(1))
  expect(isBegun(pages)).toBe(true)
  share(50, took(2.5))
  expect(isBegun(pages)).toBe(false)
})

test('notices a long page while this process is too busy to wait for it', () => {
  const { pages, share } = knownPage()
  share(50, { waitedMs: 0, tookMs: 5, bytes: 100 })
  expect(isBegun(pages)).toBe(true)
  share(50, { waitedMs: 0, tookMs: 20, bytes: 100 })
  expect(isBegun(pages)).toBe(false)
})

test('forgets a page that has become large', () => {
  const { pages, share } = knownPage()
  share(1, { ...took(1), bytes: 200_000 })
  expect(isBegun(pages)).toBe(false)
})

test('begins no more pages of a party than take 20 milliseconds together, and of all no more than take 40', () => {
  const { pages, share } = knownPage()
  share(100, took(1))
  const begunBy = (party: string) => Array.from({ length: 100 }, () => pages.begin(page(), party)).filter((end) => end !== undefined)
  const ends = ['account 1', 'account 2', 'account 3'].map(begunBy)
  expect(ends.map(({ length }) => Math.round(length / 10))).toEqual([2, 2, 0])
  for (const end of ends[0] ?? []) end(took(1))
  expect(isBegun(pages, page(), 'account 3')).toBe(true)
})
