import { describe, expect, test } from 'vitest'
import { resolveInHtml, resolveInSubject } from '../../src/email/composing/field-tokens.ts'

const VALUES: Record<string, string> = {
  name: 'Käse & "Co" <1>',
  site: 'https://shop.example/a b?x=1&y=%20',
  host: 'shop.example:8080',
  email: 'ann+x@shop.example',
  phone: '+41 44',
  path: '../a/b?c#d',
  half: 'a\ud800',
}
const fields = (slug: string, form: string) => (slug === 'due' ? (form === 'iso' ? '2026-11-22' : '22 November 2026') : VALUES[slug])
const html = (template: string) => resolveInHtml(template, fields).text

describe('a value in a link is escaped as a part of a URL', () => {
  test.each([
    [
      'in a query',
      '<a href="https://x.example/?q={{field:name}}&amp;d={{field:due}}">',
      '<a href="https://x.example/?q=K%C3%A4se%20%26%20%22Co%22%20%3C1%3E&amp;d=22%20November%202026">',
    ],
    ['in a path', '<a href="https://x.example/{{field:path}}">', '<a href="https://x.example/..%2Fa%2Fb%3Fc%23d">'],
    ['as the API answers it', '<a href="https://x.example/{{field:due|iso}}">', '<a href="https://x.example/2026-11-22">'],
    [
      'once, if the token says so itself',
      '<a href="https://x.example/?q={{ Field:Name | url }}">',
      '<a href="https://x.example/?q=K%C3%A4se%20%26%20%22Co%22%20%3C1%3E">',
    ],
    ['as a whole', '<a href="{{field:site}}">', '<a href="https://shop.example/a%20b?x=1&amp;y=%20">'],
    ['as a host', '<a href="https://{{field:host}}/{{field:host}}">', '<a href="https://shop.example:8080/shop.example%3A8080">'],
    [
      'as an address',
      '<a href="mailto:{{field:email}}?subject={{field:email}}">',
      '<a href="mailto:ann+x@shop.example?subject=ann%2Bx%40shop.example">',
    ],
    ['as a number', '<a href="tel:{{field:phone}}">', '<a href="tel:+41%2044">'],
    ['with half a surrogate pair', '<a href="https://x.example/{{field:half}}">', '<a href="https://x.example/a%EF%BF%BD">'],
    ['without a value', '<a href="https://x.example/{{field:none}}">', '<a href="https://x.example/">'],
    [
      'beside a value in the text',
      '<a href="https://x.example/{{field:name}}">{{field:name}}</a>',
      '<a href="https://x.example/K%C3%A4se%20%26%20%22Co%22%20%3C1%3E">Käse &amp; &quot;Co&quot; &lt;1&gt;</a>',
    ],
  ])('%s', (_, template, expected) => {
    expect(html(template)).toBe(expected)
  })
})

test('with |url a value is escaped anywhere, as the API answers it', () => {
  expect(html('<p>https://x.example/{{field:name|url}}/{{field:due|url}}</p>')).toBe(
    '<p>https://x.example/K%C3%A4se%20%26%20%22Co%22%20%3C1%3E/2026-11-22</p>',
  )
  expect(resolveInSubject('{{field:path|url}}', fields).text).toBe('..%2Fa%2Fb%3Fc%23d')
})

test('what a token names wrongly is unresolved, in links, too', () => {
  const template = '<a href="https://x.example/{{field:none}}">{{field:due|us}}{{field:due|iso|url}}{{field:due|readable}}</a>'
  expect(resolveInHtml(template, fields).unresolved).toEqual(['none', 'due|us', 'due|iso|url', 'due|readable'])
})
