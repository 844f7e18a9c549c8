/** What the body of a mail consists of. Pasted text keeps this much and no more. */
import { type DOMOutputSpec, type NodeSpec, Schema } from 'prosemirror-model'
import { readToken, tokenText } from './tokens.ts'

/** Links of other schemes do nothing for a recipient, or run something. */
const LINK = /^(https?:|mailto:|tel:|\{\{)/i

const paragraph: NodeSpec = {
  content: 'inline*',
  group: 'block',
  parseDOM: [
    ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'pre', 'tr', 'address', 'figcaption', 'dt', 'dd'].map((tag) => ({ tag })),
    { tag: 'div', priority: 10 },
  ],
  toDOM: () => ['p', 0],
}

const token: NodeSpec = {
  group: 'inline',
  inline: true,
  atom: true,
  attrs: { text: { validate: 'string' } },
  leafText: ({ attrs }) => String(attrs.text),
  parseDOM: [
    {
      tag: 'span[data-token]',
      getAttrs: (element) => {
        const found = readToken(element.getAttribute('data-token') ?? '')
        return found ? { text: tokenText(found) } : false
      },
    },
  ],
  toDOM: ({ attrs }): DOMOutputSpec => ['span', { 'data-token': attrs.text }, attrs.text],
}

export const mailSchema = new Schema({
  nodes: {
    doc: { content: 'block+' },
    paragraph,
    blockquote: { content: 'block+', group: 'block', defining: true, parseDOM: [{ tag: 'blockquote' }], toDOM: () => ['blockquote', 0] },
    bullet_list: { content: 'list_item+', group: 'block', parseDOM: [{ tag: 'ul' }], toDOM: () => ['ul', 0] },
    ordered_list: { content: 'list_item+', group: 'block', parseDOM: [{ tag: 'ol' }], toDOM: () => ['ol', 0] },
    list_item: { content: 'paragraph block*', defining: true, parseDOM: [{ tag: 'li' }], toDOM: () => ['li', 0] },
    text: { group: 'inline' },
    hard_break: { inline: true, group: 'inline', selectable: false, leafText: () => '\n', parseDOM: [{ tag: 'br' }], toDOM: () => ['br'] },
    token,
  },
  marks: {
    link: {
      attrs: { href: { validate: 'string' } },
      inclusive: false,
      parseDOM: [
        {
          tag: 'a[href]',
          getAttrs: (element) => {
            const href = element.getAttribute('href')?.trim() ?? ''
            return LINK.test(href) ? { href } : false
          },
        },
      ],
      toDOM: ({ attrs }) => ['a', { href: attrs.href, rel: 'noopener noreferrer' }, 0],
    },
    strong: {
      parseDOM: [
        { tag: 'strong' },
        // Google Docs wraps everything in a <b> that is not bold.
        { tag: 'b', getAttrs: (element) => (element.style.fontWeight === 'normal' ? false : null) },
        { style: 'font-weight', getAttrs: (value) => (/^(bold(er)?|[6-9]\d\d)$/.test(value) ? null : false) },
      ],
      toDOM: () => ['strong', 0],
    },
    em: { parseDOM: [{ tag: 'i' }, { tag: 'em' }, { style: 'font-style=italic' }], toDOM: () => ['em', 0] },
  },
})

/** A link as a person types it: a bare host gets a scheme. Null if it is none. */
export function readLink(typed: string): string | null {
  const text = typed.trim()
  if (LINK.test(text)) return text
  if (/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text)) return `mailto:${text}`
  return /^[^\s/:]+\.[^\s/:]{2,}(\/\S*)?$/.test(text) ? `https://${text}` : null
}
