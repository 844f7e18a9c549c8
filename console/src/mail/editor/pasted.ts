/** What is pasted and quoted, as the body of a mail can have it. */
import { DOMParser as BodyParser, Fragment, type Node, Slice } from 'prosemirror-model'
import type { BodyPart } from './body.ts'
import { mailSchema } from './mail-schema.ts'
import { partsOf, type Token, tokenText } from './tokens.ts'

const { nodes } = mailSchema

export const inlineOf = (parts: (string | Token)[], { marks: own }: Node): Node[] =>
  parts.map((part) => (typeof part === 'string' ? mailSchema.text(part, own) : nodes.token.create({ text: tokenText(part) }, null, own)))

export function withTokens(content: Fragment): Fragment {
  const children: Node[] = []
  content.forEach((node) => {
    if (node.isText && node.text) children.push(...inlineOf(partsOf(node.text), node))
    else children.push(node.copy(withTokens(node.content)))
  })
  return Fragment.from(children)
}

/** Plain text that is pasted: an empty line ends a paragraph. */
export function sliceOf(text: string): Slice {
  const lines = (paragraph: string) =>
    paragraph.split(/\r?\n/).flatMap((line, at) => [...(at ? [nodes.hard_break.create()] : []), ...(line ? [mailSchema.text(line)] : [])])
  const paragraphs = text.split(/(?:\r?\n){2,}/).map((paragraph) => nodes.paragraph.create(null, lines(paragraph)))
  return new Slice(Fragment.from(paragraphs), 1, 1)
}

/** HTML as a body: what the schema does not know is left out. */
export const bodyOfHtml = (html: string): BodyPart => parsed(html).toJSON() as BodyPart

/** The same with the tokens in its text as such. */
export function bodyWithTokens(html: string): BodyPart {
  const body = parsed(withParagraphs(html))
  return body.copy(withTokens(body.content)).toJSON() as BodyPart
}

const parsed = (html: string): Node => BodyParser.fromSchema(mailSchema).parse(bodyElement(html))

export function textOfHtml(html: string): string {
  const body = bodyElement(html)
  for (const block of body.querySelectorAll(`br, ${BLOCKS}`)) block.after('\n')
  return body.textContent?.trim() ?? ''
}

/** The body of a document that loads and runs nothing, without what is no text. */
function bodyElement(html: string): HTMLElement {
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  for (const element of body.querySelectorAll('style, script, title, head, template')) element.remove()
  return body
}

const BLOCKS = 'address, article, blockquote, dd, div, dl, dt, h1, h2, h3, h4, h5, h6, li, ol, p, pre, section, table, ul'

/** Text beside blocks becomes paragraphs: ProseMirror 1.44 drops the spaces between its parts otherwise. */
export function withParagraphs(html: string): string {
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  const isBlock = (node: ChildNode) => node instanceof Element && node.matches(BLOCKS)
  const children = [...body.childNodes]
  if (!children.some(isBlock)) return html
  let paragraph: HTMLElement | undefined
  for (const child of children) {
    if (isBlock(child)) paragraph = undefined
    else if (paragraph) paragraph.append(child)
    else if (child.textContent?.trim()) {
      paragraph = body.ownerDocument.createElement('p')
      child.replaceWith(paragraph)
      paragraph.append(child)
    }
  }
  return body.innerHTML
}
