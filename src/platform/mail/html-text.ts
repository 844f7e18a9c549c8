import { sanitizeHtml } from './html.ts'

/**
 * The plain text of HTML, as the text part of a mail has it: an empty line between paragraphs, `- ` before list items, `> ` before
 * quoted lines, and the address after a link. Any HTML may be given, because it is sanitised first. html-to-text (10.0) is no replacement:
 * quotes, lists, table cells and links need formatters of our own in it, and empty blocks become empty lines.
 */
export const textOfHtml = (html: string): string => textOfSanitized(sanitizeHtml(html))

/** The same of HTML that was sanitised already, which is most of the work. */
export function textOfSanitized(html: string): string {
  const page: Page = { lines: [emptyLine(0)], lists: [], quoteDepth: 0, preDepth: 0, link: undefined }
  // The sanitiser's output has no bare < or >, not even in attributes.
  for (let at = 0; at < html.length; ) {
    const tagStart = indexOf(html, '<', at)
    if (tagStart > at) addText(page, decodeEntities(html.slice(at, tagStart)))
    const tagEnd = indexOf(html, '>', tagStart)
    const tag = html.slice(tagStart + 1, tagEnd)
    const [start = '', slash, name = ''] = TAG_NAME.exec(tag) ?? []
    if (slash) HANDLERS.get(name)?.close?.(page)
    else HANDLERS.get(name)?.open?.(page, tag.slice(start.length))
    at = tagEnd + 1
  }
  return layOut(page.lines)
}

const TAG_NAME = /^(\/?)([a-z][a-z0-9]*)/

/** Where the character is, or where the text ends. */
function indexOf(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at < 0 ? text.length : at
}

/** The text written so far, and the elements that are open. */
interface Page {
  lines: Line[]
  /** One entry for each open list: the number of its next item, or 0 for a list without numbers. */
  lists: number[]
  quoteDepth: number
  preDepth: number
  /** The open link, and its text so far. */
  link: { href: string; text: string } | undefined
}

/**
 * A line that grows. V8 joins the parts of such a text only when one of its characters is read, and then copies all of them. So the facts
 * about the line that are needed while it grows are stored beside its text.
 */
interface Line {
  /** The depth of the quote that the line belongs to. */
  depth: number
  text: string
  isBlank: boolean
  endsWithSpace: boolean
}

const emptyLine = (depth: number): Line => ({ depth, text: '', isBlank: true, endsWithSpace: false })

/** What an element adds to the page where it opens and where it closes. */
interface Handler {
  open?(page: Page, attributes: string): void
  close?(page: Page): void
}

const PARAGRAPH: Handler = { open: beginParagraph, close: beginParagraph }
const BLOCK: Handler = { open: beginBlock, close: beginBlock }
const CELL: Handler = {
  open: (page) => {
    if (!lastLine(page).isBlank) append(page, '\t')
  },
}

/** Elements that are not listed add only their text. */
const HANDLERS = new Map<string, Handler>([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'figure', 'dl'].map((name) => [name, PARAGRAPH] as const),
  ...['address', 'caption', 'center', 'dd', 'div', 'dt', 'figcaption', 'footer', 'header', 'main', 'section', 'tr'].map(
    (name) => [name, BLOCK] as const,
  ),
  ['td', CELL],
  ['th', CELL],
  ['br', { open: beginLine }],
  ['img', { open: (page, attributes) => append(page, attribute(attributes, 'alt')) }],
  ['ul', listHandler(0)],
  ['ol', listHandler(1)],
  [
    'hr',
    {
      open: (page) => {
        beginBlock(page)
        append(page, '---')
        beginLine(page)
      },
    },
  ],
  [
    'li',
    {
      open: (page) => {
        beginBlock(page)
        append(page, listMark(page.lists))
      },
      close: beginBlock,
    },
  ],
  [
    'pre',
    {
      open: (page) => {
        beginParagraph(page)
        page.preDepth++
      },
      close: (page) => {
        beginParagraph(page)
        page.preDepth--
      },
    },
  ],
  [
    'blockquote',
    {
      open: (page) => {
        page.quoteDepth++
        beginBlock(page)
      },
      close: (page) => {
        page.quoteDepth--
        beginBlock(page)
      },
    },
  ],
  [
    'a',
    {
      open: (page, attributes) => {
        page.link = { href: attribute(attributes, 'href'), text: '' }
      },
      close: (page) => {
        if (page.link) append(page, linkAddress(page.link.href, page.link.text))
        page.link = undefined
      },
    },
  ],
])

