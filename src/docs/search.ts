/** The search over the pages, section by section, and over the operations. */
import { Marked } from 'marked'
import { escapeHtml } from '../platform/mail/html.ts'
import { memo } from '../platform/memo.ts'
import { uniqueIds } from './markdown.ts'
import type { Area } from './reference.ts'

export interface Section {
  /** The page or the area. */
  title: string
  heading: string
  /** From `/docs/`: `pages/csv#import`. */
  address: string
  text: string
}

export interface Found extends Section {
  /** A part of the text as HTML, with the words marked. */
  excerpt: string
}

const MOST_FOUND = 40
const MOST_WORDS = 10
/** What a word is worth where it occurs: in the heading, in the title, in the text. */
const WORTH = { heading: 10, title: 5, text: 1 }

/** The sections in which every word of the query occurs, the best first. Case and accents do not count. */
export function search(sections: readonly Section[], query: string): Found[] {
  const words = [...new Set(folded(query).split(/\s+/).filter(Boolean))].slice(0, MOST_WORDS)
  if (!words.length) return []
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_FOUND)
    .map(({ section }) => ({ ...section, excerpt: excerptOf(section.text, words) }))
}

const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Folded once, because folding all pages for a search takes longer than looking for its words. */
const foldedParts = memo(({ title, heading, text }: Section) => ({
  title: folded(title),
  heading: folded(heading),
  text: folded(text),
}))

/** 0 if a word does not occur. */
function scoreOf(section: Section, words: string[]): number {
  const { title, heading, text } = foldedParts(section)
  let score = 0
  for (const word of words) {
    const parts = [heading.includes(word) && WORTH.heading, title.includes(word) && WORTH.title, text.includes(word) && WORTH.text]
    const worth = parts.reduce<number>((sum, part) => sum + Number(part), 0)
    if (!worth) return 0
    score += worth
  }
  return score
}

const BEFORE = 60
const LENGTH = 220

function excerptOf(text: string, words: string[]): string {
  const lower = text.toLowerCase()
  const first = Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0), text.length)
  const start = first === text.length || first < BEFORE ? 0 : text.indexOf(' ', first - BEFORE) + 1
  const isCut = start + LENGTH < text.length
  const part = isCut ? text.slice(start, text.lastIndexOf(' ', start + LENGTH)) : text.slice(start)
  const pattern = new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|'), 'giu')
  let html = ''
  let end = 0
  for (const { 0: word, index } of part.matchAll(pattern)) {
    html += `${escapeHtml(part.slice(end, index))}<mark>${escapeHtml(word)}</mark>`
    end = index + word.length
  }
  return `${start ? '… ' : ''}${html}${escapeHtml(part.slice(end))}${isCut ? ' …' : ''}`
}

/** The sections of a page: what stands before its first heading of the second level, and what follows each. */
export function sectionsOf({ name, title, text }: { name: string; title: string; text: string }): Section[] {
  const newId = uniqueIds()
  const sections: Section[] = [{ title, heading: title, address: `pages/${name}`, text: '' }]
  for (const token of new Marked().lexer(text)) {
    if (token.type !== 'heading') {
      const section = sections.at(-1) as Section
      section.text += ` ${withoutMarks(token.raw)}`
      continue
    }
    const heading = withoutMarks(token.text)
    const id = newId(heading)
    if (token.depth > 1) sections.push({ title, heading, address: `pages/${name}#${id}`, text: '' })
  }
  return sections.map((section) => ({ ...section, text: section.text.replace(/\s+/g, ' ').trim() }))
}

/** The text of Markdown as a reader sees it. */
const withoutMarks = (text: string) =>
  text
    .replace(/<!--.*?-->/gs, ' ')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replace(/```\w*|[`|]|\*\*|^[#>-]+ |:?-{3,}:?/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** What the search finds of the operations. */
export const operationSections = (areas: readonly Area[]): Section[] =>
  areas.flatMap(({ operations }) =>
    operations.map(({ method, path, summary, description, anchor }) => ({
      title: `${method.toUpperCase()} ${path}`,
      heading: summary,
      address: `reference#${anchor}`,
      text: withoutMarks(description),
    })),
  )
