import { describe, expect, test } from 'vitest'
import { networkOf, siteOf, storedAddress } from '../../src/platform/access/network.ts'

describe('the network of an address', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::5:6', '2001:db8:0:0::/64'],
    ['2001:db8::2:3:4:5:6', '2001:db8:0:2::/64'],
    ['2001:db8:1:2:3:4:192.0.2.1', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    // An IPv4 address, however it is written.
    ['::FFFF:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['0000:0000:0000:0000:0000:ffff:cb00:7107', '203.0.113.7'],
    ['0::ffff:0:1', '0.0.0.1'],
    // These only look like one.
    ['::ffff:0:203.0.113.7', '0:0:0:0::/64'],
    ['0:0:ffff:cb00:7107::', '0:0:ffff:cb00::/64'],
    ['::ffff:0:0:0:0', '0:0:0:ffff::/64'],
    // Some proxies pass on the port of the connection, too.
    ['203.0.113.7:50123', '203.0.113.7'],
    ['[2001:db8:1:2::9]:50123', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['[fe80::1%eth0]:80', 'fe80:0:0:0::/64'],
    ['[::ffff:203.0.113.7]:80', '203.0.113.7'],
    ['203.0.113.7:', '203.0.113.7:'],
    // A proxy may send anything.
    ['unknown', 'unknown'],
    ['', ''],
  ])('%s counts as %s', (ip, network) => {
    expect(networkOf(ip)).toBe(network)
  })

  test('is the same for all addresses of a /64, and another one beside it', () => {
    const ofHost = (host: number) => networkOf(`2001:db8:0:1::${host.toString(16)}`)
    expect(new Set(Array.from({ length: 500 }, (_, host) => ofHost(host)))).toEqual(new Set(['2001:db8:0:1::/64']))
    expect(networkOf('2001:db8:0:2::1')).not.toBe(ofHost(1))
  })
})

test.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:db8:1:ffff::1', '2001:db8:1::/48'],
  ['2001:0DB8:0002::', '2001:db8:2::/48'],
  ['2001:db8::1', '2001:db8:0::/48'],
  ['203.0.113.7', null],
  ['::ffff:203.0.113.7', null],
  ['::ffff:cb00:7107', null],
  ['unknown', null],
  ['', null],
])('the site of %s is %s', (ip, site) => {
  expect(siteOf(ip)).toBe(site)
})

test('an address is stored without the notation of the socket and the port, and any other text is not', () => {
  expect(['::ffff:10.0.0.1', '::ffff:a00:1', '10.0.0.1:80', '[fe80::1%eth0]:80', '2001:db8::1'].map(storedAddress)).toEqual([
    '10.0.0.1',
    '10.0.0.1',
    '10.0.0.1',
    'fe80::1',
    '2001:db8::1',
  ])
  expect(['unknown', '10.0.0.1, 10.0.0.2', '10.0.0.1:http', '', null, undefined].map(storedAddress)).toEqual(Array(6).fill(null))
})