/** @param firstNumber of the items; 0 for a list without numbers */
function listHandler(firstNumber: number): Handler {
  return {
    open: (page) => {
      page.lists.push(firstNumber)
      beginBlock(page)
    },
    close: (page) => {
      page.lists.pop()
      beginBlock(page)
    },
  }
}

function addText(page: Page, text: string): void {
  if (page.preDepth > 0) {
    for (const [index, part] of text.split('\n').entries()) {
      if (index) beginLine(page)
      append(page, part)
    }
    return
  }
  const spaced = text.replace(WHITE_SPACE, ' ')
  const { text: before, endsWithSpace } = lastLine(page)
  append(page, before.length === 0 || endsWithSpace ? spaced.trimStart() : spaced)
}

/** White space that becomes one space. A single space is one already; in most texts there is nothing else. */
const WHITE_SPACE = /[\t\r\n\f][ \t\r\n\f]*| [ \t\r\n\f]+/g

const lastLine = ({ lines }: Page) => lines.at(-1) as Line

function append(page: Page, text: string): void {
  if (!text) return
  const line = lastLine(page)
  line.text += text
  line.isBlank &&= !text.trim()
  line.endsWithSpace = text.endsWith(' ')
  if (page.link) page.link.text += text
}

function beginLine(page: Page): void {
  page.lines.push(emptyLine(page.quoteDepth))
}

/** Begins a line, unless the last one is still empty and has the right depth. */
function beginBlock(page: Page): void {
  if (!lastLine(page).isBlank || lastLine(page).depth !== page.quoteDepth) beginLine(page)
}

/** Begins a line that has an empty one before it. */
function beginParagraph(page: Page): void {
  beginBlock(page)
  if (page.lines.at(-2)?.isBlank === false) beginLine(page)
}

/** Adds the quote marks. Keeps at most one empty line in a row, and none at either end. */
function layOut(lines: readonly Line[]): string {
  const text: string[] = []
  for (const [index, line] of lines.entries()) {
    const { isBlank } = line
    const isLast = index === lines.length - 1
    // An empty line between two depths would belong to neither quote.
    if (isBlank && (isLast || lines[index + 1]?.depth !== line.depth || text.length === 0 || /^>*$/.test(text.at(-1) ?? ''))) continue
    text.push(`${'>'.repeat(line.depth)}${line.depth && !isBlank ? ' ' : ''}${line.text}`.trimEnd())
  }
  return text.join('\n').trim()
}

/** `- ` or `2. `, indented by the lists around it. Counts the item. */
function listMark(lists: number[]): string {
  const number = lists.at(-1) ?? 0
  if (number) lists[lists.length - 1] = number + 1
  return `${'  '.repeat(Math.max(0, lists.length - 1))}${number ? `${number}.` : '-'} `
}

/** The address in angle brackets; empty for a link without one, within the page, or whose text is its address. */
function linkAddress(href: string, shown: string): string {
  const address = href.replace(/^(mailto|tel):/i, '')
  const isShown = shown.includes(address.replace(/^https?:\/\//i, '').replace(/\/$/, ''))
  return !address || address.startsWith('#') || isShown ? '' : ` <${address}>`
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1]
  return decodeEntities(value ?? '')
}

/** Decodes the four entities that the sanitiser writes. */
function decodeEntities(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}
