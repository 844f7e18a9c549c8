/** A comment while it is written: people who are mentioned are shown by their names, and sent as `@{<id>:<name>}`. */

interface Mention {
  /** Where `@` stands. */
  at: number
  id: number
  name: string
}

export interface MentionText {
  text: string
  /** In the order of the text. */
  mentions: readonly Mention[]
}

export const TOKEN = /@\{(\d{1,10}):([^{}\r\n]{1,200})\}/g
const MOST_OF_NAME = 200

/** What is written, from the text of a comment as the API has it. */
export function fromContent(content: string): MentionText {
  const mentions: Mention[] = []
  let text = ''
  let end = 0
  for (const { index, 0: token, 1: id, 2: name = '' } of content.matchAll(TOKEN)) {
    text += content.slice(end, index)
    mentions.push({ at: text.length, id: Number(id), name })
    text += `@${name}`
    end = index + token.length
  }
  return { text: text + content.slice(end), mentions }
}

/** The text of the comment as the API takes it. */
export function toContent({ text, mentions }: MentionText): string {
  let content = ''
  let end = 0
  for (const { at, id, name } of mentions) {
    content += `${text.slice(end, at)}@{${id}:${name}}`
    end = at + 1 + name.length
  }
  return content + text.slice(end)
}

/** What is written after the text was changed in one place: a mention that was changed is one no more. */
export function edited({ text, mentions }: MentionText, next: string): MentionText {
  const most = Math.min(text.length, next.length)
  let before = 0
  while (before < most && text[before] === next[before]) before += 1
  let after = 0
  while (after < most - before && text[text.length - 1 - after] === next[next.length - 1 - after]) after += 1
  const [from, to] = [before, text.length - after]
  const by = next.length - text.length
  const left = mentions.flatMap((mention) => {
    const end = mention.at + 1 + mention.name.length
    if (end <= from) return mention
    return mention.at >= to ? { ...mention, at: mention.at + by } : []
  })
  return { text: next, mentions: left }
}

/** Puts a person in the place of a part of the text. @returns what is written then, and where the caret goes */
export function withMention(
  { text, mentions }: MentionText,
  { from, to }: { from: number; to: number },
  person: { id: number; name: string },
): { written: MentionText; caret: number } {
  const name = nameOf(person)
  const rest = text.slice(to)
  const space = /^\s/.test(rest) ? '' : ' '
  const put = `@${name}${space}`
  const left = mentions.filter(({ at, name: of }) => at + 1 + of.length <= from || at >= to)
  const moved = left.map((mention) => (mention.at >= to ? { ...mention, at: mention.at + put.length - (to - from) } : mention))
  const all = [...moved, { at: from, id: person.id, name }].sort((one, other) => one.at - other.at)
  return { written: { text: text.slice(0, from) + put + rest, mentions: all }, caret: from + 1 + name.length + 1 }
}

/** The name as a token can have it. */
const nameOf = ({ id, name }: { id: number; name: string }) =>
  name
    .replaceAll(/[{}\r\n]/g, ' ')
    .slice(0, MOST_OF_NAME)
    .toWellFormed()
    .trim() || String(id)

const MOST_OF_SEARCH = 40
const MOST_WORDS = 3

/** The name that is being typed at the caret after `@`; null if none is. An address such as ann@example.com names nobody. */
export function searchAt({ text, mentions }: MentionText, caret: number): { from: number; search: string } | null {
  const start = Math.max(0, caret - MOST_OF_SEARCH)
  const from = text.lastIndexOf('@', caret - 1)
  if (from < start || /[\p{L}\p{N}_.]/u.test(text[from - 1] ?? '')) return null
  if (mentions.some(({ at }) => at === from)) return null
  const search = text.slice(from + 1, caret)
  return /[\r\n]|\s\s|^\s/.test(search) || search.split(' ').length > MOST_WORDS ? null : { from, search }
}
