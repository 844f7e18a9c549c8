/** Mentions inside a comment: `@{<user_id>:<display_name>}` (api.md, Task comment). */
import { MAX_ID } from '../platform/row-ids.ts'

const TOKEN = /@\{(\d{1,10}):([^{}\r\n]{1,200})\}/g

/** The user ids that a text mentions, each once, in order. An incomplete token, or one whose number is no id, is plain text. */
export function mentionedIds(content: string): number[] {
  const ids = [...content.matchAll(TOKEN)].map(([, id]) => Number(id)).filter((id) => id > 0 && id <= MAX_ID)
  return [...new Set(ids)]
}

/** The user ids that an edit adds to those mentioned before. */
export function newlyMentionedIds(before: string, after: string): number[] {
  const known = new Set(mentionedIds(before))
  return mentionedIds(after).filter((id) => !known.has(id))
}

/** The text with `@<display_name>` in place of each token. */
const withMentionsAsNames = (content: string): string => content.replaceAll(TOKEN, '@$2')

const MAX_EXCERPT = 200

/** The beginning of a comment on one line, with names in place of mention tokens. */
export function excerpt(content: string): string {
  const text = withMentionsAsNames(content).replaceAll(/\s+/g, ' ').trim()
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT - 1).trimEnd()}…`.toWellFormed() : text
}
