import { describe, expect, test } from 'vitest'
import { authenticationResults } from '../../src/email/authenticity/authentication-results.ts'
import { readHeaders } from '../../src/email/headers.ts'

const ID = 'mx.example.net'
const results = (...values: string[]) =>
  authenticationResults(readHeaders(Buffer.from(values.map((value) => `Authentication-Results: ${value}\r\n`).join(''))), ID)
const only = (found: object) => ({ spf: null, dkim: null, dmarc: null, arc: null, ...found })

describe('the results of the mail server', () => {
  test.each([
    [
      'of every method',
      `${ID}; spf=pass smtp.mailfrom=a@b.example; dkim=fail; dmarc=none; arc=pass`,
      { spf: 'pass', dkim: 'fail', dmarc: 'none', arc: 'pass' },
    ],
    ['in any case, with a version', 'MX.Example.NET 1; SPF=Pass; DKIM/1 = pass', { spf: 'pass', dkim: 'pass' }],
    ['after a quoted name and comments', `(checked) "${ID}" (by us (nested)) 1 ; (x) dmarc (y) = (z) pass`, { dmarc: 'pass' }],
    ['over several lines', `${ID};\r\n\tspf=softfail;\r\n dmarc=fail (p=REJECT)`, { spf: 'softfail', dmarc: 'fail' }],
    ['of several signatures, of which one passes', `${ID}; dkim=fail header.d=a.example; dkim=pass header.d=b.example`, { dkim: 'pass' }],
    ['none', `${ID}; none`, {}],
  ])('count: %s', (_, value, found) => {
    expect(results(value)).toEqual(only(found))
  })

  test.each([
    ['a comment', `${ID}; dmarc=fail (a ; dmarc=pass); spf=none`],
    ['a nested comment with an escape', `${ID}; dmarc=fail (a \\) ; dmarc=pass (b) ); spf=none`],
    ['a quoted sender', `${ID}; dmarc=fail smtp.mailfrom="x; dmarc=pass "@b.example; spf=none`],
    ['a quoted sender with an escape', `${ID}; dmarc=fail smtp.mailfrom="x\\"; dmarc=pass"; spf=none`],
    ['a property', `${ID}; dmarc=fail header.from=dmarc=pass; spf=none`],
  ])('cannot be forged in %s', (_, value) => {
    expect(results(value)).toEqual(only({ dmarc: 'fail', spf: 'none' }))
  })

  test('are those of its topmost header', () => {
    expect(results('other.example; dmarc=pass', `${ID}; dmarc=fail`, `${ID}; dmarc=pass`)).toEqual(only({ dmarc: 'fail' }))
  })
})

describe('nobody is believed', () => {
  test.each([
    ['who has another name', 'boss.example; dmarc=pass'],
    ['who puts the name elsewhere', `boss.example; dmarc=pass; ${ID}; spf=pass`],
    ['whose name only begins like it', `${ID}.boss.example; dmarc=pass`],
    ['who hides another name behind a comment', `(${ID}) boss.example; dmarc=pass`],
    ['who does not end a comment', `(${ID}; dmarc=pass`],
    ['who has no name', '; dmarc=pass'],
  ])('%s', (_, value) => {
    expect(results(value)).toBeNull()
  })

  test('without a configured server', () => {
    expect(authenticationResults(readHeaders(Buffer.from(`Authentication-Results: ${ID}; dmarc=pass\r\n`)), undefined)).toBeNull()
  })
})
