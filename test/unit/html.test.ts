import { describe, expect, test } from 'vitest'
import { problemOf, resolveInHtml, resolveInSubject, unclosedTokens } from '../../src/email/composing/field-tokens.ts'
import { sanitizeHtml } from '../../src/platform/mail/html.ts'
import { textOfHtml } from '../../src/platform/mail/html-text.ts'
import { cpuTime } from '../support/cpu-time.ts'

describe('sanitised HTML', () => {
  test.each([
    ['<p onclick="x()">a</p>', '<p>a</p>'],
    ['<script>alert(1)</script>a', 'a'],
    ['<style>p{}</style><title>t</title>a', 'a'],
    ['<a href="javascript:alert(1)">a</a>', '<a>a</a>'],
    ['<a href=" java\nscript:alert(1)">a</a>', '<a>a</a>'],
    ['<a href="https://a.example">a</a>', '<a href="https://a.example">a</a>'],
    ['<img src=x onerror=alert(1)>', '<img src="x" />'],
    ['<img src="//a.example/x">', '<img />'],
    ['<iframe src="https://a.example"></iframe>a', 'a'],
    ['<svg><script>alert(1)</script></svg>a', 'a'],
    ['<p style="color:red;position:fixed;background:url(//x)">a</p>', '<p style="color:red">a</p>'],
    ['<p style="color:\\65xpression(1)">a</p>', '<p>a</p>'],
    ['<form action="x"><input name="a"></form>a', 'a'],
    ['<base href="//x"><meta http-equiv="refresh" content="0"><link rel="stylesheet" href="x">a', 'a'],
    ['a < b & c', 'a &lt; b &amp; c'],
    ['<p>{{field:name}} <a href="{{field:site}}">x</a></p>', '<p>{{field:name}} <a href="{{field:site}}">x</a></p>'],
  ])('%j is %j', (dirty, clean) => {
    expect(sanitizeHtml(dirty)).toBe(clean)
    expect(sanitizeHtml(clean)).toBe(clean)
  })

  test('of a slow megabyte takes no time', () => {
    const usedMs = cpuTime()
    for (const part of ['<div>x', '<', '<p style="color:red">', '&lt;', '<iframe>', '<noscript>', '<!--', '<a ']) {
      const html = part.repeat(1_000_000 / part.length)
      sanitizeHtml(html)
      textOfHtml(html)
    }
    expect(usedMs()).toBeLessThan(8_000)
  })
})

describe('the text of HTML', () => {
  test.each([
    ['<p>a</p><p>b<br>c</p>', 'a\n\nb\nc'],
    ['<ul><li>a</li><li>b<ol><li>c</li><li>d</li></ol></li></ul>', '- a\n- b\n  1. c\n  2. d'],
    ['<p>a</p><blockquote><p>b</p><blockquote>c</blockquote></blockquote>d', 'a\n\n> b\n>\n>> c\nd'],
    ['<a href="https://a.example/x">here</a> <a href="https://a.example/">a.example</a>', 'here <https://a.example/x> a.example'],
    ['<a href="mailto:a@b.example">a@b.example</a>', 'a@b.example'],
    ['<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>', '1\t2\n3'],
    ['  a\n  b &amp; &lt;c&gt; ', 'a b & <c>'],
    ['<pre>a\n  b</pre>', 'a\n  b'],
    ['<div>a</div><div>b</div><div><br></div><div>c</div>', 'a\nb\n\nc'],
    ['<h1>a</h1>b<hr>c<img src="x.png" alt="d">', 'a\n\nb\n---\ncd'],
    ['<a href="#top">a</a> <a name="b">b</a> <a href="https://c.example">c</a>', 'a b c <https://c.example>'],
    ['<ol><li>a</li></ol>b</li></ul></blockquote></a></pre>c', '1. a\nbc'],
    ['', ''],
    ['<a href="https://a.example/x">one<br>two <b>a.example/x</b></a>', 'one\ntwo a.example/x'],
    ['a<b> </b> b <i>c</i>', 'a b c'],
  ])('%j is %j', (html, text) => {
    expect(textOfHtml(html)).toBe(text)
  })

  test('takes no time in a long line', () => {
    const words = 'word '.repeat(10)
    const usedMs = cpuTime()
    for (const part of [`<td>${words}`, `<a href="https://a.example/${words}">a</a>`, `<font size="1">${words}</font>`])
      textOfHtml(`<table><tr>${part.repeat(900_000 / part.length)}`)
    textOfHtml(`<pre>${' '.repeat(900_000)}a </pre>`)
    expect(usedMs()).toBeLessThan(8_000)
  })
})

