/** Tokens such as `{{field:company}}`, in whose place a mail has the record's value (contract.md §6, Tokens, and §8). */

export interface Token {
  slug: string
  /** Such as `iso` or `url`; empty for the form for people. */
  form: string
}

const TOKEN = /\{\{\s{0,9}field\s{0,9}:\s*([^{}|]{1,100}?)\s*(?:\|\s*([^{}|]{1,20}?)\s*)?\}\}/i
const EVERY_TOKEN = new RegExp(TOKEN.source, 'gi')

/** The token that the text is; null if it is none. */
export function readToken(text: string): Token | null {
  const [whole, slug, form = ''] = TOKEN.exec(text) ?? []
  return whole === text && slug ? { slug: slug.toLowerCase(), form: form.toLowerCase() } : null
}

export const tokenText = ({ slug, form }: Token): string => `{{field:${slug}${form && `|${form}`}}}`

/** The text in parts: plain ones, and tokens. */
export function partsOf(text: string): (string | Token)[] {
  const parts: (string | Token)[] = []
  let end = 0
  for (const match of text.matchAll(EVERY_TOKEN)) {
    const token = readToken(match[0])
    if (!token) continue
    if (match.index > end) parts.push(text.slice(end, match.index))
    parts.push(token)
    end = match.index + match[0].length
  }
  if (end < text.length) parts.push(text.slice(end))
  return parts
}

/**
 * The text of somebody else without tokens: the service would put values of the record into the place of those that a stranger wrote. An
 * invisible character between the braces leaves the text as it looks.
 */
export const withoutTokens = (text: string): string => text.replace(/\{(?=\{)/g, '{\u2060')

/** What is typed of a token before the caret, after its `{{`. Null if nobody is typing one. */
export function typedToken(before: string): string | null {
  const typed = /\{\{([^{}\n]{0,40})$/.exec(before)?.[1]
  return typed === undefined ? null : typed.replace(/^\s*field\s*:/i, '').trim()
}
