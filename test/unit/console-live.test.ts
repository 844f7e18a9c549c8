import { describe, expect, test } from 'vitest'
import { followedTables, staleTables } from '../../console/src/session/live/shown-tables.ts'

const shown = (id: number, since: number, seen = since) => ({ id, since, seen })

describe('the tables that a stream names', () => {
  test('are each named once, and at most 50: those that came into sight last', () => {
    const many = Array.from({ length: 60 }, (_, index) => shown(index, index))
    expect(followedTables([...many, ...many])).toEqual(Array.from({ length: 50 }, (_, index) => 59 - index))
    expect(followedTables([shown(1, 1, 90), ...many]).slice(0, 2)).toEqual([1, 59])
    expect(followedTables([])).toEqual([])
  })

  test('are read again if they are followed only after an event has come', () => {
    expect(staleTables([shown(1, 10), shown(2, 20)], [1, 2], [], 15)).toEqual([1])
    expect(staleTables([shown(1, 10), shown(1, 20)], [1], [], 15)).toEqual([1])
    expect(staleTables([shown(1, 10)], [1], [1], 15)).toEqual([])
    expect(staleTables([shown(1, 10)], [1], [], 0)).toEqual([])
  })
})
