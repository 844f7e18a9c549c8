/** The rows of the lists that a timeline is joined of, as the API answers them, and its entries. */
import type { Client } from 'gridpost-client'

type AnswerOf<Call extends (...input: never) => unknown> = Awaited<ReturnType<Call>>

export type CommentRow = AnswerOf<Client['comments']['list']['query']>['rows'][number]
export type ChangeRow = AnswerOf<Client['records']['history']['query']>['rows'][number]
export type TaskRow = AnswerOf<Client['tasks']['createOnRecord']['mutate']>
export type Undone = AnswerOf<Client['records']['undo']['mutate']>

interface Rows {
  comment: CommentRow
  email_out: CommentRow
  email_in: CommentRow
  change: ChangeRow
  task: TaskRow
}

export type Kind = keyof Rows

/** An entry of one kind. The same row is always the same object. */
export interface EntryOf<One extends Kind> {
  kind: One
  /** A name that no other entry of the record has. */
  key: string
  /** The instant by which it is ordered. */
  at: string
  row: Rows[One]
}
export type Entry = { [One in Kind]: EntryOf<One> }[Kind]
