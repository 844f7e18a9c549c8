import { expect, test, vi } from 'vitest'
import { memo } from '../../src/platform/memo.ts'

test('computes a value once for an object, and again for an equal object', () => {
  const make = vi.fn(({ id }: { id: number }) => ({ doubled: id * 2 }))
  const doubled = memo(make)
  const one = { id: 4 }
  expect(doubled(one)).toBe(doubled(one))
  expect(doubled({ id: 4 })).toEqual({ doubled: 8 })
  expect(make).toHaveBeenCalledTimes(2)
})

test('remembers undefined, too', () => {
  const make = vi.fn((_: object) => undefined)
  const none = memo(make)
  const key = {}
  expect([none(key), none(key)]).toEqual([undefined, undefined])
  expect(make).toHaveBeenCalledOnce()
})

test('computes the value again after a failure', () => {
  const make = vi
    .fn((_: object) => 'made')
    .mockImplementationOnce(() => {
      throw new Error('not now')
    })
  const made = memo(make)
  const key = {}
  expect(() => made(key)).toThrow('not now')
  expect(made(key)).toBe('made')
})
