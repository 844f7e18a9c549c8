/**
 * What a page has not saved when it ends, whatever ends it: edits that wait or are on their way, rows that are not stored, texts that were
 * refused, and the text of an editor that is open. The browser keeps it, so that the next page of the person that shows the table goes on.
 */
import { keepCopy, leftCopies, PAGE } from '../../session/drafts/local-copies.ts'
import { signedInUser } from '../../session/session.ts'
import type { Row } from '../pages/row.ts'
import type { Edit, RefusedCell } from './edit.ts'

/** An edit with the key under which it may have been sent, so that it is not done twice. */
export type LeftEdit = Pick<Edit, 'key' | 'label' | 'records' | 'creates'>

export interface TypedText {
  id: number
  field: string
  text: string
}

export interface Left {
  edits: readonly LeftEdit[]
  typed: TypedText | null
  refused: readonly RefusedCell[]
  /** Rows that are not stored, each with the key under which it is sent. */
  rows: readonly { row: Row; key: string }[]
}

const nameOf = (tableId: number) => `edits.${tableId}`

/** Keeps these in place of what was kept before; nothing if there are none. */
export function keepLeft(tableId: number, left: Left): void {
  const owner = signedInUser()
  if (owner === null) return
  const edits = left.edits.map(({ key, label, records, creates }): LeftEdit => ({ key, label, records, creates }))
  const kept = { value: { ...left, edits }, key: '', by: PAGE }
  keepCopy(owner, nameOf(tableId), isNothing(left) ? null : { kept, version: 0, isNew: true })
}

export const isNothing = ({ edits, typed, refused, rows }: Left): boolean =>
  edits.length === 0 && typed === null && refused.length === 0 && rows.length === 0

/** What pages have left that are gone, the oldest first. @param takeOver keeps it as what this page has not saved */
export async function takeLeft(tableId: number, takeOver: (left: Left) => void): Promise<void> {
  const owner = signedInUser()
  if (owner === null) return
  for (const { copy, forget } of await leftCopies<Partial<Left>>(owner, nameOf(tableId))) {
    const { edits = [], typed = null, refused = [], rows = [] } = copy.kept?.value ?? {}
    takeOver({ edits, typed, refused, rows })
    forget()
  }
}