describe('tokens', () => {
  const values = new Map([
    ['name', '<Ann> & "Co"'],
    ['nested', '{{field:name}}'],
    ['lines', 'a\r\nBcc: x@y.example\0b'],
    ['empty', ''],
  ])
  const fields = (slug: string) => values.get(slug)

  test('are escaped in HTML', () => {
    expect(resolveInHtml('Dear {{field:name}}{{field:empty}}!', fields)).toEqual({
      text: 'Dear &lt;Ann&gt; &amp; &quot;Co&quot;!',
      unresolved: [],
    })
  })

  test('cannot start another header line in a subject', () => {
    expect(resolveInSubject('{{field:lines}}', fields).text).toBe('a Bcc: x@y.example b')
  })

  test('are expanded only once', () => {
    expect(resolveInSubject('{{field:nested}}', fields).text).toBe('{{field:name}}')
  })

  test('of unknown fields are empty, and are listed', () => {
    expect(resolveInHtml('{{field:gone}}-{{field: name }}-{{field:gone}}-{{field:}}-{{name}}', fields)).toEqual({
      text: '-&lt;Ann&gt; &amp; &quot;Co&quot;---{{name}}',
      unresolved: ['gone', ''],
    })
  })

  test.each([
    '{{field:name}}',
    '{{ field:name }}',
    '{{Field:Name}}',
    '{{FIELD : NAME | ISO}}',
    '{{\u00a0field:name\u00a0}}',
    '{{field:name|iso}}',
    '{{field:<i>na</i>me}}',
  ])('may be written %j', (token) => {
    expect(resolveInSubject(token, fields)).toEqual({ text: '<Ann> & "Co"', unresolved: [] })
  })

  test.each(['name|long', 'name|iso|iso', 'name|', 'na me', 'gone|iso'])('{{field:%s}} has no value', (given) => {
    expect(resolveInSubject(`{{field: ${given} }}`, fields)).toEqual({ text: '', unresolved: [given] })
  })

  test('tell why they have no value', () => {
    expect(problemOf('gone', fields)).toBe("{{field:gone}}: 'gone' is not a field of this table")
    expect(problemOf('Name|long', fields)).toBe('{{field:Name|long}}: only |iso or |url can follow the field')
  })

  test.each<[string, string[]]>([
    ['{{field:name}} {{ FIELD:name }}', []],
    ['Dear {{field:name, a <b>b</b>', ['{{field:name, a ']],
    ['{{field:{{field:name}}}}', ['{{field:…}}']],
    ['{{ field:name} {{field:name}}', ['{{ field:name} …']],
    ['{{<b>field:name</b>}}', []],
    ['{field:name}} {{name}}', []],
  ])('of %j, those that are not closed are %j', (template, unclosed) => {
    expect(unclosedTokens(template)).toEqual(unclosed)
  })

  test('that are never closed cost no time', () => {
    const usedMs = cpuTime()
    unclosedTokens('{{field:'.repeat(125_000))
    resolveInHtml(`{{${' '.repeat(1_000_000)}`, fields)
    resolveInHtml('{{field:'.repeat(125_000), fields)
    resolveInHtml(`{{field:${' '.repeat(1_000_000)}`, fields)
    expect(usedMs()).toBeLessThan(1_000)
  })
})
