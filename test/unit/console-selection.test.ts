import { describe, expect, test } from 'vitest'
import { filledEdge } from '../../console/src/grid/selection/filled-edge.ts'
import {
  cellsOf,
  contains,
  everything,
  moved,
  oneCell,
  rangeOf,
  shiftedBy,
  step,
  tabbed,
} from '../../console/src/grid/selection/selection.ts'

const bounds = { rows: 10, cols: 4 }
const at = (row: number, col: number) => ({ row, col })

describe('the selection of a grid', () => {
  test('arrows move the active cell and stop at the edges', () => {
    expect(step(oneCell(at(0, 0)), 'down', bounds)).toEqual(oneCell(at(1, 0)))
    expect(step(oneCell(at(0, 0)), 'up', bounds)).toEqual(oneCell(at(0, 0)))
    expect(step(oneCell(at(9, 3)), 'right', bounds)).toEqual(oneCell(at(9, 3)))
    expect(step(oneCell(at(5, 3)), 'down', bounds, { by: 20 })).toEqual(oneCell(at(9, 3)))
  })

  test('Shift moves the other end of the range, and the active cell stays', () => {
    const wide = step(step(oneCell(at(4, 2)), 'up', bounds, { extend: true, by: 2 }), 'right', bounds, { extend: true })
    expect(wide.active).toEqual(at(4, 2))
    expect(rangeOf(wide)).toEqual({ top: 2, bottom: 4, left: 2, right: 3 })
    expect(cellsOf(rangeOf(wide))).toBe(6)
    expect(contains(rangeOf(wide), at(3, 3))).toBe(true)
    expect(contains(rangeOf(wide), at(3, 1))).toBe(false)
    expect(step(wide, 'down', bounds)).toEqual(oneCell(at(5, 2)))
  })

  test('Tab goes on in the next row, and stops in the last cell', () => {
    expect(tabbed(oneCell(at(0, 3)), false, bounds)).toEqual(oneCell(at(1, 0)))
    expect(tabbed(oneCell(at(1, 0)), true, bounds)).toEqual(oneCell(at(0, 3)))
    expect(tabbed(oneCell(at(9, 3)), false, bounds)).toEqual(oneCell(at(9, 3)))
    expect(tabbed(oneCell(at(0, 0)), true, bounds)).toEqual(oneCell(at(0, 0)))
  })

  test('all cells can be selected, also of an empty grid', () => {
    expect(rangeOf(everything(bounds))).toEqual({ top: 0, bottom: 9, left: 0, right: 3 })
    expect(rangeOf(everything({ rows: 0, cols: 0 }))).toEqual({ top: 0, bottom: 0, left: 0, right: 0 })
    expect(moved(oneCell(at(0, 0)), at(5, 5), { rows: 0, cols: 0 })).toEqual(oneCell(at(0, 0)))
  })

  test('the selection follows its rows when rows come or go above', () => {
    expect(shiftedBy(3, { active: at(4, 2), extent: at(5, 3) }, bounds)).toEqual({ active: at(7, 2), extent: at(8, 3) })
    expect(shiftedBy(-7, oneCell(at(4, 2)), bounds)).toEqual(oneCell(at(0, 2)))
  })
})

describe('Ctrl with an arrow', () => {
  /** A column of ten cells: x is filled, . is empty, ? is not loaded. */
  const edge = (column: string, from: number, direction: 'up' | 'down' = 'down') =>
    filledEdge(at(from, 0), direction, { rows: column.length, cols: 1 }, ({ row }) => ({ x: true, '.': false })[column[row] ?? ''])

  test.each([
    ['xxxx..xx..', 0, 'down', 3],
    ['xxxx..xx..', 3, 'down', 6],
    ['xxxx..xx..', 4, 'down', 6],
    ['xxxx..xx..', 7, 'down', 9],
    ['xxxx..xx..', 8, 'down', 9],
    ['xxxx..xx..', 9, 'down', 9],
    ['xxxx..xx..', 9, 'up', 7],
    ['xxxx..xx..', 7, 'up', 6],
    ['xxxx..xx..', 6, 'up', 3],
    ['xxxx..xx..', 3, 'up', 0],
    ['..........', 4, 'up', 0],
    ['xxxxxxxxxx', 4, 'down', 9],
  ] as const)('in %s from %i %s ends in row %i', (column, from, direction, row) => {
    expect(edge(column, from, direction)).toEqual({ cell: at(row, 0) })
  })

  test('a row that is not loaded has to be asked for', () => {
    expect(edge('xxx???????', 0)).toEqual({ from: at(2, 0), looksFor: 'empty' })
    expect(edge('x..???????', 0)).toEqual({ from: at(2, 0), looksFor: 'filled' })
    expect(edge('x?????????', 0)).toEqual({ from: at(0, 0), looksFor: 'empty' })
    expect(edge('.?????????', 0)).toEqual({ from: at(0, 0), looksFor: 'filled' })
    expect(edge('???.xx....', 5, 'up')).toEqual({ cell: at(4, 0) })
    expect(edge('???.xx....', 4, 'up')).toEqual({ from: at(3, 0), looksFor: 'filled' })
  })
})
