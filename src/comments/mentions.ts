/** Mentions inside a comment: `@{<user_id>:<display_name>}` (api.md, Task comment). */
import { MAX_ID } from '../platform/http/schemas.ts'

const TOKEN = /@\{(\d{1,10}):([^{}\r\n]{1,200})\}/g

/** The ids that a text mentions, each once, in order. A token that is half-written or names no id stays text. */
export function mentionedIds(content: string): number[] {
  const ids = [...content.matchAll(TOKEN)].map(([, id]) => Number(id)).filter((id) => id > 0 && id <= MAX_ID)
  return [...new Set(ids)]
}

/** The text as a person reads it: tokens become `@<display_name>`. */
const withMentionsAsNames = (content: string): string => content.replaceAll(TOKEN, '@$2')

const MAX_EXCERPT = 200

/** The beginning of a comment, on one line, with its mention tokens as names. */
export function excerpt(content: string): string {
  const text = withMentionsAsNames(content).replaceAll(/\s+/g, ' ').trim()
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT - 1).trimEnd()}…`.toWellFormed() : text
}
