/** The mail that is being written on a record: the kept draft, or what a new one begins with. */
import { useRef } from 'react'
import type { RecordPlace } from '../../record/record-parts.ts'
import { type Draft, useDraft } from '../../session/drafts/use-draft.ts'
import type { Beginning } from './beginning.ts'
import { isUnwritten, type MailDraft, readDraft } from './mail-draft.ts'

export interface MailInWork {
  draft: Draft<MailDraft>
  mail: MailDraft
  /** Takes changes of the mail as it is at this moment. */
  change(changes: Partial<MailDraft>): void
  /** The mail at this moment, also after a pause. */
  now(): MailDraft
  /** True if the kept draft is another mail than the address asks for. */
  isOther: boolean
}

const draftName = ({ tableId, recordId }: Pick<RecordPlace, 'tableId' | 'recordId'>): `draft.${string}` =>
  `draft.mail.${tableId}.${recordId}`

export function useMailDraft(place: RecordPlace, compose: string, beginning: Beginning): MailInWork {
  const draft = useDraft(draftName(place), readDraft)
  const begun = useRef(beginning.draft)
  const now = () => draft.now().value ?? begun.current
  const mail = draft.value ?? begun.current
  const change = (changes: Partial<MailDraft>) => {
    const next = { ...now(), ...changes }
    // What is as it began is no draft: it would be in the way of the next mail.
    if (JSON.stringify(next) === JSON.stringify(begun.current)) draft.clear()
    else draft.set(next)
  }
  const isOther = draft.value !== null && compose !== 'mail' && draft.value.compose !== compose && !isUnwritten(draft.value)
  return { draft, mail, change, now, isOther }
}
