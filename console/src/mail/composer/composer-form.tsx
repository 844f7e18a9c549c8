/** The fields of a mail, and what can be done with it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import type { ComposerProps } from '../../record/record-parts.ts'
import { useClient } from '../../session/client.ts'
import { useLive } from '../../session/live/use-live.ts'
import type { Me } from '../../session/me.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { useKeys } from '../../ui/keys/keys.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { newestAnswerQuery, senderOptionsQuery } from '../draft/beginning.ts'
import { inputOf, type MailDraft } from '../draft/mail-draft.ts'
import { problemText } from '../draft/problem-words.ts'
import type { MailInWork } from '../draft/use-mail-draft.ts'
import { SubjectField } from '../editor/subject-field.tsx'
import { tokenFields } from '../editor/token-fields.ts'
import { RecipientFields } from '../recipients/recipient-fields.tsx'
import type { Sending } from '../sending/use-sending.ts'
import { Attachments } from './attachments.tsx'
import { ComposerFoot } from './composer-foot.tsx'
import { SenderField } from './sender-field.tsx'
import { SignatureField } from './signature-field.tsx'
import { useAttachments } from './use-attachments.ts'

const MessageField = lazyPart(async () => ({ default: (await import('../editor/message-field.tsx')).MessageField }))

interface Props {
  place: ComposerProps
  me: Me
  work: MailInWork
  sending: Sending
  close(): void
}

export function ComposerForm({ place, me, work, sending, close }: Props) {
  const client = useClient()
  const queries = useQueryClient()
  const { mail, now } = work
  const newest = useQuery(newestAnswerQuery(client, place.tableId, place.recordId)).data
  const form = useRef<HTMLFormElement>(null)
  const options = useQuery(senderOptionsQuery(client, place.tableId)).data ?? []
  const { record, definition } = place
  const fields = useMemo(() => tokenFields({ record, definition }), [record, definition])
  const change = (changes: Partial<MailDraft>) => {
    sending.forget()
    work.change(changes)
  }
  const uploads = useAttachments(
    place,
    () => now().files,
    (files) => change({ files }),
  )
  const isBusy = sending.phase !== 'writing'
  useFocusAfter(form, isBusy)
  useEffect(() => void form.current?.parentElement?.scrollIntoView({ block: 'nearest' }), [])
  useProblemFocus(form, sending)
  const input = inputOf(mail, place, null)
  useLive(
    (event) => {
      if (event.type !== 'reset' && event.record_id !== place.recordId) return
      void queries.invalidateQueries({ queryKey: ['mail', 'newest answer', place.tableId, place.recordId] }, { cancelRefetch: false })
    },
    { types: ['comment'] },
  )
  useKeys(composerTexts.page, [{ keys: 'Ctrl+Enter', does: composerTexts.send }])

  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return
    event.preventDefault()
    event.stopPropagation()
    // An address that is typed to its end is put into its list first, as by leaving the field.
    void sending.send()
  }
  const problem = (at: Parameters<typeof problemText>[1]) => problemText(sending.problems, at, mail)
  const [isOver, setOver] = useState(false)
  // The focus begins where something is to be written.
  const [first] = useState(() => (mail.to.chosen.length === 0 ? 'to' : mail.subject ? 'message' : 'subject'))
  return (
    <form
      ref={form}
      className="composer-form"
      data-over={isOver ? composerTexts.dropHere : undefined}
      aria-busy={isBusy}
      noValidate
      onSubmit={(event) => event.preventDefault()}
      onKeyDownCapture={keyDown}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false)
        if (!event.dataTransfer.files.length || event.defaultPrevented) return
        event.preventDefault()
        uploads.add([...event.dataTransfer.files])
      }}
      onPaste={(event) => {
        const { files, types } = event.clipboardData
        if (!files.length || event.defaultPrevented || types.includes('text/html')) return
        event.preventDefault()
        uploads.add([...files])
      }}
    >
      <div className="composer-fields" inert={isBusy}>
        <SenderField {...{ options, me, mail, change }} role={place.role} problem={problem('from')} spaceId={place.spaceId} />
        <RecipientFields {...{ place, mail, change, problem }} isFocused={first === 'to'} isSaid={sending.warnings !== null} />
        <SubjectField value={mail.subject} change={(subject) => change({ subject })} fields={fields} isFocused={first === 'subject'} />
        <MessageField
          fallback={<div className="message message-waiting" />}
          body={mail.body}
          revision={work.draft.revision}
          fields={fields}
          isFocused={first === 'message'}
          changed={(body) => change({ body })}
          files={uploads.add}
        />
        <SignatureField signature={mail.signature} change={(signature) => change({ signature })} />
        <Attachments
          {...{ place, files: mail.files, sending: uploads.sending, add: uploads.add }}
          problem={problem('files')}
          change={(next) => change({ files: next(now().files) })}
        />
      </div>
      <ComposerFoot
        {...{ me, work, sending, change, close, input }}
        newer={newest && newest.id > mail.seen ? newest : null}
        isUploading={uploads.isBusy}
        problem={problem('later')}
      />
    </form>
  )
}

/** While the mail is on its way nothing can be changed; then the focus is where it was. */
function useFocusAfter(form: React.RefObject<HTMLFormElement | null>, isBusy: boolean): void {
  const before = useRef<Element | null>(null)
  useEffect(() => {
    const remember = ({ target }: FocusEvent) => {
      if (target instanceof HTMLElement && form.current?.contains(target)) before.current = target
    }
    document.addEventListener('focusin', remember)
    return () => document.removeEventListener('focusin', remember)
  }, [form])
  useEffect(() => {
    if (isBusy || document.activeElement !== document.body) return
    if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus({ preventScroll: true })
  }, [isBusy])
}

/** The focus goes to the first field that is wrong. */
function useProblemFocus(form: React.RefObject<HTMLFormElement | null>, { problems }: Sending): void {
  useEffect(() => {
    if (problems.length) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [form, problems])
}
