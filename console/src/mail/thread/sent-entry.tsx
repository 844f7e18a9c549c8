/** A mail that was sent from the record, on its timeline. */
import { useEffect, useMemo } from 'react'
import { authorOf } from '../../record/timeline/change-words.ts'
import type { Entry, EntryOf, EntryPlace, ShownKind, ShownProps } from '../../record/timeline/entry.ts'
import { threadTexts } from '../../texts/mail/thread.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { When } from '../../ui/locale/when.tsx'
import { Action } from '../action.tsx'
import { isUnderWay } from '../delivery/delivery-words.ts'
import { MailState, mailboxWords } from '../delivery/mail-state.tsx'
import { timesOf } from '../delivery/times.ts'
import { tokenFields } from '../editor/token-fields.ts'
import { countOf, inlinePathsOf, isResolved, type OutgoingMail, outgoingMail } from '../mail-facts.ts'
import { plainName } from '../plain-name.ts'
import { useOpened } from '../remembered.ts'
import { Answers, Interventions } from './mail-actions.tsx'
import { MailFiles } from './mail-files.tsx'
import { OriginalFrame } from './original-frame.tsx'
import { RichText } from './rich-text.tsx'
import './thread.css'
import { threadColor } from './thread.ts'
import { TokenText, withValues } from './token-text.tsx'

export const sentMailKind: ShownKind<'email_out'> = {
  kind: 'email_out',
  label: ({ row }, place) => {
    const mail = outgoingMail(row.metadata)
    return threadTexts.sentMail(toWords(mail), subjectWords(mail ? subjectOf(mail, place) : ''))
  },
  Shown: SentMail,
}

export const subjectWords = (subject: string): string => plainName(subject) || threadTexts.noSubject

/** The subject, with the values of now while its tokens are not resolved. */
const subjectOf = (mail: OutgoingMail, place: Pick<EntryPlace, 'record' | 'definition'>): string =>
  isResolved(mail) || !mail.subject.includes('{{') ? mail.subject : withValues(mail.subject, tokenFields(place))

function toWords(mail: OutgoingMail | null): string {
  const [first, ...others] = mail?.recipients ?? []
  return threadTexts.andOthers(plainName(first?.email ?? ''), others.length)
}

function SentMail({ entry, place }: ShownProps<'email_out'>) {
  const { row } = entry
  const mail = outgoingMail(row.metadata)
  useLookingAgain(entry, place, mail)
  const [isOriginal, setOriginal] = useOpened(`${row.id} original`)
  useKept(entry, place, isOriginal)
  const { record, definition } = place
  const hasTokens = mail !== null && !isResolved(mail) && `${mail.subject}${row.content}`.includes('{{')
  const fields = useMemo(() => (hasTokens ? tokenFields({ record, definition }) : undefined), [hasTokens, record, definition])
  if (!mail) return <p className="entry-text">{row.content}</p>
  const inline = new Set(inlinePathsOf(row.metadata))
  const author = authorOf(row)
  const canWrite = place.role !== 'viewer'
  return (
    <div className="mail" data-thread={threadColor(mail.subject)}>
      <p className="entry-head">
        <Icon name="send" />
        <span className="entry-who" title={mailboxWords(mail.from)}>
          <bdi>{plainName(author.name)}</bdi>
        </span>
        {author.isKey && <span className="mail-to">{commentTexts.byKey}</span>}
        <span className="mail-to">{threadTexts.toWhom(toWords(mail))}</span>
        <When instant={entry.at} place={place.reader} />
      </p>
      <p className="mail-subject" dir="auto">
        {fields && mail.subject.trim() ? <TokenText text={plainName(mail.subject)} fields={fields} /> : subjectWords(mail.subject)}
      </p>
      <MailState
        tableId={place.tableId}
        commentId={row.id}
        mail={mail}
        times={timesOf(place.reader)}
        canWrite={canWrite}
        isAdmin={place.role === 'admin'}
      >
        <Interventions entry={entry} mail={mail} place={place} />
      </MailState>
      <RichText name={`${row.id}`} html={row.content} fields={fields} />
      <MailFiles files={row.attachments.filter(({ path }) => !inline.has(path))} leftOut={0} locale={place.reader.locale} />
      <div className="mail-actions">
        <Answers commentId={row.id} hasOthers={mail.recipients.length > 1} place={place} />
        <Action icon="eye" isOpen={isOriginal} run={() => setOriginal(!isOriginal)}>
          {isOriginal ? threadTexts.hideOriginal : threadTexts.original}
        </Action>
      </div>
      {isOriginal && (
        <OriginalFrame
          commentId={row.id}
          subject={subjectWords(subjectOf(mail, place))}
          remoteImages={countOf(mail.remoteImages)}
          html={row.content}
        />
      )}
    </div>
  )
}

/** Keeps a mail in the page while its original is open, which would be loaded anew and from its top. */
export function useKept(entry: EntryOf<'email_out' | 'email_in'>, { keep }: EntryPlace, isOpen: boolean): void {
  useEffect(() => {
    if (!isOpen) return
    keep(entry as Entry, true)
    return () => keep(entry as Entry, false)
  }, [entry, keep, isOpen])
}

/** A first attempt takes seconds; later ones are minutes and hours apart. */
const AGAIN_MS = 5_000
const AGAIN_LATER_MS = 30_000

/** Reads a mail that is on its way again and again: an attempt that fails for now is no event. */
function useLookingAgain(entry: EntryOf<'email_out'>, place: EntryPlace, mail: OutgoingMail | null): void {
  const isWaiting = mail !== null && isUnderWay(mail, new Date())
  const everyMs = mail?.error ? AGAIN_LATER_MS : AGAIN_MS
  const { changed } = place
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(() => {
      if (!document.hidden) changed(entry)
    }, everyMs)
    return () => clearInterval(timer)
  }, [isWaiting, everyMs, changed, entry])
}
