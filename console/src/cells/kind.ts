/** What cells hold, and what is asked of a type of field without a page: grids and the record panel ask this and never a type's name. */

import type { Client } from 'gridpost-client'

export type { Client }

/** A field as `tables.get` answers it. */
export type Field = Awaited<ReturnType<Client['tables']['get']['query']>>['fields'][number] & {
  /** Present for a field of a linked record, such as `company.city`. Through a multi_lookup a cell holds a list of its values. */
  linked?: 'one' | 'many'
}

export interface Person {
  id: number
  name: string
  /** Null for a user who was erased. */
  email: string | null
}
export interface Link {
  id: number
  title: string | null
}
export interface StoredFile {
  name: string
  path: string
  size: number
  type: string
  host: string
}

/** A cell as `records.query` answers it and as `records.update` takes it. A number that JavaScript would change is decimal text. */
export type Value =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | Person
  | readonly Person[]
  | Link
  | readonly Link[]
  | readonly StoredFile[]

/** What the meaning of a text depends on. */
export interface Place {
  /** The name of the user's time zone, such as Europe/Berlin. */
  zone: string
  /** The language tag that decides how numbers and dates are written, such as de-AT. */
  locale: string
  now: Date
}

/** Where an editor is. */
export interface Surroundings extends Place {
  client: Client
  spaceId: number
  tableId: number
  /** Null for a record that is not stored yet. */
  recordId: number | null
  me: Person
}

/** The value that a text stands for, or what is wrong with it, as a sentence. */
export type Parsed = { value: Value } | { problem: string }

/** Where the focus goes after an edit. */
export type Move = 'down' | 'up' | 'right' | 'left' | 'stay'

/** The values of a type as text. It needs no page, so that it can be tried without one. */
export interface CellText {
  align: 'left' | 'right'
  /** The value as plain text, for the clipboard and for messages. */
  toText(value: Value, field: Field, place: Place): string
  /** The value as HTML for the clipboard, with every character of the value escaped. */
  toHtml(value: Value, field: Field, place: Place): string
  /** Reads a text that was typed or pasted. Null if only the service knows what it means (`parseAll`). An empty text empties the cell. */
  parse(text: string, field: Field, place: Place): Parsed | null
  /** Reads many texts of a column with few requests. Only for types whose texts name something that the service knows. */
  parseAll?(texts: readonly string[], field: Field, surroundings: Surroundings): Promise<Parsed[]>
  filled(value: Value): boolean
  /** The value after Space, Enter or a click; only for types that need no editor. */
  toggled?(value: Value): Value
  /** True if files can be dropped and pasted onto a cell. */
  takesFiles?: boolean
}
