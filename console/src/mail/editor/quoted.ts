/** A mail that is quoted, cleaned and of a bearable length. */
import { type BodyPart, bodyOf, inert } from './body.ts'
import { bodyOfHtml, bodyWithTokens, textOfHtml } from './pasted.ts'

/** What is longer is quoted as text: its look is not worth the time to read it. */
const LONGEST_HTML = 300_000
/** A draft is kept with all of its body, and is sent with it once more. */
const LONGEST_JSON = 60_000
const LONGEST_TEXT = 20_000

/** @param html null for a mail that has none */
export function quotedBody(html: string | null, text: string): BodyPart[] {
  const rich = html !== null && html.length <= LONGEST_HTML ? bodyOfHtml(html).content : undefined
  if (rich?.length && JSON.stringify(rich).length <= LONGEST_JSON) return rich.map(inert)
  const plain = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} …` : text
  return bodyOf(plain.replace(/\r\n?/g, '\n').trim()).content?.map(inert) ?? []
}

/** A mail that was written here, with its tokens. One that is too long for a draft comes as the beginning of its text. */
export function bodyOfMail(html: string): BodyPart {
  const rich = html.length <= LONGEST_HTML ? bodyWithTokens(html) : null
  if (rich && JSON.stringify(rich).length <= LONGEST_JSON) return rich
  return bodyOf(`${textOfHtml(html).slice(0, LONGEST_TEXT)} …`)
}
