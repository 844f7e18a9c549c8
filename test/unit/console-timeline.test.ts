/** The timeline of a record: three lists, read by cursor and joined, whatever comes and goes while one scrolls. */
import { describe, expect, test } from 'vitest'
import { anchorAt, indexAt, scrollFor, topsOf } from '../../console/src/record/timeline/heights.ts'
import { createListReader, type ListReader } from '../../console/src/record/timeline/list-reader.ts'
import { merge } from '../../console/src/record/timeline/merge.ts'
import type { Page, Position } from '../../console/src/record/timeline/newest-first.ts'

interface Row {
  id: number
  at: string
  text: string
}

/** Numbers that look random and are the same each time. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39)
    return ((mixed ^ (mixed >>> 15)) >>> 0) % below
  }
}

const order = { positionOf: ({ id }: Row): Position => ['', id] }

/** A list of the service: pages by cursor, newest first, as comments.list and records.history answer them. */
class ServiceList {
  rows: Row[] = []
  asked = 0
  private waiting: (() => void)[] = []
  private lastId = 0
  private pick: (below: number) => number
  private limit: number

  constructor(pick: (below: number) => number, limit: number) {
    this.pick = pick
    this.limit = limit
  }

  create(at: string): number {
    this.lastId += 1 + this.pick(3)
    this.rows.unshift({ id: this.lastId, at, text: 'new' })
    return this.lastId
  }

  /** Answers when it is let to. What it answers is read at once, or only then. */
  read = (cursor: string | null): Promise<Page<Row>> => {
    this.asked += 1
    if (this.pick(12) === 0) return Promise.reject(new Error('away'))
    const isReadFirst = this.pick(2) === 0
    const early = isReadFirst ? this.page(cursor) : null
    return new Promise((resolve) => this.waiting.push(() => resolve(early ?? this.page(cursor))))
  }

  answer(): boolean {
    const next = this.waiting.shift()
    next?.()
    return next !== undefined
  }

  private page(cursor: string | null): Page<Row> {
    const below = cursor === null ? Number.POSITIVE_INFINITY : Number(cursor)
    const rows = this.rows.filter(({ id }) => id < below)
    const page = rows.slice(0, this.limit).map((row) => ({ ...row }))
    return { rows: page, next: rows.length > this.limit ? String(page.at(-1)?.id) : null }
  }
}

const settle = async () => {
  for (let turn = 0; turn < 8; turn += 1) await Promise.resolve()
}

const shownOf = (readers: readonly ListReader<Row>[]) =>
  merge(
    readers.map((reader, list) => ({
      entries: reader.list().rows.map((row) => ({ ...row, list })),
      isWhole: reader.list().next === null,
    })),
  )

/** Three lists of the service with their readers, and all that happens to them. */
function timelineOf(seed: number) {
  const pick = random(seed)
  const services = [1, 2, 3].map(() => new ServiceList(pick, 3 + pick(5)))
  const readers = services.map((service) => createListReader(service.read, order, () => {}))
  const lists = services.map((service, list) => ({ service, reader: readers[list] as ListReader<Row> }))
  let second = 0
  const create = (service: ServiceList) => {
    second += pick(3)
    service.create(new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString().slice(0, 19).replace('T', ' '))
  }
  const one = () => lists[pick(3)] as (typeof lists)[number]
  const readOn = () => {
    const { wanting } = shownOf(readers)
    for (const wanted of wanting) readers[wanted]?.more()
    return wanting.length > 0
  }
  const acts: (() => void)[] = [
    () => {
      const { service, reader } = one()
      create(service)
      reader.head()
    },
    () => {
      const { service, reader } = one()
      const [gone] = service.rows.splice(pick(service.rows.length), 1)
      if (gone) reader.remove(gone.id)
    },
    () => {
      const { service, reader } = one()
      const row = service.rows[pick(service.rows.length)]
      service.rows = service.rows.map((other) => (other === row ? { ...row, text: `edited ${pick(1000)}` } : other))
      if (row) reader.again(row.id)
    },
    () => {
      if (pick(10) > 0) return
      // Events were missed.
      const { service, reader } = one()
      for (let missed = 0; missed < 12; missed += 1) create(service)
      service.rows.splice(pick(service.rows.length), 2)
      reader.all()
    },
    () => void one().service.answer(),
    () => void one().service.answer(),
    () => void readOn(),
    () => void readOn(),
  ]
  for (let count = 0; count < 60; count += 1) create(one().service)
  for (const reader of readers) reader.more()
  return { services, readers, lists, readOn, act: () => acts[pick(acts.length)]?.() }
}

