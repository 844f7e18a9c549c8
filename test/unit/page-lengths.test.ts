import { describe, expect, test } from 'vitest'
import { longPages } from '../../scripts/page-lengths.ts'

const words = (count: number) => 'word \n'.repeat(count)
const found = (pages: Record<string, string>) => longPages(pages).map(({ path, what }) => `${path} ${what}`)

describe('lengths of pages', () => {
  test.each([
    ['a decision', 'docs/decisions/0001-typed-tables.md', 600],
    ['the changelog', 'CHANGELOG.md', 2_500],
    ['operations', 'docs/operations.md', 3_500],
    ['any page with all others', 'docs/', 51_570],
  ])('finds %s with a word too many', (_, path, most) => {
    const page = path === 'docs/' ? 'docs/csv.md' : path
    expect(found({ [page]: words(most) })).toEqual([])
    expect(found({ [page]: words(most + 1) })).toEqual([`${path} has ${most + 1} words, at most ${most} are allowed`])
  })

  test('a page without a limit of its own, and the list of decisions, may be longer', () => {
    expect(found({ 'docs/decisions/README.md': words(700), 'docs/email.md': words(4_000), 'README.md': words(50_000) })).toEqual([])
  })
})
