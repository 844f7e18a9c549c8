/** Reads a part of a workbook as events, whatever prefixes its names have. */
import { TextDecoder } from 'node:util'
import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { UnreadableArchive } from './archive.ts'

export type Attributes = Readonly<Record<string, string>>

export interface XmlEvents {
  open?(name: string, attributes: Attributes): void
  close?(name: string): void
  /** Text and CDATA, in pieces. */
  text?(text: string): void
}

/** @throws UnreadableArchive for XML that is not well-formed */
export async function readXml(bytes: AsyncIterable<Buffer>, events: XmlEvents): Promise<void> {
  const parser = new SaxesParser({ xmlns: false, position: false })
  parser.on('opentag', ({ name, attributes }: SaxesTagPlain) => events.open?.(localName(name), attributes))
  parser.on('closetag', ({ name }: SaxesTagPlain) => events.close?.(localName(name)))
  parser.on('text', (text) => events.text?.(text))
  parser.on('cdata', (text) => events.text?.(text))
  let decoder: TextDecoder | undefined
  for await (const chunk of bytes) {
    decoder ??= decoderOf(chunk)
    parse(parser, decoder.decode(chunk, { stream: true }))
  }
  parse(parser, decoder?.decode() ?? '')
  if (decoder) parse(parser, null)
}

/** @param text null at the end */
function parse(parser: SaxesParser, text: string | null): void {
  try {
    parser.write(text)
  } catch (error) {
    // Errors of the parser are plain; those of the events are of classes of their own.
    throw Object.getPrototypeOf(error) === Error.prototype ? new UnreadableArchive('is damaged', { cause: error }) : error
  }
}

/** The name without its prefix: `x:row` is `row`. */
const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/** The attribute with a prefix, such as `r:id` beside `id`, which is another attribute. */
export const prefixed = (attributes: Attributes, name: string): string | undefined =>
  Object.entries(attributes).find(([key]) => key !== name && localName(key) === name)?.[1]

const DECLARED = /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/

/** A byte order mark decides, then the declaration; XML without either is UTF-8. */
function decoderOf(begin: Buffer): TextDecoder {
  const mark = begin.subarray(0, 2).toString('latin1')
  if (mark === '\xff\xfe' || mark === '<\0') return new TextDecoder('utf-16le')
  if (mark === '\xfe\xff' || mark === '\0<') return new TextDecoder('utf-16be')
  const declared = DECLARED.exec(begin.subarray(0, 200).toString('latin1'))?.[1] ?? 'utf-8'
  try {
    // A declaration of UTF-16 that can be read as ASCII is wrong.
    return new TextDecoder(/^utf-?16/i.test(declared) ? 'utf-8' : declared)
  } catch (error) {
    throw new UnreadableArchive('is damaged', { cause: error })
  }
}
