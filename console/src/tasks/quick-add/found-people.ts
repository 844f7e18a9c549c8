/** Finds people who are named with an @ in a line of text. */

export interface Person {
  id: number
  name: string
  email: string | null
}

/** The text after an @ at the beginning of a word, up to the next one. */
export interface Mention {
  /** Where the @ is. */
  start: number
  /** The first word, without the @. */
  word: string
  /** The whole rest of the line, in which a name may have several words. */
  rest: string
}

export const mentionsIn = (line: string): Mention[] =>
  [...line.matchAll(/(?<![\p{L}\p{N}._-])@([^\s@]+@[^\s@]+|[^\s@]*)/gu)].map(({ index, 1: word = '' }) => ({
    start: index,
    word,
    rest: line.slice(index + 1),
  }))

/** Who is meant: one person with the length of their name in the text, several, or nobody. */
export type Meant = { person: Person; length: number } | { several: Person[] } | null

export function personMeant({ word, rest }: Mention, people: readonly Person[], me: Person): Meant {
  if (plain(word) === 'me') return { person: me, length: word.length }
  const typed = withoutPoint(word)
  const addressed = people.find(({ email }) => email !== null && plain(email) === plain(typed))
  if (addressed) return { person: addressed, length: typed.length }
  const named = people.filter(({ name }) => isBeginningOf(name, rest)).toSorted((one, other) => other.name.length - one.name.length)
  const longest = named.filter(({ name }) => name.length === named[0]?.name.length)
  if (longest[0]) return onlyOne(longest, longest[0].name.length)
  if (!typed) return null
  const byWord = people.filter(({ name }) => wordsOf(name).includes(plain(typed)))
  if (byWord.length) return onlyOne(byWord, typed.length)
  const begun = typed.length > 1 ? people.filter(({ name }) => wordsOf(name).some((one) => one.startsWith(plain(typed)))) : []
  return begun.length ? onlyOne(begun, typed.length) : null
}

const onlyOne = (people: Person[], length: number): Meant =>
  people.length === 1 && people[0] ? { person: people[0], length } : { several: people }

/** A point or a comma after a name belongs to the sentence. */
const withoutPoint = (word: string) => word.replace(/[.,;:!?]+$/, '')

const isBeginningOf = (name: string, text: string) =>
  name !== '' && plain(text.slice(0, name.length)) === plain(name) && !/^[\p{L}\p{N}]/u.test(text.slice(name.length))

const wordsOf = (name: string) => plain(name).split(/[\s-]+/)

/** Without accents and capitals, as people type in a hurry. */
const plain = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase('en')
