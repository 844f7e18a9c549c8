/** The codes of SMTP in the words of a mail server: the reply code (RFC 5321) and the enhanced status code (RFC 3463). */

export interface ReplyCodes {
  /** The reply code of the server, such as 550. */
  code: string | null
  /** The enhanced status code, such as 5.1.1. */
  status: string | null
}

/** The reply codes of failures that servers send. Other numbers of three digits are not codes. */
const REPLIES = '4(?:2[0126]|3[0-4]|4[0-79]|5\\d|7[0-2])|5(?:0[0-4]|1[0-7]|2[0-5]|3[0-58]|4[0-7]|5[0-9]|7[0-2]|9[89])'
const ENHANCED = '[45]\\.\\d\\.\\d{1,3}'
/** `550 5.1.1`, `550-5.1.1`, `550 #5.1.1`, and `550: 5.1.1` */
const BOTH = new RegExp(`(?<![\\d.])(${REPLIES})[- :#('"]{1,3}(${ENHANCED})(?![\\d.]*\\d)`, 'g')
/** The reply of another server inside of a reply: `554 <ann@example.org>... 550 Host unknown` */
const NESTED = new RegExp(`\\.\\.\\. (${REPLIES}) `)
const REPLY = new RegExp(`(?<![\\w./@#=$%+-]|\\d:)(${REPLIES})(?=[-\\s:,;)\\]'"]|$)(?!\\s*(?:bytes|kb|mb|k\\b|seconds|messages))`, 'i')
const STATUS = new RegExp(`(?<![\\d.])(${ENHANCED})(?![\\d.]*\\d)`, 'g')

/** True for a status that says only that something failed. */
export const isGeneral = (status: string | null): boolean => status === null || status.endsWith('.0.0')

/** The codes in a text. A status that names the cause goes before one that does not, such as 5.0.0. */
export function codesIn(text: string): ReplyCodes {
  const pairs = [...text.matchAll(BOTH)]
  // Of a mail that was tried for days, the words of the other server are the cause.
  const [, code = null, paired = null] = pairs.find(([, , found]) => !found?.endsWith('.4.7')) ?? pairs[0] ?? []
  const statuses = text.match(STATUS) ?? []
  const status = isGeneral(paired) ? (statuses.find((found) => !isGeneral(found)) ?? paired ?? statuses[0] ?? null) : paired
  return { code: code ?? NESTED.exec(text)?.[1] ?? REPLY.exec(text)?.[1] ?? null, status }
}
