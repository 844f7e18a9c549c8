/** The tree of parts that postal-mime 4.0 builds. Its types do not contain it, so the tests notice when an update changes it. */

import { rtfText } from '../enclosures/rtf.ts'
import { unflowed } from '../quoting/flowed.ts'
import { decodedText } from './text-charset.ts'

export interface MimeNode {
  contentType: { value: string; parsed: { value: string; params: Record<string, string> }; multipart: string | false }
  contentDisposition: { parsed: { value: string; params: Record<string, string> } }
  contentTransferEncoding: { encoding: string }
  contentId?: string
  headers: { key: string; originalKey: string; value: string }[]
  state: 'header' | 'body' | 'finished'
  contentDecoder: { update(line: Uint8Array): void } | null
  /** The decoded content; of a multipart, the text before its first part. */
  content: ArrayBuffer | null
  parentNode?: MimeNode
  childNodes: MimeNode[]
  getTextContent(): string
}

export const typeOf = ({ contentType }: MimeNode): string => contentType.parsed.value

export const fileNameOf = ({ contentType, contentDisposition }: MimeNode): string =>
  contentDisposition.parsed.params.filename || contentType.parsed.params.name || ''

export const isMarkedAttachment = ({ contentDisposition }: MimeNode): boolean => contentDisposition.parsed.value === 'attachment'

export const isText = (node: MimeNode): boolean => ['text/plain', 'text/html'].includes(typeOf(node))

export function leavesOf(node: MimeNode): MimeNode[] {
  return node.contentType.multipart ? node.childNodes.flatMap(leavesOf) : [node]
}

/** A part that a message does not have by itself, such as a file of an archive in it. */
export interface MadePart {
  type: string
  content: Uint8Array
  charset?: string
  name?: string
  cid?: string
}

export function madeLeaf(parent: MimeNode, { type, content, charset, name, cid }: MadePart): MimeNode {
  const leaf = Object.create(Object.getPrototypeOf(parent)) as MimeNode
  return Object.assign(leaf, {
    contentType: { value: type, parsed: { value: type, params: charset === undefined ? {} : { charset } }, multipart: false as const },
    contentDisposition: {
      parsed: { value: name === undefined ? 'inline' : 'attachment', params: name === undefined ? {} : { filename: name } },
    },
    contentTransferEncoding: { encoding: '' },
    ...(cid !== undefined && { contentId: cid }),
    headers: [],
    state: 'finished' as const,
    contentDecoder: null,
    content: new Uint8Array(content).buffer,
    parentNode: parent,
    childNodes: [],
  })
}

/** Text is cut to fewer characters after it was read (mime.ts). */
const MAX_FLOWED = 1_000_000

/** The words of a leaf, as they are shown: HTML as it is. */
export function textOf(node: MimeNode): string {
  const { value, params } = node.contentType.parsed
  const content = new Uint8Array(node.content ?? new ArrayBuffer(0))
  if (/^(text|application)\/(x-)?rtf$/.test(value)) return rtfText(content)
  const text = decodedText(content, params.charset, value === 'text/html')
  if (/^flowed$/i.test(params.format ?? '')) return unflowed(text.slice(0, MAX_FLOWED), /^yes$/i.test(params.delsp ?? ''))
  return /^text\/(enriched|richtext)$/.test(value) ? withoutCommands(text) : text
}

/** Enriched text (RFC 1896) without its commands: one end of a line is a blank, and << is a single sign. */
const withoutCommands = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .replace(/\n+/g, (ends) => (ends.length === 1 ? ' ' : ends.slice(1)))
    .replace(/<<|<param>[^<]{0,200}<\/param>|<[^<>]{1,60}>/gi, (command) => (command === '<<' ? '<' : ''))
