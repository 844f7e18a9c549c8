import { createRequire } from 'node:module'
import type sanitize from 'sanitize-html'

const require = createRequire(import.meta.url)
/** The package is loaded when the first HTML arrives: its parsers take 5 MB, and most processes never need them. */
let sanitizer: typeof sanitize | undefined

/**
 * Sanitises HTML. Signatures, bodies of outgoing mail and inbound mail all pass here on write. It keeps the elements that
 * mail programs show: text, lists, tables, links, images and harmless inline styles. Running it twice changes nothing.
 */
export function sanitizeHtml(html: string): string {
  if (html.split('<').length > MAX_TAGS) return escapeHtml(html.replace(/<[^<>]*>/g, ' '))
  sanitizer ??= require('sanitize-html') as typeof sanitize
  return sanitizer(html, POLICY)
}

/** The parser's time grows with the square of the nesting, so HTML with more tags than a usual mail becomes text. */
const MAX_TAGS = 30_000

const ANY_TAG = ['align', 'dir', 'lang', 'style', 'title']
const CELL = ['bgcolor', 'colspan', 'height', 'nowrap', 'rowspan', 'valign', 'width']

// Refused are url(), which fetches, the backslash, which starts CSS escapes, and characters that could end the attribute.
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
  // The content of these tags is not text for a reader, so it is removed with the tag.
  nonTextTags: ['script', 'style', 'textarea', 'option', 'xmp', 'title', 'noscript', 'noembed', 'noframes', 'template'],
  nestingLimit: 200,
  enforceHtmlBoundary: false,
}

/** The number of images in sanitised HTML that a reader would load from another server. */
export const countRemoteImages = (html: string): number => html.match(/<img\b[^>]*\ssrc="https?:/gi)?.length ?? 0

/** Escapes text for HTML, also for attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}
