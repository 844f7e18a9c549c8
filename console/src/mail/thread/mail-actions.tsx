/** What can be done with a mail: answered, forwarded, sent again, cancelled, taken back, and looked at as it came. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { EntryOf, EntryPlace } from '../../record/timeline/entry.ts'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { threadTexts } from '../../texts/mail/thread.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { Action } from '../action.tsx'
import { missedRecipients, type OutgoingMail } from '../mail-facts.ts'
import { saveRaw } from './raw-message.ts'

/** Answering a mail. @param hasOthers whether an answer to all goes to more people */
export function Answers({ commentId, hasOthers, place }: { commentId: number; hasOthers: boolean; place: EntryPlace }) {
  if (place.role === 'viewer') return null
  const open = (what: 'reply' | 'replyAll' | 'forward') => place.openComposer(`${what}:${commentId}`)
  return (
    <>
      <Action icon="reply" run={() => open('reply')}>
        {threadTexts.reply}
      </Action>
      {hasOthers && (
        <Action icon="users" run={() => open('replyAll')}>
          {threadTexts.replyAll}
        </Action>
      )}
      <Action icon="forward" run={() => open('forward')}>
        {threadTexts.forward}
      </Action>
    </>
  )
}

const SETTLES_MS = 1_000

/** What stands where the state stands: sending again, cancelling and taking back, each where the service allows it. */
export function Interventions({ entry, mail, place }: { entry: EntryOf<'email_out'>; mail: OutgoingMail; place: EntryPlace }) {
  const client = useClient()
  const me = useMe()
  const [isAsked, setAsked] = useState(false)
  const [isSettling, setSettling] = useState(false)
  const path = { comment_id: entry.row.id }
  const read = () => place.changed(entry)
  const retry = useMutation({
    mutationFn: () => client.email.retry.mutate(path),
    onSuccess: () => toast(threadTexts.retrying),
    onSettled: read,
  })
  const cancel = useMutation({
    mutationFn: () => client.email.cancel.mutate(path),
    onSuccess() {
      toast(threadTexts.cancelled)
      // A second click of the same hand would meet Retry, which sends the mail at once.
      setSettling(true)
      setTimeout(() => setSettling(false), SETTLES_MS)
    },
    onSettled: read,
  })
  const discard = useMutation({
    mutationFn: () => client.email.cancel.mutate({ ...path, discard: true }),
    onSuccess: ({ ok }) => {
      if (!ok) return read()
      toast(threadTexts.discarded)
      place.removed(entry)
    },
    onError: read,
    onSettled: () => setAsked(false),
  })
  if (place.role === 'viewer') return null
  const dropped = mail.recipients.filter(({ status }) => status === 'dropped').length
  const isMine = entry.row.user_id === me.id && entry.row.api_key_id === null
  const isBusy = isSettling || retry.isPending || cancel.isPending || discard.isPending
  const failed = [retry, cancel, discard].find(({ isError }) => isError)
  return (
    <>
      {dropped > 0 && (
        <Action icon="refresh-cw" goes isBusy={isBusy} run={() => retry.mutate()}>
          {dropped < mail.recipients.length ? threadTexts.retryRest : threadTexts.retry}
        </Action>
      )}
      {missedRecipients(mail).length > 0 && (
        <Action icon="pencil" title={threadTexts.writeAgainMore} run={() => place.openComposer(`again:${entry.row.id}`)}>
          {threadTexts.writeAgain}
        </Action>
      )}
      {mail.status === 'queued' && (
        <Action icon="x" goes isBusy={isBusy} run={() => cancel.mutate()}>
          {threadTexts.cancel}
        </Action>
      )}
      {mail.status === 'queued' && isMine && (
        <Action icon="trash-2" isBusy={isBusy} isOpen={isAsked} run={() => setAsked(!isAsked)}>
          {threadTexts.discard}
        </Action>
      )}
      {isAsked && mail.status === 'queued' && (
        <fieldset className="mail-asked">
          <legend>{threadTexts.discardQuestion}</legend>
          <button type="button" className="button danger small" aria-disabled={isBusy} onClick={() => discard.mutate()}>
            {threadTexts.discardNow}
          </button>{' '}
          <button type="button" className="button small" onClick={() => setAsked(false)}>
            {threadTexts.keep}
          </button>
        </fieldset>
      )}
      {failed && (
        <span className="mail-problem" role="alert">
          {messageOf(failed.error)}
        </span>
      )}
    </>
  )
}

/** The message as it came, for admins. */
export function RawMessage({ commentId, place }: { commentId: number; place: EntryPlace }) {
  const client = useClient()
  const raw = useMutation({ mutationFn: () => saveRaw(client, commentId) })
  if (place.role !== 'admin') return null
  return (
    <>
      <Action icon="download" isBusy={raw.isPending} run={() => raw.mutate()}>
        {raw.isPending ? threadTexts.loadingRaw : threadTexts.raw}
      </Action>
      {raw.isError && (
        <span className="mail-problem" role="alert">
          {messageOf(raw.error)}
        </span>
      )}
    </>
  )
}
