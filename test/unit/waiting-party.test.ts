import { beforeEach, describe, expect, test } from 'vitest'
import { WaitingParty } from '../../src/platform/concurrency/waiting-party.ts'

const MOST = 300

describe('a party that is refused is on trial', () => {
  let party: WaitingParty<object>
  const comes = (count: number) => {
    for (let index = 0; index < count; index++) party.add({ waiter: { enter: () => {}, refuse: () => {} }, weight: 1, since: 0 })
  }
  beforeEach(() => {
    party = new WaitingParty('account a')
    party.beginRefusing(0)
    party.beginRefusing(900)
    comes(200)
  })

  test('after a second, and is not refused any more once its queue stops growing', () => {
    expect([party.isOnTrial(999), party.isOnTrial(1_000)]).toEqual([false, true])
    party.judgeTrial(MOST, 1_010)
    comes(33)
    for (const now of [1_049, 1_050]) party.judgeTrial(MOST, now)
    comes(32)
    party.judgeTrial(MOST, 1_089)
    expect(party.isOnTrial(1_089)).toBe(true)
    party.judgeTrial(MOST, 1_090)
    expect([party.isOnTrial(1_090), party.isRefused(1_090)]).toEqual([false, false])
  })

  test('after longer times while it floods', () => {
    let now = 1_000
    for (const waitsMs of [4_000, 16_000, 16_000]) {
      party.judgeTrial(0, now)
      const next = now + waitsMs
      for (let refusedAt = now; refusedAt < next; refusedAt += 500) party.beginRefusing(refusedAt)
      expect([party.isOnTrial(now), party.isOnTrial(next - 1), party.isOnTrial(next)]).toEqual([false, false, true])
      now = next
    }
  })

  test('until more wait than do without a flood', () => {
    comes(MOST - 200)
    party.judgeTrial(MOST, 1_000)
    expect(party.isOnTrial(1_000)).toBe(true)
    comes(1)
    party.judgeTrial(MOST, 1_001)
    expect([party.isOnTrial(1_001), party.isRefused(1_001)]).toEqual([false, true])
  })

  test('after a second again if it had not been refused for ten', () => {
    party.judgeTrial(0, 1_000)
    party.beginRefusing(11_800)
    party.beginRefusing(12_700)
    expect(party.isOnTrial(12_800)).toBe(false)
    party.beginRefusing(23_701)
    party.beginRefusing(24_600)
    expect([party.isOnTrial(24_700), party.isOnTrial(24_701)]).toEqual([false, true])
  })
})
