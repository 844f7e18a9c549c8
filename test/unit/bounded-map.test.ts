import { describe, expect, test } from 'vitest'
import { BoundedMap } from '../../src/platform/collections/bounded-map.ts'

const withKeys = (max: number, keys: string[]) => {
  const map = new BoundedMap<string, number | undefined>(max)
  for (const [index, key] of keys.entries()) map.set(key, index)
  return map
}

describe('a bounded map', () => {
  test('keeps the latest entries up to its limit', () => {
    const map = withKeys(2, ['a', 'b', 'c'])
    expect([map.size, map.get('a'), map.get('b'), map.get('c')]).toEqual([2, undefined, 1, 2])
  })

  test('keeps an entry longer that is read or written again', () => {
    const read = withKeys(2, ['a', 'b'])
    read.get('a')
    read.set('c', 2)
    expect(['a', 'b', 'c'].map((key) => read.has(key))).toEqual([true, false, true])
    const written = withKeys(2, ['a', 'b', 'a', 'c'])
    expect([written.get('a'), written.has('b'), written.get('c')]).toEqual([2, false, 3])
  })

  test('does not count a check for a key as a use', () => {
    const map = withKeys(2, ['a', 'b'])
    map.has('a')
    map.set('c', 2)
    expect(map.has('a')).toBe(false)
  })

  test('stores undefined as a value', () => {
    const map = withKeys(2, ['a'])
    map.set('b', undefined)
    expect([map.has('b'), map.get('b'), map.size]).toEqual([true, undefined, 2])
    map.get('b')
    map.set('c', 1)
    expect([map.has('a'), map.has('b')]).toEqual([false, true])
  })

  test('gives up as many old entries as a heavy one needs, and keeps that one however heavy it is', () => {
    const map = new BoundedMap<string, number>(10, 100)
    const keys = () => ['a', 'b', 'c', 'd'].filter((key) => map.has(key)).join('')
    map.set('a', 1, 40)
    map.set('b', 2, 40)
    map.get('a')
    map.set('c', 3, 60)
    expect(keys()).toBe('ac')
    // A lighter value makes room, and so does a deletion.
    map.set('a', 1, 10)
    map.set('b', 2, 30)
    expect(keys()).toBe('abc')
    map.delete('c')
    map.set('d', 4, 60)
    expect(keys()).toBe('abd')
    map.set('c', 3, 1_000)
    expect(keys()).toBe('c')
    map.set('a', 1, 1)
    expect(keys()).toBe('a')
  })
})
