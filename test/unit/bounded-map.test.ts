import { describe, expect, it } from 'vitest'
import { BoundedMap } from '../../src/platform/bounded-map.ts'

const withKeys = (max: number, keys: string[]) => {
  const map = new BoundedMap<string, number | undefined>(max)
  for (const [index, key] of keys.entries()) map.set(key, index)
  return map
}

describe('a bounded map', () => {
  it('keeps the latest entries up to its limit', () => {
    const map = withKeys(2, ['a', 'b', 'c'])
    expect([map.size, map.get('a'), map.get('b'), map.get('c')]).toEqual([2, undefined, 1, 2])
  })

  it('keeps an entry longer that is read or written again', () => {
    const read = withKeys(2, ['a', 'b'])
    read.get('a')
    read.set('c', 2)
    expect(['a', 'b', 'c'].map((key) => read.has(key))).toEqual([true, false, true])
    const written = withKeys(2, ['a', 'b', 'a', 'c'])
    expect([written.get('a'), written.has('b'), written.get('c')]).toEqual([2, false, 3])
  })

  it('does not count a check for a key as a use', () => {
    const map = withKeys(2, ['a', 'b'])
    map.has('a')
    map.set('c', 2)
    expect(map.has('a')).toBe(false)
  })

  it('stores undefined as a value', () => {
    const map = withKeys(2, ['a'])
    map.set('b', undefined)
    expect([map.has('b'), map.get('b'), map.size]).toEqual([true, undefined, 2])
    map.get('b')
    map.set('c', 1)
    expect([map.has('a'), map.has('b')]).toEqual([false, true])
  })
})
