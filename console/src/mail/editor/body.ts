/** The body of a mail as it is kept in a draft, and as HTML. */
import { withoutTokens } from './tokens.ts'

/** A part of the body, as ProseMirror writes it as JSON. */
export interface BodyPart {
  type: string
  text?: string
  attrs?: Record<string, unknown>
  marks?: { type: string; attrs?: Record<string, unknown> }[]
  content?: BodyPart[]
}

const paragraphOf = (text: string): BodyPart => ({
  type: 'paragraph',
  ...(text && {
    content: text
      .split('\n')
      .flatMap((line, at): BodyPart[] => [...(at ? [{ type: 'hard_break' }] : []), ...(line ? [{ type: 'text', text: line }] : [])]),
  }),
})

/** A body of paragraphs, which an empty line separates. */
export const bodyOf = (text: string): BodyPart => ({ type: 'doc', content: text.split(/\n{2,}/).map(paragraphOf) })

export const EMPTY_BODY: BodyPart = { type: 'doc', content: [{ type: 'paragraph' }] }

const TAGS: Record<string, string> = {
  paragraph: 'p',
  blockquote: 'blockquote',
  bullet_list: 'ul',
  ordered_list: 'ol',
  list_item: 'li',
}
const MARKS: Record<string, string> = { strong: 'strong', em: 'em' }

/** The look of a quotation, for mail programs that have none of their own. */
const QUOTE_STYLE = ' style="margin:0 0 0 0.8ex;border-left:1px solid #ccc;padding-left:1ex"'

/** The body as HTML. Tokens leave as plain text, which the service resolves. */
export function htmlOf(part: BodyPart): string {
  const inner = (part.content ?? []).map(htmlOf).join('')
  if (part.type === 'text') return marked(escaped(part.text ?? ''), part.marks)
  if (part.type === 'token') return marked(escaped(String(part.attrs?.text ?? '')), part.marks)
  if (part.type === 'hard_break') return '<br>'
  const tag = TAGS[part.type]
  if (!tag) return inner
  // A list item that is one paragraph has no space around it in any mail program.
  if (part.type === 'list_item' && part.content?.length === 1) return `<li>${(part.content[0]?.content ?? []).map(htmlOf).join('')}</li>`
  const style = tag === 'blockquote' ? QUOTE_STYLE : ''
  return `<${tag}${style}>${inner || (tag === 'p' ? '<br>' : '')}</${tag}>`
}

function marked(text: string, marks: BodyPart['marks'] = []): string {
  return marks.reduceRight((inner, { type, attrs }) => {
    if (type === 'link') return `<a href="${escaped(String(attrs?.href ?? ''))}">${inner}</a>`
    const tag = MARKS[type]
    return tag ? `<${tag}>${inner}</${tag}>` : inner
  }, text)
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? '')

/** The body of somebody else without tokens, also in the addresses of its links. */
export function inert(part: BodyPart): BodyPart {
  const { text, marks, content } = part
  if (part.type === 'token') return { type: 'text', text: withoutTokens(String(part.attrs?.text ?? '')) }
  return {
    ...part,
    ...(text !== undefined && { text: withoutTokens(text) }),
    ...(marks && { marks: marks.map(inertMark) }),
    ...(content && { content: content.map(inert) }),
  }
}

const inertMark = ({ type, attrs }: { type: string; attrs?: Record<string, unknown> }) => ({
  type,
  ...(attrs && { attrs: Object.fromEntries(Object.entries(attrs).map(([name, value]) => [name, String(value).replaceAll('{', '%7B')])) }),
})

/** Whether nothing was written: no letter and no token. */
export function isBlank({ type, text, content = [] }: BodyPart): boolean {
  return type !== 'token' && !text?.trim() && content.every(isBlank)
}

/** Whether a stored value can be a body. The editor refuses what its schema does not know. */
export const isBody = (value: unknown): value is BodyPart =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  value.type === 'doc' &&
  'content' in value &&
  Array.isArray(value.content)
