import { describe, expect, test } from 'vitest'
import { domainOf, normalDomain, parseMailbox } from '../../src/email/address.ts'

describe('a mailbox', () => {
  test.each<[string, { name: string; email: string } | undefined]>([
    ['ann@example.org', { name: '', email: 'ann@example.org' }],
    [' Ann.Lee+x@Example.ORG ', { name: '', email: 'Ann.Lee+x@example.org' }],
    ['Ann Lee <ann@example.org>', { name: 'Ann Lee', email: 'ann@example.org' }],
    ['"Lee, Ann" <ann@example.org>', { name: 'Lee, Ann', email: 'ann@example.org' }],
    ['jürgen@münchen.example', { name: '', email: 'jürgen@xn--mnchen-3ya.example' }],
    ['a@localhost', { name: '', email: 'a@localhost' }],
    ['', undefined],
    ['ann', undefined],
    ['@example.org', undefined],
    ['ann@', undefined],
    ['ann@example', { name: '', email: 'ann@example' }],
    ['a b@example.org', undefined],
    ['a..b@example.org', undefined],
    ['.a@example.org', undefined],
    ['ann@-example.org', undefined],
    ['ann@exa mple.org', undefined],
    ['a@b.example, c@d.example', undefined],
    ['a@b.example; c@d.example', undefined],
    ['Team: a@b.example;', undefined],
    ['a@b.example\r\nBcc: c@d.example', undefined],
    ['Ann\n<a@b.example>', undefined],
    ['a@b.example\0', undefined],
    [`${'a'.repeat(65)}@b.example`, undefined],
    [`a@${'b'.repeat(64)}.example`, undefined],
    ['<script>@b.example', undefined],
  ])('%j is read as %j', (text, expected) => {
    expect(parseMailbox(text)).toEqual(expected)
  })
})

test('domains are compared in their ASCII form, lower case, without the last dot', () => {
  expect(normalDomain('MÜNCHEN.example.')).toBe('xn--mnchen-3ya.example')
  expect(normalDomain('a b')).toBeUndefined()
  expect(normalDomain('')).toBeUndefined()
  expect(domainOf('a@b@c.example')).toBe('c.example')
})
