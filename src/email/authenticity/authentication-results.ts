/** The header in which a mail server says what its checks of the sender gave (RFC 8601). */
import type { Header } from 'postal-mime'
import { headerValues } from '../headers.ts'

/** The result of each check, such as `pass`, `fail` or `none`; null if it was not made. */
export interface SenderAuthentication {
  spf: string | null
  dkim: string | null
  dmarc: string | null
  arc: string | null
}

/**
 * The results in the topmost header of the server. All others are ignored, because anybody can write them.
 * @param authservId the name by which the server calls itself in the header, in lower case; undefined if no server is trusted
 */
export function authenticationResults(headers: Header[], authservId: string | undefined): SenderAuthentication | null {
  if (!authservId) return null
  for (const value of headerValues(headers, 'authentication-results')) {
    const [id = '', ...results] = bare(value).split(';')
    if (id.trim().split(/\s+/)[0]?.toLowerCase() === authservId) return resultsIn(results)
  }
  return null
}

function resultsIn(texts: string[]): SenderAuthentication {
  const results = texts.flatMap((text) => {
    const [, method = '', result = ''] = /^\s*([a-z-]+)\s*(?:\/\s*\d+\s*)?=\s*([a-z]+)/i.exec(text) ?? []
    return method ? [{ method: method.toLowerCase(), result: result.toLowerCase() }] : []
  })
  const of = (method: string) => bestOf(results.flatMap((one) => (one.method === method ? [one.result] : [])))
  return { spf: of('spf'), dkim: of('dkim'), dmarc: of('dmarc'), arc: of('arc') }
}

/** A message may have several DKIM signatures, of which one that passes suffices. */
export const bestOf = (results: string[]): string | null => (results.includes('pass') ? 'pass' : (results[0] ?? null))

/** The value without its comments, and without what has a meaning outside of quoted strings: a sender may choose the text of both. */
function bare(value: string): string {
  const token = /\(|"(?:[^"\\]|\\.)*"?|[^"(]+/gsy
  let text = ''
  for (let found = token.exec(value)?.[0]; found; found = token.exec(value)?.[0]) {
    if (found === '(') token.lastIndex = endOfComment(value, token.lastIndex)
    else text += found.startsWith('"') ? found.replaceAll('"', '').replaceAll(/[^\w.@-]/g, '_') : found
  }
  return text
}

/** Comments may contain comments. One that does not end extends to the end of the value. */
function endOfComment(value: string, start: number): number {
  let depth = 1
  for (const { 0: found, index } of value.slice(start).matchAll(/\\.|[()]/gs)) {
    if (found === '(') depth++
    if (found === ')' && --depth === 0) return start + index + 1
  }
  return value.length
}
