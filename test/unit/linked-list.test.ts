import { expect, test } from 'vitest'
import { type Entry, LinkedList } from '../../src/platform/collections/linked-list.ts'

test('an item is listed, the oldest first, until it is removed', () => {
  const list = new LinkedList<string>()
  const items = () => {
    const all = [...list].map(({ item }) => item)
    expect([list.size, list.oldest, list.newest]).toEqual([all.length, all[0], all.at(-1)])
    return all
  }
  const [a, b, c] = ['a', 'b', 'c'].map((item) => list.add(item))
  expect(items()).toEqual(['a', 'b', 'c'])
  if (b) list.remove(b)
  expect(items()).toEqual(['a', 'c'])
  if (b) list.remove(b)
  if (c) list.remove(c)
  expect(items()).toEqual(['a'])
  const d = list.add('d')
  if (a) list.remove(a)
  expect(items()).toEqual(['d'])
  list.remove(d)
  expect(items()).toEqual([])
  list.add('e')
  expect(items()).toEqual(['e'])
})

test('an entry that is moved to the end is the newest, unless it was removed', () => {
  const list = new LinkedList<string>()
  const [a, b, c] = ['a', 'b', 'c'].map((item) => list.add(item)) as [Entry<string>, Entry<string>, Entry<string>]
  const itemsAfter = (moved: Entry<string>) => {
    list.moveToEnd(moved)
    return [...list].map(({ item }) => item).join('')
  }
  expect([b, a, a, c].map(itemsAfter)).toEqual(['acb', 'cba', 'cba', 'bac'])
  list.remove(a)
  expect([itemsAfter(a), itemsAfter(b)]).toEqual(['bc', 'cb'])
})

test('the current one may be removed while they are listed', () => {
  const list = new LinkedList<number>()
  for (const item of [1, 2, 3, 4]) list.add(item)
  for (const entry of list) if (entry.item % 2) list.remove(entry)
  expect([...list].map(({ item }) => item)).toEqual([2, 4])
})

test('listing them ends if the next one is removed', () => {
  const list = new LinkedList<number>()
  const [, second] = [1, 2, 3].map((item) => list.add(item))
  const listed: number[] = []
  for (const { item } of list) {
    listed.push(item)
    if (second) list.remove(second)
  }
  expect(listed).toEqual([1])
})

test('nothing that was removed keeps another', () => {
  const list = new LinkedList<object>()
  const entries = [{}, {}, {}].map((item) => list.add(item))
  for (const entry of entries) list.remove(entry)
  expect(entries).toEqual(entries.map(() => ({ item: undefined, older: undefined, newer: undefined })))
})
