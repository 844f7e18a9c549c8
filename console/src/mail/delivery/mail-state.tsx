/** The state of a mail that was sent, in a line, and behind it the truth about each recipient. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useClient } from '../../session/client.ts'
import { deliveryTexts } from '../../texts/mail/delivery.ts'
import { threadTexts } from '../../texts/mail/thread.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { IconName } from '../../ui/icons/icon-paths.ts'
import { senderOptionsQuery } from '../draft/beginning.ts'
import type { Open, OutgoingMail, Recipient } from '../mail-facts.ts'
import { plainName } from '../plain-name.ts'
import { useOpened } from '../remembered.ts'
import { type Delivery, type Known, mailWords, openedBy, recipientWords, type Times, type Tone } from './delivery-words.ts'
import { Unsuppress, useSuppressions } from './suppressed.tsx'

interface Props {
  tableId: number
  commentId: number
  mail: OutgoingMail
  times: Times
  canWrite: boolean
  isAdmin: boolean
  /** What can be done about the state. */
  children?: ReactNode
}

const ICONS: Record<Tone, IconName> = { good: 'check', waiting: 'clock', bad: 'triangle-alert', unclear: 'circle-help' }
const MOST_SHOWN_AT_FIRST = 5
/** More of them stand with the recipients. */
const MOST_REMOVABLE_AT_FIRST = 2
const MOST_OPENS = 10
const AGAIN_MS = 30_000

export function MailState({ tableId, commentId, mail, times, canWrite, isAdmin, children }: Props) {
  const opens = useOpens(commentId, mail, canWrite)
  const failing = useFailing(tableId, mail, canWrite)
  const { isSuppressed, removable } = useSuppressions(mail, isAdmin)
  const isFew = removable.length <= MOST_REMOVABLE_AT_FIRST
  const known: Known = { opens, isSuppressed }
  const delivery = mailWords(mail, times, known)
  const needsTruth = delivery.tone === 'bad' || delivery.tone === 'unclear'
  const [isOpen, setOpen] = useOpened(`${commentId} recipients`, needsTruth && mail.recipients.length <= MOST_SHOWN_AT_FIRST)
  return (
    <div className="mail-delivery">
      <p className="mail-state" data-tone={delivery.tone}>
        <Icon name={ICONS[delivery.tone]} />
        <span title={exactTime(mail, times)}>{delivery.words}</span>
        <button type="button" className="button quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {threadTexts.details}
        </button>
      </p>
      <div className="mail-actions">
        {children}
        {isFew && removable.map((email) => <Unsuppress key={email} email={email} isOnly={mail.recipients.length === 1} />)}
      </div>
      {isOpen && (
        <div className="mail-truth">
          <p className="mail-from">
            {threadTexts.from} <bdi>{mailboxWords(mail.from)}</bdi>
          </p>
          <ul aria-label={threadTexts.recipients}>
            {mail.recipients.map((recipient) => (
              <li key={recipient.email}>
                <Truth recipient={recipient} delivery={recipientWords(recipient, mail, times, known)} said={delivery.words} />
                {!isFew && removable.includes(recipient.email) && <Unsuppress email={recipient.email} isOnly={false} />}
              </li>
            ))}
          </ul>
          {opens && opens.length > 0 && <Opens opens={opens} times={times} />}
        </div>
      )}
      {failing && (
        <p className="mail-more">
          {deliveryTexts.failingSince(times.plain(failing.since))} {deliveryTexts.heldBack} {threadTexts.serverSaid}{' '}
          <q dir="auto">{failing.message}</q>
        </p>
      )}
      {!isOpen && !failing && delivery.more && <p className="mail-more">{delivery.more}</p>}
    </div>
  )
}

/** When it came into its state. */
function exactTime({ status, queuedAt, sentAt, readAt, bouncedAt, droppedAt }: OutgoingMail, times: Times): string | undefined {
  const at = { queued: queuedAt, sent: sentAt, read: readAt, bounced: bouncedAt, dropped: droppedAt }[status]
  return at ? times.exact(at) : undefined
}

/** Who has opened the mail, for those who may write; null for others, and if it cannot be read. */
function useOpens(commentId: number, { readAt }: OutgoingMail, canWrite: boolean): readonly Open[] | null | undefined {
  const client = useClient()
  const { data, isError } = useQuery({
    queryKey: ['mail-opens', commentId, readAt],
    queryFn: async () => (await client.email.opens.query({ comment_id: commentId })).rows,
    ...{ enabled: canWrite && typeof readAt === 'string', staleTime: 20_000, refetchOnWindowFocus: true, retry: 1 },
    // Further requests are no events: a person may open it after a proxy has.
    refetchInterval: ({ state }) => (state.data?.some((open) => open.class === 'human') ? false : AGAIN_MS),
  })
  return data ?? (canWrite && !isError ? undefined : null)
}

/** Since when the server of a mail that waits cannot be used, and why. */
function useFailing(tableId: number, { status, error, smtpIntegrationId }: OutgoingMail, canWrite: boolean) {
  const client = useClient()
  const { data } = useQuery({ ...senderOptionsQuery(client, tableId), enabled: canWrite && status === 'queued' && error !== null })
  return status === 'queued' ? data?.find(({ id }) => id === smtpIntegrationId)?.failing : undefined
}

/** @param said what the line above says already */
function Truth({ recipient: { email, kind }, delivery, said }: { recipient: Recipient; delivery: Delivery; said: string }) {
  const isSaid = said.toLowerCase() === delivery.words.toLowerCase()
  return (
    <>
      <p className="mail-recipient" data-tone={delivery.tone}>
        <bdi>{plainName(email)}</bdi> {kind !== 'to' && <span className="mail-kind">{threadTexts[kind]}</span>}{' '}
        {!isSaid && <span className="mail-truth-words">{delivery.words}</span>}
      </p>
      {delivery.more && <p className="mail-more">{delivery.more}</p>}
      {delivery.said && (
        <p className="mail-said">
          {threadTexts.serverSaid} <q dir="auto">{delivery.said}</q>
        </p>
      )}
    </>
  )
}

function Opens({ opens, times }: { opens: readonly Open[]; times: Times }) {
  const inOrder = opens.toSorted((one, other) => (one.opened_at < other.opened_at ? -1 : 1))
  const rest = inOrder.length - MOST_OPENS
  return (
    <p className="mail-opens">
      {threadTexts.opens}:{' '}
      {inOrder
        .slice(0, MOST_OPENS)
        .map((open) => openedBy(open, times))
        .join(', ')}
      {rest > 0 && `, ${threadTexts.moreOpens(rest)}`}
    </p>
  )
}

export const mailboxWords = ({ name, email }: { name: string; email: string }): string =>
  plainName(name && email ? `${name} <${email}>` : name || email)
