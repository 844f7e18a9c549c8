import { describe, expect, test } from 'vitest'
import { renderMarkdown } from '../../src/docs/markdown.ts'

const KNOWN: Record<string, string> = {
  'docs/csv.md': '../csv',
  'docs/decisions/0001.md': '../decisions/0001',
  'CONTRIBUTING.md': '../contributing',
}
const render = (text: string, path = 'docs/email.md') => renderMarkdown(text, path, (target) => KNOWN[target]).html.trim()

describe('Markdown as HTML', () => {
  test.each([
    ['a page', '[x](csv.md)', '<p><a href="../csv">x</a></p>'],
    ['a part of a page', '[x](csv.md#part)', '<p><a href="../csv#part">x</a></p>'],
    ['a page in a folder', '[x](decisions/0001.md)', '<p><a href="../decisions/0001">x</a></p>'],
    ['a page above', '[x](../CONTRIBUTING.md#a)', '<p><a href="../contributing#a">x</a></p>'],
    ['a part of the same page', '[x](#part)', '<p><a href="#part">x</a></p>'],
    ['another site', '[x](https://example.com/?a=1&b="2")', '<p><a href="https://example.com/?a=1&amp;b=&quot;2&quot;">x</a></p>'],
    ['a file that is not shown', '[x](../deploy/nginx.conf)', '<p><span class="file" title="In the repository">x</span></p>'],
    ['a scheme that runs', '[x](javascript:alert(1))', '<p><span class="file" title="In the repository">x</span></p>'],
    ['bytes in the address', '[x](data:text/html,a)', '<p><span class="file" title="In the repository">x</span></p>'],
  ])('links to %s', (_, text, html) => {
    expect(render(text)).toBe(html)
  })

  test.each([
    ['a block', '<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['inside a line', 'a <img src=x onerror=alert(1)> b', '<p>a &lt;img src=x onerror=alert(1)&gt; b</p>'],
    ['a comment', '<!-- printed -->', ''],
    ['code', '`<b>`', '<p><code>&lt;b&gt;</code></p>'],
    ['an image of another name', '![<b>](nope.svg)', '<p>&lt;b&gt;</p>'],
  ])('shows HTML as text: %s', (_, text, html) => {
    expect(render(text)).toBe(html)
  })

  test('gives headings the ids of GitHub, each once, and lists them', () => {
    const { html, headings } = renderMarkdown('# A `b`: c?\n\n## Export\n\n## Export\n\n### Ünï-code_x', 'docs/a.md', () => undefined)
    expect(headings).toEqual([
      { id: 'a-b-c', text: 'A b: c?', depth: 1 },
      { id: 'export', text: 'Export', depth: 2 },
      { id: 'export-1', text: 'Export', depth: 2 },
      { id: 'ünï-code_x', text: 'Ünï-code_x', depth: 3 },
    ])
    expect(html).toContain('<h2 id="export-1">Export <a class="anchor" href="#export-1"')
  })

  test('folds a diagram, and lets the keyboard reach wide code and tables', () => {
    expect(render('```mermaid\na --> b\n```')).toContain(
      '<summary>The diagram as Mermaid text</summary><div class="code"><pre tabindex="0">',
    )
    expect(render('|a|\n|-|\n|1|')).toContain('<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
  })
})
