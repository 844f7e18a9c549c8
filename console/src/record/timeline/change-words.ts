/** A change of a record in words. */
import { timelineTexts } from '../../texts/record/timeline.ts'
import type { ChangeRow, Undone } from './rows.ts'

/** Who has made a change: a person, a key by its name, or the service itself. */
export function authorOf({ user_name, api_key_id }: Pick<ChangeRow, 'user_name' | 'api_key_id'>): { name: string; isKey: boolean } {
  if (api_key_id === null) return { name: user_name ?? timelineTexts.somebody, isKey: false }
  return { name: (user_name ?? '').replace(/^API: /, ''), isKey: true }
}

/** What was done, as the rest of a sentence that begins with the name of its author. */
export function deedOf({ kind, records, changes = [] }: ChangeRow): string {
  const others = records - 1
  const fields = changes.map(({ name }) => name)
  const more = others > 0 ? timelineTexts.ofRecords(others) : ''
  switch (kind) {
    case 'create':
      return `${timelineTexts.created}${more}`
    case 'delete':
      return `${timelineTexts.deleted}${more}`
    case 'restore':
      return `${timelineTexts.restored}${more}`
    case 'undo':
      return `${fields.length ? timelineTexts.undid(timelineTexts.fields(fields)) : timelineTexts.undidAll}${more}`
    default:
      return `${fields.length ? timelineTexts.changed(timelineTexts.fields(fields)) : timelineTexts.changedNothing}${more}`
  }
}

/** Whether the service would take the change back for this person. It has the last word. */
export function mayUndo({ kind, user_id }: ChangeRow, me: number, role: 'admin' | 'member' | 'viewer'): boolean {
  if (kind !== 'update' && kind !== 'undo') return false
  return role === 'admin' || (role === 'member' && user_id === me)
}

const MOST_NAMED = 3

/** What an undo has done, and what it has left as it is, and why. */
export function undoneWords(done: Undone, recordId: number, nameOf: (field: string) => string): string {
  if ('job_id' in done) return timelineTexts.undoBegan
  const { undone, skipped, skips } = done
  const result = undone ? timelineTexts.undone : timelineTexts.notUndone
  if (!skipped) return result
  const named = skips.slice(0, MOST_NAMED).map(({ record_id, field, reason }) => {
    const record = record_id === recordId ? null : record_id
    return timelineTexts.left(record, field === null ? null : nameOf(field), reason)
  })
  const more = skipped - named.length
  return `${result} ${timelineTexts.leftOut([...named, ...(more > 0 ? [timelineTexts.more(more)] : [])])}`
}
