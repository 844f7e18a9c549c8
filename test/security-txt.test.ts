/** /.well-known/security.txt, as RFC 9116 describes it. */
import { afterAll, describe, expect, test } from 'vitest'
import { readSettings } from '../src/settings.ts'
import { testApp } from './support/app.ts'

const PATH = '/.well-known/security.txt'
const DAY_MS = 86_400_000

/** The fields of the file by name. Every line has to be a field. */
function fieldsOf(text: string): Record<string, string> {
  const lines = text.split('\n')
  expect(lines.pop()).toBe('')
  return Object.fromEntries(lines.map((line) => /^([A-Z][A-Za-z-]+): (\S.*)$/.exec(line)?.slice(1) ?? ['not a field', line]))
}

describe('with SECURITY_CONTACT', async () => {
  const app = await testApp({ SECURITY_CONTACT: 'security@example.com', PUBLIC_URL: 'https://gridpost.example.com/' })
  const get = () => app.as(null).get(PATH)

  test('names the contact, the language and its own address, as plain text and without credentials', async () => {
    const { status, headers, body } = await get()
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(fieldsOf(body)).toEqual({
      Contact: 'mailto:security@example.com',
      Expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      'Preferred-Languages': 'en',
      Canonical: `https://gridpost.example.com${PATH}`,
    })
  })

  test.each(['2026-11-29T00:00:00Z', '2027-12-31T23:59:59.999Z', '2028-02-29T12:00:00Z'])(
    'expires in the future and within a year, seen at %s',
    async (instant) => {
      app.setClock(new Date(instant))
      afterAll(() => app.setClock(null))
      const { Expires = '' } = fieldsOf((await get()).body)
      const days = (Date.parse(Expires) - Date.parse(instant)) / DAY_MS
      expect(days).toBeGreaterThan(90)
      expect(days).toBeLessThan(365)
    },
  )

  test('answers HEAD, and refuses other methods and other spellings of the path', async () => {
    const statuses = await Promise.all([
      app.as(null).send(PATH, { method: 'HEAD' }),
      app.as(null).post(PATH, {}),
      app.as(null).get(`${PATH}/`),
      app.as(null).get('/.well-known/'),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([200, 405, 404, 404])
  })
})

test('without TLS the file has no Canonical, which must be an https: address', async () => {
  const app = await testApp({ SECURITY_CONTACT: 'https://example.com/security', PUBLIC_URL: 'http://gridpost.example.com' })
  expect(fieldsOf((await app.as(null).get(PATH)).body)).toEqual({
    Contact: 'https://example.com/security',
    Expires: expect.any(String),
    'Preferred-Languages': 'en',
  })
})

test('without SECURITY_CONTACT the path is as unknown as any other', async () => {
  const app = await testApp()
  for (const method of ['GET', 'HEAD', 'POST']) {
    const answers = await Promise.all([PATH, '/.well-known/nowhere'].map((path) => app.as(null).send(path, { method })))
    expect(answers.map(({ status }) => status)).toEqual([404, 404])
  }
  expect((await app.as(null).get(PATH)).body).toMatchObject({ code: 'NOT_FOUND', message: 'No such path' })
})

describe('the setting', () => {
  const read = (SECURITY_CONTACT: string) =>
    readSettings({ DATABASE_URL: 'postgresql://localhost/x', SECRET_KEY: 'x'.repeat(32), SECURITY_CONTACT }).securityContact

  test.each([
    ['security@example.com', 'mailto:security@example.com'],
    ['mailto:security@example.com', 'mailto:security@example.com'],
    ['MAILTO:Security+gp@Example.com', 'mailto:Security+gp@Example.com'],
    ['mailto:security@example.com?subject=Gridpost', 'mailto:security@example.com?subject=Gridpost'],
    ['https://example.com/security', 'https://example.com/security'],
    ['https://bücher.example/meldung ä'.replace(' ', '%20'), 'https://xn--bcher-kva.example/meldung%20%C3%A4'],
  ])('takes %s', (given, uri) => {
    expect(read(given)).toBe(uri)
  })

  test.each([
    'security',
    'security@',
    '@example.com',
    'Security <security@example.com>',
    'a@example.com, b@example.com',
    'http://example.com/security',
    'https://',
    'https://exa mple.com',
    'ftp://example.com',
    'tel:+1-201-555-0123',
    'mailto:',
    'mailto:https://example.com',
    'javascript:alert(1)',
    ' ',
    'security@example.com\nExpires: 2000-01-01T00:00:00Z',
    'mailto:security@example.com?subject=a b',
    'https://example.com/\nCanonical: https://other.example',
  ])('refuses %j, in one line that names the setting', (given) => {
    expect(() => read(given)).toThrow(/^SECURITY_CONTACT: must be an email address, mailto: with one, or an https:\/\/ URL$/)
  })
})
