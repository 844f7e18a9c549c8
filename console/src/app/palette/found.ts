/** What the palette finds, in the order in which it is shown. */
import type { IconName } from '../../ui/icons/icon-paths.ts'

export interface Found {
  id: string
  kind: 'table' | 'view' | 'record' | 'task' | 'page' | 'action'
  name: string
  /** What tells it apart from others of its name, such as the space. */
  beside?: string | undefined
  keys?: string | undefined
  icon: IconName
  run: () => void
}

/** Those whose name has every word that is typed, the ones that begin with it first; without a text all, as they are. */
export function fitting(found: readonly Found[], text: string): readonly Found[] {
  const words = plain(text).split(/\s+/).filter(Boolean)
  if (!words.length) return found
  return found
    .map((one) => ({ one, rank: rankOf(plain(`${one.name} ${one.beside ?? ''}`), words) }))
    .filter(({ rank }) => rank < NONE)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ one }) => one)
}

const NONE = 3

/** 0: begins with what is typed; 1: a word does; 2: has it somewhere. */
function rankOf(name: string, words: readonly string[]): number {
  if (!words.every((word) => name.includes(word))) return NONE
  if (name.startsWith(words[0] ?? '')) return 0
  return words.every((word) => name.startsWith(word) || name.includes(` ${word}`)) ? 1 : 2
}

/** Without accents and capitals, as people type in a hurry. */
const plain = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase('en')
