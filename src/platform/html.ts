import sanitize from 'sanitize-html'

/**
 * The one sanitiser: signatures, bodies of outgoing mail and inbound mail all pass here on write (design.md §6). It keeps what mail
 * programs show: text, lists, tables, links, images and harmless inline styles. Running it twice changes nothing.
 */
export function sanitizeHtml(html: string): string {
  if (html.split('<').length > MAX_TAGS) return escapeHtml(html.replace(/<[^<>]*>/g, ' '))
  return sanitize(html, POLICY)
}

/** The parser's time grows with the square of the nesting (150,000 open tags: 7 s), so what has more tags than a person's mail becomes text. */
const MAX_TAGS = 30_000

const ANY_TAG = ['align', 'dir', 'lang', 'style', 'title']
const CELL = ['bgcolor', 'colspan', 'height', 'nowrap', 'rowspan', 'valign', 'width']

// No url(), because it fetches; no backslash, because CSS escapes hide names; nothing that could end the attribute.
const PLAIN_VALUE = [/^(?!.*(?:url|expression|image|image-set|element|attr)\s*\()[^\\<>{}@]{1,300}$/i]
const STYLES = [
  ...['color', 'background', 'background-color', 'opacity', 'text-align', 'text-decoration', 'text-indent', 'text-transform'],
  ...['font', 'font-family', 'font-size', 'font-style', 'font-variant', 'font-weight', 'letter-spacing', 'line-height', 'direction'],
  ...['white-space', 'word-break', 'word-wrap', 'overflow-wrap', 'vertical-align', 'list-style-type', 'display', 'border-radius'],
  ...['width', 'height', 'max-width', 'max-height', 'min-width', 'min-height', 'border-collapse', 'border-spacing', 'table-layout'],
  ...['margin', 'padding', 'border'].flatMap((name) => [name, ...['-top', '-right', '-bottom', '-left'].map((side) => name + side)]),
  ...['border-color', 'border-style', 'border-width'],
]

const POLICY: sanitize.IOptions = {
  allowedTags: [
    ...['a', 'abbr', 'address', 'b', 'bdi', 'bdo', 'big', 'blockquote', 'br', 'caption', 'center', 'cite', 'code', 'col', 'colgroup', 'dd'],
    ...[
      'del',
      'dfn',
      'div',
      'dl',
      'dt',
      'em',
      'figcaption',
      'figure',
      'font',
      'footer',
      'h1',
      'h2',
      'h3',
      'h4',
      'h5',
      'h6',
      'header',
      'hr',
    ],
    ...['i', 'img', 'ins', 'kbd', 'li', 'main', 'mark', 'ol', 'p', 'pre', 'q', 's', 'samp', 'section', 'small', 'span', 'strike', 'strong'],
    ...['sub', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'time', 'tr', 'tt', 'u', 'ul', 'var', 'wbr'],
  ],
  allowedAttributes: {
    '*': ANY_TAG,
    a: ['href', 'name', 'target', 'rel'],
    font: ['color', 'face', 'size'],
    img: ['alt', 'border', 'height', 'src', 'width'],
    ol: ['start', 'type'],
    li: ['value', 'type'],
    ul: ['type'],
    table: ['bgcolor', 'border', 'cellpadding', 'cellspacing', 'height', 'width'],
    td: CELL,
    th: CELL,
    tr: ['bgcolor', 'height', 'valign'],
    col: ['span', 'width'],
    colgroup: ['span', 'width'],
  },
  allowedStyles: { '*': Object.fromEntries(STYLES.map((name) => [name, PLAIN_VALUE])) },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowedSchemesByTag: { img: ['http', 'https', 'cid', 'data'] },
  allowProtocolRelative: false,
  // Content that is no text for a reader goes with its tag.
  nonTextTags: ['script', 'style', 'textarea', 'option', 'xmp', 'title', 'noscript', 'noembed', 'noframes', 'template'],
  nestingLimit: 200,
  enforceHtmlBoundary: false,
}

/**
 * The plain text of HTML, as the text part of a mail shows it: paragraphs apart, `- ` before list items, `> ` before quoted lines,
 * links with their address. The HTML may be anything; it is sanitised first.
 */
export function textOfHtml(html: string): string {
  const lines: Line[] = [{ depth: 0, text: '' }]
  const lists: number[] = []
  let quoteDepth = 0
  let preDepth = 0
  let link: { href: string; from: number } | undefined

  const line = () => lines.at(-1) as Line
  const newLine = () => lines.push({ depth: quoteDepth, text: '' })
  const block = () => {
    if (line().text.trim() || line().depth !== quoteDepth) newLine()
  }
  const paragraph = () => {
    block()
    if (lines.length > 1 && lines.at(-2)?.text.trim()) newLine()
  }

  for (const [, closing, name = '', attributes = '', text] of sanitizeHtml(html).matchAll(TOKENS)) {
    if (text !== undefined) {
      const decoded = decodeEntities(text)
      if (preDepth) {
        for (const [index, part] of decoded.split('\n').entries()) {
          if (index) newLine()
          line().text += part
        }
      } else {
        const spaced = decoded.replace(/[ \t\r\n\f]+/g, ' ')
        line().text += line().text === '' || line().text.endsWith(' ') ? spaced.trimStart() : spaced
      }
      continue
    }
    const isOpening = !closing
    if (name === 'br') newLine()
    else if (name === 'hr') {
      block()
      line().text = '---'
      newLine()
    } else if (name === 'img') line().text += attribute(attributes, 'alt')
    else if (name === 'pre') {
      paragraph()
      preDepth += isOpening ? 1 : -1
    } else if (name === 'blockquote') {
      quoteDepth = Math.max(0, quoteDepth + (isOpening ? 1 : -1))
      block()
    } else if (name === 'ul' || name === 'ol') {
      if (isOpening) lists.push(name === 'ol' ? 1 : 0)
      else lists.pop()
      block()
    } else if (name === 'li') {
      block()
      if (isOpening) line().text = listMark(lists)
    } else if (name === 'td' || name === 'th') {
      if (isOpening && line().text.trim()) line().text += '\t'
    } else if (name === 'a') {
      if (isOpening) link = { href: attribute(attributes, 'href'), from: line().text.length }
      else if (link) {
        line().text += linkAddress(link.href, line().text.slice(link.from))
        link = undefined
      }
    } else if (PARAGRAPHS.has(name)) paragraph()
    else if (BLOCKS.has(name)) block()
  }

  return layOut(lines)
}

interface Line {
  depth: number
  text: string
}

/** Quote marks in front, at most one empty line in a row, none at either end. */
function layOut(lines: Line[]): string {
  const text: string[] = []
  for (const [index, line] of lines.entries()) {
    const isBlank = !line.text.trim()
    const isLast = index === lines.length - 1
    // An empty line between two depths would quote nothing.
    if (isBlank && (isLast || lines[index + 1]?.depth !== line.depth || text.length === 0 || /^>*$/.test(text.at(-1) ?? ''))) continue
    text.push(`${'>'.repeat(line.depth)}${line.depth && !isBlank ? ' ' : ''}${line.text}`.replace(/[ \t\u00a0]+$/, ''))
  }
  return text.join('\n').trim()
}

// The sanitiser's output holds no bare < or >, in attributes neither, so that this pattern is all the parser it needs.
const TOKENS = /<(\/?)([a-z][a-z0-9]*)([^>]*)>|([^<]+)/g
const PARAGRAPHS = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'figure', 'dl'])
const BLOCKS = new Set(['address', 'center', 'dd', 'div', 'dt', 'figcaption', 'footer', 'header', 'main', 'section', 'tr', 'caption'])

/** `- ` or `2. `, indented by the lists around it; counts the item. */
function listMark(lists: number[]): string {
  const number = lists.at(-1) ?? 0
  if (number) lists[lists.length - 1] = number + 1
  return `${'  '.repeat(Math.max(0, lists.length - 1))}${number ? `${number}.` : '-'} `
}

/** A link whose text does not already say where it goes. */
function linkAddress(href: string, shown: string): string {
  const address = href.replace(/^(mailto|tel):/i, '')
  return !address || address.startsWith('#') || shown.includes(address.replace(/^https?:\/\//i, '').replace(/\/$/, ''))
    ? ''
    : ` <${address}>`
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1]
  return decodeEntities(value ?? '')
}

/** The sanitiser decodes what it reads and writes only these four. */
function decodeEntities(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

/** Text made safe to stand in HTML, in an attribute too. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}
