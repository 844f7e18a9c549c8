import { describe, expect, test } from 'vitest'
import { search, sectionsOf } from '../../src/docs/search.ts'

const section = (heading: string, text: string, title = 'Page') => ({ title, heading, address: heading.toLowerCase(), text })
const SECTIONS = [
  section('Limits', 'A cursor is kept for an hour. Café tables.'),
  section('Cursors', 'Pages go on.'),
  section('Other', 'Nothing of the kind.', 'Cursor'),
]
const found = (query: string) => search(SECTIONS, query).map(({ heading }) => heading)

describe('the search over sections', () => {
  test.each([
    ['cursor', ['Cursors', 'Other', 'Limits']],
    ['CURSOR hour', ['Limits']],
    ['cafe', ['Limits']],
    ['café', ['Limits']],
    ['cursor nowhere', []],
    ['', []],
    ['   ', []],
    ['.*', []],
  ])('finds %j', (query, headings) => {
    expect(found(query)).toEqual(headings)
  })

  test('marks the words in a part of the text, and escapes the rest', () => {
    const text = `${'before '.repeat(30)}the <b> Needle & more ${'after '.repeat(60)}`
    const [{ excerpt } = { excerpt: '' }] = search([section('A', text)], 'needle <b>')
    expect(excerpt).toMatch(/^… before/)
    expect(excerpt).toContain('the <mark>&lt;b&gt;</mark> <mark>Needle</mark> &amp; more')
    expect(excerpt).toMatch(/after …$/)
  })

  test('divides a page at its headings, without marks', () => {
    const text = '# Title\n\nIntro with `code`.\n\n## One\n\n[Link](x.md) | **bold**\n\n## One\n\n```sh\ncurl x\n```'
    expect(sectionsOf({ name: 'page', title: 'Title', text })).toEqual([
      { title: 'Title', heading: 'Title', address: 'pages/page', text: 'Intro with code .' },
      { title: 'Title', heading: 'One', address: 'pages/page#one', text: 'Link bold' },
      { title: 'Title', heading: 'One', address: 'pages/page#one-1', text: 'curl x' },
    ])
  })
})
