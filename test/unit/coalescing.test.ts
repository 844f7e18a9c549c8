import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { burstOf, burstsOf, byFirst, isOfTable, openThrottle } from '../../src/events/coalescing.ts'
import type { StoredEvent } from '../../src/events/order.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const nothing = { space_id: null, table_id: null, record_id: null, task_id: null, comment_id: null, view_id: null }
const common = {
  at: '2026-03-31 09:30:00',
  account_id: 1,
  user_id: 3,
  fields: null,
  count: null,
  change_id: null,
  audience: [] as number[],
}

type Kind = Pick<StoredEvent, 'type'> & Partial<StoredEvent>
const table = fc.integer({ min: 1, max: 3 })
const kind = fc.oneof(
  { weight: 6, arbitrary: table.map((table_id): Kind => ({ type: 'record.updated', table_id, record_id: 1, change_id: 5 })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(table, fc.integer({ min: 2, max: 9 }))
      .map(([table_id, count]): Kind => ({ type: 'records.changed', table_id, count })),
  },
  fc.tuple(table, table).map(([table_id, view_id]): Kind => ({ type: 'view.updated', table_id, view_id })),
  table.map((table_id): Kind => ({ type: 'table.updated', table_id })),
  fc.constant<Kind>({ type: 'members.changed', space_id: 1 }),
  table.map((task_id): Kind => ({ type: 'task.updated', task_id, audience: null })),
)
const pages = fc.array(fc.record({ waitMs: fc.integer({ min: 1, max: 400 }), kinds: fc.array(kind, { minLength: 1, maxLength: 12 }) }), {
  maxLength: 12,
})

const ofRecords = ({ type }: StoredEvent) => type.startsWith('record')
const writes = (event: StoredEvent) => (event.type === 'records.changed' ? (event.count ?? 0) : 1)
/** Two events with the same key tell the same. */
const keyOf = ({ type, table_id, view_id, id }: StoredEvent) => (type.startsWith('task') ? `task:${id}` : `${type}:${table_id}:${view_id}`)

/** What the throttle sends of pages that come one after the other, and when. */
function sentOf(given: { waitMs: number; kinds: Kind[] }[]) {
  let id = 0
  const sent: { at: number; event: StoredEvent }[] = []
  const events: StoredEvent[] = []
  const marks: number[] = []
  const throttle = openThrottle({
    send: (messages) => sent.push(...messages.map((event) => ({ at: performance.now(), event }))),
    mark: () => void marks.push(id),
  })
  for (const { waitMs, kinds } of given) {
    vi.advanceTimersByTime(waitMs)
    const page = kinds.map((one): StoredEvent => ({ ...nothing, ...common, ...one, xact_id: 1, id: ++id }))
    events.push(...page)
    const bursts = [...burstsOf(page.filter(isOfTable)).values()].flat()
    throttle.take([...page.filter((event) => !isOfTable(event)).map(burstOf), ...bursts].sort(byFirst))
  }
  vi.advanceTimersByTime(300)
  expect(throttle.isHolding()).toBe(false)
  return { sent, events, marks }
}

test('whatever happens, each table keeps its distance, nothing is lost, and a stream can be resumed after every message', () => {
  fc.assert(
    fc.property(pages, (given) => {
      const { sent, events, marks } = sentOf(given)
      const ids = sent.map(({ event }) => event.id)
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      expect(new Set(ids).size).toBe(ids.length)
      // What is no change of records is sent as it is: of each kind of a window one.
      expect(sent.filter(({ event }) => event.type === 'task.updated').map(({ event }) => event.id)).toEqual(
        events.filter(({ type }) => type === 'task.updated').map(({ id }) => id),
      )
      for (const source of [1, 2, 3]) {
        const times = sent.filter(({ event }) => ofRecords(event) && event.table_id === source).map(({ at }) => at)
        for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(250)
        const of = (all: readonly StoredEvent[]) =>
          all.filter((event) => ofRecords(event) && event.table_id === source).reduce((sum, event) => sum + writes(event), 0)
        expect(of(sent.map(({ event }) => event))).toBe(of(events))
      }
      // A message with the id n has behind it everything up to n: each kind that happened up to n was sent by then.
      for (const [index, id] of ids.entries()) {
        const told = sent.slice(0, index + 1).map(({ event }) => event)
        for (const one of [1, 2, 3]) {
          const sum = (all: readonly StoredEvent[]) =>
            all.filter((event) => ofRecords(event) && event.table_id === one).reduce((total, event) => total + writes(event), 0)
          expect(sum(told)).toBeGreaterThanOrEqual(sum(events.filter((event) => event.id <= id)))
        }
        const kinds = new Set(told.map(keyOf))
        expect(events.filter((event) => event.id <= id && !ofRecords(event) && !kinds.has(keyOf(event)))).toEqual([])
      }
      // The client knows at the end that it has got everything.
      expect(Math.max(ids.at(-1) ?? 0, marks.at(-1) ?? 0)).toBe(events.length)
    }),
    { numRuns: 2_000 },
  )
})

test('nothing waits longer than the distance', () => {
  fc.assert(
    fc.property(pages, (given) => {
      let at = performance.now()
      const cameAt: number[] = []
      for (const { waitMs, kinds } of given) {
        at += waitMs
        cameAt.push(...kinds.map(() => at))
      }
      const { sent } = sentOf(given)
      for (const { at: sentAt, event } of sent) expect(sentAt - (cameAt[event.id - 1] ?? 0)).toBeLessThanOrEqual(250)
    }),
    { numRuns: 500 },
  )
})

test('streams share the message that several changes become', () => {
  const page = [1, 2, 3].map(
    (id): StoredEvent => ({ ...nothing, ...common, type: 'record.updated', table_id: 1, record_id: id, xact_id: 1, id }),
  )
  const bursts = [...burstsOf(page).values()].flat()
  const sent: StoredEvent[][] = [[], []]
  for (const messages of sent) openThrottle({ send: (some) => void messages.push(...some), mark: () => {} }).take(bursts)
  vi.advanceTimersByTime(300)
  expect(sent[0]).toHaveLength(2)
  expect(sent[0]?.[1]).toBe(sent[1]?.[1])
  expect(sent[0]?.[1]).toMatchObject({ type: 'records.changed', count: 2, id: 3, change_id: null, user_id: null, record_id: null })
})
