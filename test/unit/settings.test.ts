import { expect, test } from 'vitest'
import { readSettings } from '../../src/settings.ts'

const base = { DATABASE_URL: 'postgresql://localhost/x', SECRET_KEY: 'x'.repeat(32) }

test('refuses origins and proxies that could never match or would crash the start', () => {
  for (const wrong of ['a.example', 'https://a.example/', 'https://a.example/x', '*', 'https://a.example, https://B.example'])
    expect(() => readSettings({ ...base, CORS_ORIGINS: wrong }), wrong).toThrow(/^CORS_ORIGINS: must be origins/)
  for (const wrong of ['maybe', '1', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.1,', '::1/129'])
    expect(() => readSettings({ ...base, TRUST_PROXY: wrong }), wrong).toThrow(/^TRUST_PROXY: must be true, false, or addresses/)
})

test('refuses an address of the receiver at which nothing could listen, and half a certificate', () => {
  for (const wrong of ['25', 'host', 'host:', ':25', '::1:25', '[::g]:25', 'a:65536', 'smtps://a:25', 'lmtp:/a:25', 'a:25/x', 'a b:25'])
    expect(() => readSettings({ ...base, INBOUND_SMTP: wrong }), wrong).toThrow(/^INBOUND_SMTP: must be host:port/)
  expect(() => readSettings({ ...base, INBOUND_SMTP_CERT: 'cert.pem' })).toThrow('INBOUND_SMTP_KEY: is required with INBOUND_SMTP_CERT')
  expect(() => readSettings({ ...base, INBOUND_SMTP_KEY: 'key.pem' })).toThrow('INBOUND_SMTP_CERT: is required with INBOUND_SMTP_KEY')
  expect(() => readSettings({ ...base, AUTHSERV_ID: 'mx example' })).toThrow(/^AUTHSERV_ID: must be the name/)
})

test('accepts addresses of the receiver', () => {
  const read = (INBOUND_SMTP: string) => readSettings({ ...base, INBOUND_SMTP }).inboundSmtp
  expect(read('0.0.0.0:25')).toEqual({ protocol: 'smtp', host: '0.0.0.0', port: 25 })
  expect(read('smtp://mx.example.net:2525')).toEqual({ protocol: 'smtp', host: 'mx.example.net', port: 2525 })
  expect(read('lmtp://[::1]:2424')).toEqual({ protocol: 'lmtp', host: '::1', port: 2424 })
  expect(readSettings(base)).toMatchObject({ inboundSmtp: undefined, inboundCertificate: undefined, authservId: undefined })
})

test('accepts origins and proxies', () => {
  expect(readSettings({ ...base, CORS_ORIGINS: 'https://a.example, http://localhost:5173' }).corsOrigins).toEqual([
    'https://a.example',
    'http://localhost:5173',
  ])
  for (const text of ['10.0.0.0/8, ::1', 'loopback', '192.0.2.1'])
    expect(readSettings({ ...base, TRUST_PROXY: text }).trustProxy, text).toBe(text)
  expect([readSettings({ ...base, TRUST_PROXY: 'true' }).trustProxy, readSettings(base).trustProxy]).toEqual([true, false])
})
