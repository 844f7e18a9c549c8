/** What stands on the timeline of a record, and how each kind of entry is shown. */
import type { ComponentType } from 'react'
import type { Field, Place } from '../../cells/kind.ts'
import type { RecordPlace } from '../record-parts.ts'
import type { CommentRow, Entry, EntryOf, Kind } from './rows.ts'

export type { Entry, EntryOf, Kind } from './rows.ts'

/** What entries know of their surroundings. */
export interface EntryPlace extends RecordPlace {
  /** The zone, the language and the time of the reader. */
  reader: Place
  fieldOf(id: string): Field | undefined
  /** A comment or mail of the record, if it has been read. */
  rowOf(id: number): CommentRow | undefined
  /** True while the address names this entry. */
  isMarked: boolean
  /** Comments with changes that were typed and not saved when the page was last closed. */
  leftEdits: Set<number>
  /** Reads an entry again that was changed here. Changes by others are read by themselves. */
  changed(entry: Entry): void
  /** Takes an entry away that was deleted here. */
  removed(entry: Entry): void
  /** Keeps an entry in the page while somebody writes in it, wherever the timeline is scrolled. */
  keep(entry: Entry, isKept: boolean): void
}

export interface ShownProps<One extends Kind> {
  entry: EntryOf<One>
  place: EntryPlace
}

/** How entries of a kind are shown: inside of the article that the timeline makes for them. */
export interface ShownKind<One extends Kind> {
  kind: One
  Shown: ComponentType<ShownProps<One>>
  /** The name of the article, such as `Comment by Ann`. */
  label(entry: EntryOf<One>, place: RecordPlace): string
}
export type EntryKind = { [One in Kind]: ShownKind<One> }[Kind]
