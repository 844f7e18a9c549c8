/** Chooses the parts that are shown as the text of a message, so that it is never empty while the message has words for a person. */
import { decodeWords } from 'postal-mime'
import { textOfHtml } from '../../platform/mail/html-text.ts'
import { calendarText } from '../enclosures/calendar.ts'
import { hasWords } from '../quoting/words.ts'
import { fileNameOf, isMarkedAttachment, isText, leavesOf, type MimeNode, madeLeaf, textOf, typeOf } from './tree.ts'

export interface OtherTexts {
  /** Texts within parts that are unpacked. */
  made: readonly MimeNode[]
  /** The words of a message in the message, with its sender and its subject. */
  textOfMessage(content: ArrayBuffer): Promise<string>
}

/** The leaves that are shown. A text that was made for this gets its place in the tree; a form of the body without words is left out. */
export async function textsToShow(root: MimeNode, others: OtherTexts): Promise<ReadonlySet<MimeNode>> {
  const leaves = leavesOf(root)
  const shown = new Set(withoutBlankForms(leaves.filter(isShown)))
  const isComplete = others.made.length === 0 && !leaves.some((leaf) => !shown.has(leaf) && isReadable(leaf))
  if (isComplete || [...shown].some(hasWordsIn)) return shown
  const all = new Set(leaves)
  for (const form of FORMS) {
    const found = (await form({ root, leaves, ...others })).filter(hasWordsIn)
    if (!found.length) continue
    for (const leaf of found) {
      if (!all.has(leaf)) leaf.parentNode?.childNodes.push(leaf)
      if (!isText(leaf)) makePlain(leaf)
    }
    return new Set([...shown, ...found])
  }
  return shown
}

function makePlain(leaf: MimeNode): void {
  leaf.content = new Uint8Array(Buffer.from(textOf(leaf))).buffer
  leaf.contentType.parsed = { value: 'text/plain', params: { charset: 'utf-8' } }
}

/** True for text that is no file. Some programs name the forms of a body, too. */
const isShown = (node: MimeNode): boolean => isText(node) && !isMarkedAttachment(node) && !isNamed(node)

function isNamed(node: MimeNode): boolean {
  const { multipart } = node.parentNode?.contentType ?? {}
  return fileNameOf(node) !== '' && (!multipart || multipart === 'mixed')
}

/** Takes away plain texts without words beside HTML that has some. */
function withoutBlankForms(shown: MimeNode[]): MimeNode[] {
  const withHtml = new Set(shown.filter((leaf) => typeOf(leaf) === 'text/html' && formsAround(leaf) && hasWordsIn(leaf)).map(formsAround))
  const isBlank = (leaf: MimeNode) => typeOf(leaf) === 'text/plain' && withHtml.has(formsAround(leaf)) && !hasWords(textOf(leaf))
  const blank = new Set(withHtml.size ? shown.filter(isBlank) : [])
  for (const leaf of blank) leaf.content = null
  return shown.filter((leaf) => !blank.has(leaf))
}

function formsAround(node: MimeNode): MimeNode | undefined {
  let around = node.parentNode
  while (around && around.contentType.multipart !== 'alternative') around = around.parentNode
  return around
}

const MAX_HTML = 1_048_576

function hasWordsIn(leaf: MimeNode): boolean {
  const text = textOf(leaf)
  return hasWords(typeOf(leaf) === 'text/html' ? textOfHtml(text.slice(0, MAX_HTML)) : text)
}

const isCalendar = (node: MimeNode): boolean => ['text/calendar', 'application/ics'].includes(typeOf(node))
const isMessage = (node: MimeNode): boolean => ['message/rfc822', 'message/global'].includes(typeOf(node))
const isReadable = (node: MimeNode): boolean => typeOf(node).startsWith('text/') || isCalendar(node) || isMessage(node)

/** Texts for programs. As the whole message they are shown all the same. */
const FOR_PROGRAMS = /^text\/((x-)?vcard|(x-)?vcalendar|directory|csv|css|(java|ecma)script|xml|rfc822-headers|x-amp-html|watch-html)$/

type Form = (message: OtherTexts & { root: MimeNode; leaves: MimeNode[] }) => MimeNode[] | Promise<MimeNode[]>

/** Where the words of a person are if no text is shown, the likeliest first. */
const FORMS: readonly Form[] = [
  ({ leaves }) => leaves.filter((leaf) => isText(leaf) && !isMarkedAttachment(leaf) && !isShown(leaf)).slice(0, 1),
  ({ root, leaves }) => leaves.filter((leaf) => isOtherText(leaf) && (leaf === root || !FOR_PROGRAMS.test(typeOf(leaf)))),
  ({ leaves }) => leaves.filter((leaf) => isText(leaf) && isMarkedAttachment(leaf) && !fileNameOf(leaf)),
  ({ made }) => [...made],
  ({ root, leaves }) =>
    leaves
      .filter(isCalendar)
      .map((leaf) => madeText(leaf, calendarText(textOf(leaf), headOf(root))))
      .slice(0, 1),
  ({ leaves }) =>
    leaves
      .filter((leaf) => isText(leaf) && isMarkedAttachment(leaf))
      .map(copied)
      .slice(0, 1),
  async ({ leaves, textOfMessage }) => {
    const message = leaves.find(isMessage)
    return message?.content ? [madeText(message, await textOfMessage(message.content))] : []
  },
]

/** A kind of text that mail programs do not know, and show as it is. */
const isOtherText = (node: MimeNode): boolean =>
  typeOf(node).startsWith('text/') && !isText(node) && !isCalendar(node) && !isMarkedAttachment(node) && !fileNameOf(node)

const madeText = (node: MimeNode, text: string): MimeNode =>
  madeLeaf(node, { type: 'text/plain', charset: 'utf-8', content: Buffer.from(text) })

/** The text of a file, which stays a file. */
const copied = (node: MimeNode): MimeNode => madeLeaf(node, { type: typeOf(node), charset: 'utf-8', content: Buffer.from(textOf(node)) })

function headOf({ headers }: MimeNode): { subject: string; year: number | undefined } {
  const field = (wanted: string) => headers.find(({ key }) => key === wanted)?.value ?? ''
  const year = new Date(field('date')).getUTCFullYear()
  return { subject: decodeWords(field('subject')), year: Number.isNaN(year) ? undefined : year }
}