/** Answers everything, until nothing is read any more. */
async function readToTheEnd({ readers, lists, readOn }: ReturnType<typeof timelineOf>): Promise<void> {
  for (let turn = 0; turn < 3_000; turn += 1) {
    const isLacking = readOn()
    for (const { service, reader } of lists) if (!service.answer() && reader.problem() !== null) reader.head()
    await settle()
    if (!isLacking && readers.every((reader) => !reader.isReading() && reader.problem() === null)) break
  }
  for (const reader of readers) reader.end()
}

describe('a timeline that is read while others write', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8, 35])('has in the end what the service has, nothing twice and in order (%i)', async (seed) => {
    const timeline = timelineOf(seed)
    for (let turn = 0; turn < 400; turn += 1) {
      timeline.act()
      await settle()
      const { entries } = shownOf(timeline.readers)
      const names = entries.map(({ id, list }) => `${list} ${id}`)
      expect(new Set(names).size).toBe(names.length)
      expect(entries.map(({ at }) => at)).toEqual(
        entries
          .map(({ at }) => at)
          .toSorted()
          .toReversed(),
      )
    }
    await readToTheEnd(timeline)
    const expected = merge(timeline.services.map(({ rows }, list) => ({ entries: rows.map((row) => ({ ...row, list })), isWhole: true })))
    expect(shownOf(timeline.readers)).toEqual(expected)
  })

  test('grows at its end only, while lists are read on', () => {
    const list = (...ats: number[]) => ats.map((at) => ({ at: String(at) }))
    const [comments, changes] = [list(9, 7, 7, 3), list(8, 7, 2)]
    const whole = merge([
      { entries: comments, isWhole: true },
      { entries: changes, isWhole: true },
    ])
    expect(whole.entries.map(({ at }) => at).join('')).toBe('9877732')
    for (let first = 0; first <= 4; first += 1) {
      for (let second = 0; second <= 3; second += 1) {
        const part = merge([
          { entries: comments.slice(0, first), isWhole: first === 4 },
          { entries: changes.slice(0, second), isWhole: second === 3 },
        ])
        expect(part.entries).toEqual(whole.entries.slice(0, part.entries.length))
        expect(part.wanting.length === 0).toBe(first === 4 && second === 3)
      }
    }
  })
})

describe('entries of different heights', () => {
  const entries = [1, 2, 3, 4, 5].map((id) => ({ key: `e${id}` }))
  const indexOf = (of: readonly { key: string }[]) => new Map(of.map(({ key }, index) => [key, index]))
  const heights = new Map([
    ['e1', 10],
    ['e3', 100],
  ])
  const tops = topsOf(entries, heights, () => 50)

  test('have their places, measured or estimated', () => {
    expect([...tops]).toEqual([0, 10, 60, 160, 210, 260])
    expect([-5, 0, 9, 10, 159, 160, 259, 400].map((distance) => indexAt(tops, distance))).toEqual([0, 0, 0, 1, 2, 3, 4, 4])
    expect(
      indexAt(
        topsOf([], heights, () => 50),
        10,
      ),
    ).toBe(0)
  })

  test('stay where they are read while others come, go and grow above', () => {
    const anchor = anchorAt(entries, tops, 70)
    expect(anchor).toEqual({ keys: ['e3', 'e4', 'e5'], offset: -10 })
    if (!anchor) return
    const more = [{ key: 'e0' }, ...entries]
    const grown = topsOf(more, new Map([...heights, ['e0', 30], ['e2', 80]]), () => 50)
    expect(scrollFor(anchor, indexOf(more), grown)).toBe(130)
    const fewer = entries.filter(({ key }) => key !== 'e3')
    expect(
      scrollFor(
        anchor,
        indexOf(fewer),
        topsOf(fewer, heights, () => 50),
      ),
    ).toBe(60)
    expect(
      scrollFor(
        anchor,
        indexOf([]),
        topsOf([], heights, () => 50),
      ),
    ).toBe(null)
  })

  test('stay where somebody writes in one', () => {
    expect(anchorAt(entries, tops, -200, 2)).toEqual({ keys: ['e3', 'e4', 'e5'], offset: 260 })
    expect(anchorAt(entries, tops, 70, 3)).toEqual({ keys: ['e4', 'e5'], offset: 90 })
  })

  test('are shown from their beginning while it is in sight', () => {
    expect(anchorAt(entries, tops, 0)).toBe(null)
    expect(anchorAt(entries, tops, -200)).toBe(null)
    expect(
      anchorAt(
        [],
        topsOf([], heights, () => 50),
        10,
      ),
    ).toBe(null)
  })
})
