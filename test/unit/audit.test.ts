import { expect, test } from 'vitest'
import { isWorthAuditing } from '../../src/audit/failed-sign-ins.ts'
import { auditing, differing, requesterOf } from '../../src/audit/log.ts'
import { systemActor } from '../../src/platform/actor.ts'
import { openMetrics } from '../../src/platform/metrics/metrics.ts'
import type { Settings } from '../../src/settings.ts'

const now = new Date('2030-01-31T10:00:00Z')
const settings = { keepAuditDays: 365 } as Settings
const metrics = openMetrics([])
const caller = { ...systemActor, accountId: 3, userId: 7, sessionId: 1 }

test('writes the first five failures in a row, and then each doubling', () => {
  const written = Array.from({ length: 1_000 }, (_, index) => index + 1).filter(isWorthAuditing)
  expect(written).toEqual([1, 2, 3, 4, 5, 10, 20, 40, 80, 160, 320, 640])
})

test('stores the address in its usual form, and no text that a proxy has passed on unchecked', () => {
  const stored = (ip: string | null) => auditing({ actor: caller, ip, now, settings, metrics }, 'key.deleted', { id: 1 }).values[4]
  expect(stored('203.0.113.7')).toBe('203.0.113.7')
  expect(stored('::ffff:203.0.113.7')).toBe('203.0.113.7')
  expect(stored('2001:db8::1')).toBe('2001:db8::1')
  expect(stored('fe80::1%eth0')).toBe('fe80::1')
  for (const text of ['unknown', '"><script>', '1.2.3.4, 5.6.7.8', '', null]) expect(stored(text)).toBeNull()
})

test('attributes a change to the caller, but not the command of an operator to the user whose rights it has', () => {
  expect(requesterOf({ actor: caller, ip: '::1' })).toEqual({ userId: 7, keyId: null, ip: '::1' })
  expect(requesterOf({ actor: { ...caller, sessionId: null, keyId: 5 }, ip: '::1' })).toEqual({ userId: 7, keyId: 5, ip: '::1' })
  expect(requesterOf({ actor: { ...caller, sessionId: null }, ip: null })).toEqual({ userId: null, keyId: null, ip: null })
  expect(() => auditing({ actor: systemActor, ip: null, now, settings, metrics }, 'key.deleted')).toThrow('needs an account')
})

test('names the properties that differ', () => {
  expect(differing({ a: 1, b: [1], updated_at: 'x' }, { a: 1, b: [2], updated_at: 'y' })).toEqual(['b'])
  expect(differing<{ a?: number }>({}, { a: 1 })).toEqual(['a'])
})
