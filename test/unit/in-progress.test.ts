import { expect, test } from 'vitest'
import { InProgress } from '../../src/platform/concurrency/in-progress.ts'

test('what is in progress is listed, the oldest first, until it is removed', () => {
  const list = new InProgress<string>()
  const items = () => [...list].map(({ item }) => item)
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

test('the current one may be removed while they are listed', () => {
  const list = new InProgress<number>()
  for (const item of [1, 2, 3, 4]) list.add(item)
  for (const entry of list) if (entry.item % 2) list.remove(entry)
  expect([...list].map(({ item }) => item)).toEqual([2, 4])
})

test('nothing that was removed keeps another', () => {
  const list = new InProgress<object>()
  const entries = [{}, {}, {}].map((item) => list.add(item))
  for (const entry of entries) list.remove(entry)
  expect(entries).toEqual(entries.map(() => ({ item: undefined, older: undefined, newer: undefined })))
})
