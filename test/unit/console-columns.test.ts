import { describe, expect, test } from 'vitest'
import type { Field } from '../../console/src/cells/kind.ts'
import {
  columnsBetween,
  frozenWidth,
  movedColumn,
  placeColumns,
  showableFields,
  shownFields,
  widthOf,
} from '../../console/src/grid/columns/column.ts'
import { layoutOf } from '../../console/src/grid/columns/layout-store.ts'
import { failureOf } from '../../console/src/grid/edits/failures.ts'
import { commandOf } from '../../console/src/grid/selection/keys.ts'

const field = (id: string, type = 'text', more: object = {}) => ({ id, name: id, type, always_hidden: false, ...more }) as Field
const FIELDS = [
  field('id', 'number', { key: true }),
  field('amount', 'number'),
  field('name'),
  field('secret', 'text', { always_hidden: true }),
  field('note'),
  field('created_at', 'datetime', { calc: true }),
]
const NONE = { columns: null, widths: {} }
const idsOf = (fields: readonly { id: string }[]) => fields.map(({ id }) => id)

describe('the columns of a grid', () => {
  test('without a layout all fields are shown that people fill and that are not hidden, the title first', () => {
    expect(idsOf(shownFields(FIELDS, NONE, () => undefined))).toEqual(['name', 'amount', 'note'])
    const unfilled = FIELDS.filter(({ key, calc }) => key || calc)
    expect(idsOf(shownFields(unfilled, NONE, () => undefined))).toEqual(['id', 'created_at'])
  })

  test('what can be shown has the key and what is calculated last', () => {
    expect(idsOf(showableFields(FIELDS))).toEqual(['amount', 'name', 'note', 'id', 'created_at'])
  })

  test('a layout decides which fields are shown and in which order; those that are gone are left out', () => {
    const linked = (name: string) => (name === 'company.city' ? field(name) : undefined)
    const layout = { columns: ['note', 'gone', 'company.city', 'name', 'other.gone', 'secret'], widths: {} }
    expect(idsOf(shownFields(FIELDS, layout, linked))).toEqual(['name', 'note', 'company.city', 'secret'])
  })

  test('the title is frozen where there is room, and widths are kept within bounds', () => {
    const shown = shownFields(FIELDS, { ...NONE, columns: ['name', 'amount', 'note', 'id', 'created_at'] }, () => undefined)
    const wide = placeColumns(shown, { columns: null, widths: { amount: 5, note: 9_999 } }, 1_280)
    expect(wide.map(({ isFrozen }) => isFrozen)).toEqual([true, false, false, false, false])
    expect(wide.map(({ width }) => width)).toEqual([240, 60, 1_200, 120, 170])
    expect(frozenWidth(wide)).toBe(304)
    expect(widthOf(wide)).toBe(64 + 240 + 60 + 1_200 + 120 + 170)
    expect(placeColumns(shown, NONE, 390)[0]?.isFrozen).toBe(false)
    expect(widthOf([])).toBe(64)
  })

  test('only columns near to what is seen are rendered', () => {
    const many = Array.from({ length: 300 }, (_, index) => field(index ? `f${index}` : 'name'))
    const columns = placeColumns(many, NONE, 1_280)
    for (const left of [0, 5_000, 46_000]) {
      const { first, last } = columnsBetween(columns, left, 1_280)
      expect(last - first).toBeLessThan(12)
      for (const [index, column] of columns.entries()) {
        const isSeen = column.left < left + 1_280 && column.left + column.width > left + frozenWidth(columns)
        if (isSeen && !column.isFrozen) expect(index >= first && index <= last).toBe(true)
      }
    }
  })

  test('a column is moved in front of another', () => {
    expect(movedColumn(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a'])
    expect(movedColumn(['a', 'b', 'c'], 2, 0)).toEqual(['c', 'a', 'b'])
  })

  test.each([
    [null, undefined, { columns: null, widths: {}, isTall: false, sums: [] }],
    [{ columns: [] }, 'nonsense', { columns: null, widths: {}, isTall: false, sums: [] }],
    [{ columns: ['a', 5], widths: { a: 100, b: 'x' } }, null, { columns: ['a'], widths: { a: 100 }, isTall: false, sums: [] }],
    [
      { columns: ['a'], widths: { a: 100, b: 50 } },
      { columns: ['b'], widths: { b: 70 }, sums: ['b'], isTall: true },
      { columns: ['b'], widths: { a: 100, b: 70 }, isTall: true, sums: ['b'] },
    ],
  ])('the layout of the view %j with what one has arranged %j', (config, own, layout) => {
    expect(layoutOf(config, own)).toEqual(layout)
  })
})

describe('the keys of a grid', () => {
  const key = (name: string, more: Partial<{ ctrl: boolean; shift: boolean; alt: boolean }> = {}) =>
    commandOf({ key: name, ctrl: false, shift: false, alt: false, ...more })

  test.each([
    [key('ArrowUp', { shift: true }), { do: 'move', direction: 'up', extend: true }],
    [key('ArrowRight', { ctrl: true }), { do: 'edge', direction: 'right', extend: false }],
    [key('PageDown'), { do: 'page', direction: 'down', extend: false }],
    [key('Home'), { do: 'row-end', isFirst: true, extend: false }],
    [key('End', { ctrl: true, shift: true }), { do: 'grid-end', isFirst: false, extend: true }],
    [key('Tab', { shift: true }), { do: 'tab', back: true }],
    [key('a', { ctrl: true }), { do: 'select-all' }],
    [key('Z', { ctrl: true, shift: true }), { do: 'redo' }],
    [key('y', { ctrl: true }), { do: 'redo' }],
    [key(' '), { do: 'open' }],
    [key(' ', { shift: true }), { do: 'mark-rows' }],
    [key('ß'), { do: 'type', text: 'ß' }],
    [key('👍'), { do: 'type', text: '👍' }],
    [key('c', { ctrl: true }), null],
    [key('F5'), null],
    [key('ArrowLeft', { alt: true }), null],
    [key('Dead'), null],
  ])('%# is %j', (command, expected) => {
    expect(command).toEqual(expected)
  })
})

describe('what an error means for an edit', () => {
  const records = [{ id: 7, version: 1, values: { a: 1 }, before: {} }]
  const failed = (httpStatus: number, more: object = {}) => Object.assign(new Error('x'), { data: { httpStatus, message: 'Bad', ...more } })

  test('a connection that is lost and a service that is busy are for now', () => {
    const lost = Object.assign(new Error('fetch failed'), { name: 'TRPCClientError' })
    expect(failureOf(lost, records)).toEqual({ kind: 'later', reason: null, retryAfterMs: null })
    for (const status of [429, 503, 507])
      expect(failureOf(failed(status), records)).toEqual({ kind: 'later', reason: 'Bad', retryAfterMs: null })
    const told = Object.assign(failed(429), { meta: { response: new Response(null, { headers: { 'retry-after': '7' } }) } })
    expect(failureOf(told, records)).toEqual({ kind: 'later', reason: 'Bad', retryAfterMs: 7_000 })
    expect(failureOf(new TypeError('a mistake'), records)).toMatchObject({ kind: 'refused' })
  })

  test('cells that are refused are named by the records of the request', () => {
    const issues = [
      { path: ['records', 0, 'data', 'a'], message: 'must be a number' },
      { path: ['records', 5, 'data', 'a'], message: 'is of no record' },
    ]
    expect(failureOf(failed(400, { issues }), records)).toEqual({
      kind: 'refused',
      message: 'Bad',
      cells: [{ id: 7, field: 'a', message: 'must be a number' }],
    })
    const gone = failed(404, { issues: [{ path: ['records', 0, 'id'], message: 'Record not found' }] })
    expect(failureOf(gone, records)).toMatchObject({ cells: [{ id: 7, field: null, message: 'Record not found' }] })
  })

  test('other versions and an ended session', () => {
    const stale = [{ id: 7, version: 2, current: { id: 7, data: {}, version: 2 } }]
    expect(failureOf(failed(409, { stale }), records)).toEqual({ kind: 'stale', stale })
    expect(failureOf(failed(409), records)).toMatchObject({ kind: 'refused' })
    // The answer to the first request was lost.
    const running = { message: 'A request with this Idempotency-Key is still running' }
    expect(failureOf(failed(409, running), records)).toEqual({ kind: 'later', reason: null, retryAfterMs: null })
    expect(failureOf(failed(401), records)).toEqual({ kind: 'signed-out' })
  })
})
