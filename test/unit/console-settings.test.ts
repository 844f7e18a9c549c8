/** Settings of the console as words: which device a session is on, and signatures as text and as HTML. */
import { describe, expect, test } from 'vitest'
import { deviceOf } from '../../console/src/manage/settings/sessions/device.ts'
import { htmlOf, textOf, wordsOf } from '../../console/src/manage/settings/signatures/signature-text.ts'

const LIKE_CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0'

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox', 'Linux', false],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${LIKE_CHROME} Safari/537.36`, 'Chrome', 'Windows', false],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${LIKE_CHROME} Safari/537.36 Edg/140.0.0.0`, 'Edge', 'Windows', false],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${LIKE_CHROME} Safari/537.36`, 'Chrome', 'ChromeOS', false],
  [`Mozilla/5.0 (Linux; Android 10; K) ${LIKE_CHROME} Mobile Safari/537.36`, 'Chrome', 'Android', true],
  [`Mozilla/5.0 (Linux; Android 10; K) ${LIKE_CHROME} Mobile Safari/537.36 OPR/76.0`, 'Opera', 'Android', true],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15', 'Safari', 'Mac', false],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Safari/604.1', 'Safari', 'iPhone', true],
  ['Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/140.0 Safari/604.1', 'Chrome', 'iPad', true],
  ['curl/8.5.0', 'curl', null, false],
  ['node', 'node', null, false],
  ['x'.repeat(300), `${'x'.repeat(60)}…`, null, false],
  ['', null, null, false],
  [null, null, null, false],
])('%j is %s on %s', (userAgent, program, system, isPhone) => {
  expect(deviceOf(userAgent)).toEqual({ program, system, isPhone })
})

describe('a signature', () => {
  test.each([
    ['', ''],
    ['Max Born\nSales', '<p>Max Born<br />Sales</p>'],
    ['Max\n\nGridpost', '<p>Max</p><p>Gridpost</p>'],
    ['a < b & "c"', '<p>a &lt; b &amp; &quot;c&quot;</p>'],
    ['See https://a.example/x?y=1&z=2.', '<p>See <a href="https://a.example/x?y=1&amp;z=2">https://a.example/x?y=1&amp;z=2</a>.</p>'],
    ['max@a.example', '<p><a href="mailto:max@a.example">max@a.example</a></p>'],
    ['javascript:alert(1)', '<p>javascript:alert(1)</p>'],
  ])('of the text %j is HTML, and text again', (text, html) => {
    expect(htmlOf(text)).toBe(html)
    expect(textOf(html)).toBe(text)
  })

  test.each([
    ['<p>Max <b>Born</b></p>', null],
    ['<p style="color:red">Max</p>', null],
    ['<a href="https://a.example">here</a>', null],
    ['<a href="https://a.example" title="x">https://a.example</a>', null],
    ['<img src="cid:1" alt="" />', null],
    ['1 < 2', null],
    ['<div>Max</div><div>Born</div>', 'Max\nBorn'],
    ['Max&nbsp;Born<br>\n  Sales', 'Max\u00a0Born\nSales'],
  ])('of the HTML %j is the text %j', (html, text) => {
    expect(textOf(html)).toBe(text)
  })

  test('is listed by its words', () => {
    expect(wordsOf('<p>Max <b>Born</b></p>\n<table><tr><td>Tom &amp; Co</td></tr></table>')).toBe('Max Born Tom & Co')
  })
})
