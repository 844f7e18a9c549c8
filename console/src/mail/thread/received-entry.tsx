/** A mail that was received, on the timeline of the record. */
import { Link } from '@tanstack/react-router'
import type { EntryPlace, ShownKind, ShownProps } from '../../record/timeline/entry.ts'
import { threadTexts } from '../../texts/mail/thread.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { When } from '../../ui/locale/when.tsx'
import { Action } from '../action.tsx'
import { mailboxWords } from '../delivery/mail-state.tsx'
import { timesOf } from '../delivery/times.ts'
import { type IncomingMail, incomingMail, outgoingMail } from '../mail-facts.ts'
import { plainName } from '../plain-name.ts'
import { useOpened } from '../remembered.ts'
import { FoldedText } from './folded-text.tsx'
import { Answers, RawMessage } from './mail-actions.tsx'
import { MailFiles } from './mail-files.tsx'
import { OriginalFrame } from './original-frame.tsx'
import { automaticWords, senderWarning } from './sender-words.ts'
import { subjectWords, useKept } from './sent-entry.tsx'
import './thread.css'
import { threadColor } from './thread.ts'

export const receivedMailKind: ShownKind<'email_in'> = {
  kind: 'email_in',
  label: ({ row }) => threadTexts.receivedMail(plainName(row.user_name), subjectWords(incomingMail(row.metadata).subject)),
  Shown: ReceivedMail,
}

function ReceivedMail({ entry, place }: ShownProps<'email_in'>) {
  const { row, at } = entry
  const mail = incomingMail(row.metadata)
  const text = mail.text || row.content
  const [isOriginal, setOriginal] = useOpened(`${row.id} original`, mail.html !== '' && !text.trim())
  useKept(entry, place, isOriginal)
  const inline = new Set(mail.inlinePaths)
  const subject = subjectWords(mail.subject)
  // What the text does not show is among the files, unless the HTML shows it.
  const files = isOriginal ? row.attachments.filter(({ path }) => !inline.has(path)) : row.attachments
  return (
    <div className="mail mail-received" data-thread={threadColor(mail.subject)}>
      <p className="entry-head">
        <Icon name="mail" />
        <span className="entry-who">
          <bdi>{plainName(mail.from.name || mail.from.email || row.user_name)}</bdi>
        </span>
        {mail.from.name && mail.from.email && (
          <span className="mail-to">
            <bdi>{plainName(mail.from.email)}</bdi>
          </span>
        )}
        <Marks mail={mail} />
        <When instant={at} place={place.reader} />
      </p>
      <p className="mail-subject" dir="auto">
        {subject}
      </p>
      <Warnings mail={mail} />
      <Envelope commentId={row.id} mail={mail} place={place} />
      {mail.isUnreadable ? (
        <p className="mail-empty">{threadTexts.unreadable}</p>
      ) : (
        <FoldedText name={`${row.id}`} text={text} visible={row.content || mail.visibleText} />
      )}
      <MailFiles files={files} leftOut={mail.attachmentsLeftOut} locale={place.reader.locale} />
      <div className="mail-actions">
        <Answers commentId={row.id} hasOthers={mail.to.length + mail.cc.length > 0} place={place} />
        {mail.html && (
          <Action icon="eye" isOpen={isOriginal} run={() => setOriginal(!isOriginal)}>
            {isOriginal ? threadTexts.hideOriginal : threadTexts.original}
          </Action>
        )}
        <RawMessage commentId={row.id} place={place} />
      </div>
      {isOriginal && <OriginalFrame commentId={row.id} subject={subject} remoteImages={mail.remoteImages} html={mail.html || text} />}
    </div>
  )
}

function Marks({ mail }: { mail: IncomingMail }) {
  const automatic = automaticWords(mail)
  return (
    <>
      {automatic && (
        <span className="chip" data-color="gray" title={threadTexts.automaticMore}>
          {automatic}
        </span>
      )}
      {mail.isFromList && (
        <span className="chip" data-color="gray">
          {threadTexts.list}
        </span>
      )}
    </>
  )
}

function Warnings({ mail }: { mail: IncomingMail }) {
  const warning = senderWarning(mail.authentication)
  return (
    <>
      {warning && (
        <p className="mail-warning" data-level={warning.level}>
          <Icon name={warning.level === 'bad' ? 'triangle-alert' : 'info'} />
          <span>{warning.words}</span>
        </p>
      )}
      {!mail.wasRecipient && !mail.isAutomatic && (
        <p className="mail-note">
          <Icon name="info" />
          {threadTexts.otherSender}
        </p>
      )}
    </>
  )
}

/** To whom it went, folded, and what it answers. */
function Envelope({ commentId, mail, place }: { commentId: number; mail: IncomingMail; place: EntryPlace }) {
  const [isOpen, setOpen] = useOpened(`${commentId} envelope`)
  const parent = mail.parentCommentId === null ? undefined : place.rowOf(mail.parentCommentId)
  const answered = parent && outgoingMail(parent.metadata)
  const lines = [
    [threadTexts.from, mailboxWords(mail.from)],
    [threadTexts.to, mail.to.map(plainName).join(', ')],
    [threadTexts.cc, mail.cc.map(plainName).join(', ')],
  ].filter(([, value]) => value)
  return (
    <div className="mail-envelope">
      <button type="button" className="button quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {threadTexts.details}
      </button>
      {mail.parentCommentId !== null && (
        <Link className="mail-parent" to="." search={(search: object) => ({ ...search, entry: mail.parentCommentId as number })}>
          <Icon name="corner-down-right" />
          {answered && parent
            ? threadTexts.answersMail(subjectWords(answered.subject), timesOf(place.reader).plain(parent.created_at))
            : threadTexts.answers}
        </Link>
      )}
      {isOpen && (
        <dl>
          {lines.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}
