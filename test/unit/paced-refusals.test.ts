import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { PacedRefusals } from '../../src/platform/http/paced-refusals.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function refusals() {
  const paced = new PacedRefusals()
  const refused: string[] = []
  const sockets = new Map<string, Socket>()
  return {
    paced,
    refused,
    /** Refuses a request on each of the connections. */
    refuse(...names: string[]) {
      for (const name of names) {
        const socket = sockets.get(name) ?? ({} as Socket)
        sockets.set(name, socket)
        paced.refuse(socket, () => void refused.push(name))
      }
    },
  }
}

it('a connection that waits after a refusal is refused at once', () => {
  const { refuse, refused } = refusals()
  refuse('a', 'b')
  vi.advanceTimersByTime(1_000)
  refuse('a')
  expect(refused).toEqual(['a', 'b', 'a'])
  expect(vi.getTimerCount()).toBe(0)
})

it('further refusals of one that does not wait are let go by responses, four each, after a tenth of a second', () => {
  const { paced, refuse, refused } = refusals()
  const names = ['a', 'b', 'c', 'd', 'e']
  refuse(...names)
  refused.length = 0
  refuse(...names)
  paced.responded()
  expect(refused).toEqual([])
  vi.advanceTimersByTime(100)
  paced.responded()
  expect(refused).toEqual(['a', 'b', 'c', 'd'])
  paced.responded()
  expect(refused).toEqual(names)
})

it('they are held for 0.3 s at most, also if there are no responses', () => {
  const { refuse, refused } = refusals()
  refuse('a')
  refuse('a')
  vi.advanceTimersByTime(200)
  expect(refused).toEqual(['a'])
  vi.advanceTimersByTime(100)
  expect(refused).toEqual(['a', 'a'])
  expect(vi.getTimerCount()).toBe(0)
})

it('of more than 200 that are held the oldest are let go', () => {
  const { refuse, refused } = refusals()
  const names = Array.from({ length: 203 }, (_, index) => `connection ${index}`)
  refuse(...names)
  refused.length = 0
  refuse(...names)
  expect(refused).toEqual(names.slice(0, 3))
})
