import { expect, it } from 'vitest'
import { readSettings } from '../../src/settings.ts'

const base = { DATABASE_URL: 'postgresql://localhost/x', SECRET_KEY: 'x'.repeat(32) }

it('refuses origins and proxies that could never match or would crash the start', () => {
  for (const wrong of ['a.example', 'https://a.example/', 'https://a.example/x', '*', 'https://a.example, https://B.example'])
    expect(() => readSettings({ ...base, CORS_ORIGINS: wrong }), wrong).toThrow(/^CORS_ORIGINS: must be origins/)
  for (const wrong of ['maybe', '1', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.1,', '::1/129'])
    expect(() => readSettings({ ...base, TRUST_PROXY: wrong }), wrong).toThrow(/^TRUST_PROXY: must be true, false, or addresses/)
})

it('accepts origins and proxies', () => {
  expect(readSettings({ ...base, CORS_ORIGINS: 'https://a.example, http://localhost:5173' }).corsOrigins).toEqual([
    'https://a.example',
    'http://localhost:5173',
  ])
  for (const text of ['10.0.0.0/8, ::1', 'loopback', '192.0.2.1'])
    expect(readSettings({ ...base, TRUST_PROXY: text }).trustProxy, text).toBe(text)
  expect([readSettings({ ...base, TRUST_PROXY: 'true' }).trustProxy, readSettings(base).trustProxy]).toEqual([true, false])
})
