/**
 * Texts of megabytes in a process in which V8 does not optimise regular expressions: it no longer does once a process has compiled many of
 * them, as every service has after a while. Of an expression such as `[A-Z]+` each character then takes room on a stack, which has room for
 * four million.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** The value of an expression in such a process. @param module whose exports the expression finds in `it` */
function unoptimised(module: string, expression: string): unknown {
  const script = `import * as it from './${module}'; process.stdout.write(JSON.stringify(${expression}))`
  const args = ['--no-regexp-optimization', '--input-type=module', '--eval', script]
  return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }))
}

test('in such a process an expression exhausts its stack', () => {
  expect(() => unoptimised('src/fields/decimal.ts', "/^0+$/.test('0'.repeat(9_000_000))")).toThrow('Maximum call stack size exceeded')
})

test.each([
  ['one line', "'A'.repeat(9_000_000)", 9_000_000],
  ['lines', "'A\\r\\n'.repeat(3_000_000)", 9_000_000],
  ['lines that are indented', "'A\\n' + ' '.repeat(9_000_000) + 'A'", 9_000_003],
])('data URLs of %s are taken out of HTML', (_, data, length) => {
  const found = `[...it.shorten('<img src="data:image/png;base64,' + ${data} + '">').dataUrls.values()].map((url) => url.length)`
  expect(unoptimised('src/email/composing/inline-images.ts', found)).toEqual(['data:image/png;base64,'.length + length])
})

test('numbers may begin with zeros', () => {
  const rounded = "it.roundedDecimal('0'.repeat(9_000_000) + '12.345', 2)"
  expect(unoptimised('src/fields/decimal.ts', rounded)).toEqual({ text: '12.35' })
})

test('the text of HTML may be escaped signs', () => {
  const text = "it.textOfSanitized('<p>a</p>' + '&lt;'.repeat(1_100_000) + '<br />b')"
  expect(unoptimised('src/platform/mail/html-text.ts', `${text}.length`)).toBe('a\n\n'.length + 1_100_000 + '\nb'.length)
})
