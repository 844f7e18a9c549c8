/** Signatures that are only text: they are edited as text, and kept as HTML. */

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", apos: "'", nbsp: '\u00a0' }
const ENTITY = /&(amp|lt|gt|quot|#39|apos|nbsp);/g
/** A link, a tag without attributes that makes lines, or words; anything else is a lone `<`. The service writes its HTML in one form. */
const TOKEN = /<a href="(?<href>[^"]*)">(?<label>[^<]*)<\/a>|<(?<tag>\/?(?:p|div)|br ?\/?)>|(?<words>[^<]+)|</g
/** What a tag is in a text. */
const LINES: Readonly<Record<string, string>> = { '/p': '\n\n', '/div': '\n', br: '\n', 'br/': '\n', 'br /': '\n' }

const plain = (html: string): string => html.replaceAll(ENTITY, (_, name: string) => ENTITIES[name] ?? '')
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The lines of a signature that has nothing but paragraphs, lines and links that are written out; null if it has more. */
export function textOf(html: string): string | null {
  let text = ''
  for (const { groups: { href, label, tag, words } = {} } of html.matchAll(TOKEN)) {
    if (words !== undefined) text += plain(words).replaceAll(/[ \t\n\r]+/g, ' ')
    else if (tag !== undefined) text += LINES[tag] ?? ''
    // A link with other words, and any other tag, cannot be written as text.
    else if (label === undefined || addressOf(plain(label)) !== plain(href ?? '')) return null
    else text += plain(label)
  }
  return text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .trim()
}

/** The HTML of lines of text: empty lines part paragraphs, and addresses become links. */
export function htmlOf(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .trim()
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => `<p>${paragraph.split('\n').map(lineOf).join('<br />')}</p>`)
    .join('')
}

const ADDRESS = /https?:\/\/[^\s<>"]*[^\s<>".,;:!?)]|[^\s<>"@,;:()]+@[^\s<>"@,;:()]+\.[a-z]{2,}/gi

function lineOf(line: string): string {
  let html = ''
  let from = 0
  for (const { 0: found, index } of line.matchAll(ADDRESS)) {
    html += `${escaped(line.slice(from, index))}<a href="${escaped(addressOf(found))}">${escaped(found)}</a>`
    from = index + found.length
  }
  return html + escaped(line.slice(from))
}

const addressOf = (text: string): string => (/^https?:\/\//i.test(text) ? text : `mailto:${text}`)

/** The words of any signature, for lists. */
export const wordsOf = (html: string): string =>
  plain(html.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim()
