/** Sends the mail: now or later, after a preview or without one. */
import { useEffect, useId, useRef, useState } from 'react'
import type { Me } from '../../session/me.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { instantMeant } from '../../ui/locale/date-format.ts'
import { readInstant } from '../../ui/locale/date-text.ts'
import { timeWords } from '../../ui/locale/time-words.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { isUnwritten, type Later, type MailDraft, type NewEmail } from '../draft/mail-draft.ts'
import type { MailInWork } from '../draft/use-mail-draft.ts'
import type { Sending } from '../sending/use-sending.ts'
import type { Warnings } from '../sending/warnings.ts'
import { ConflictNote } from './draft-notes.tsx'

const PreviewDialog = lazyPart(async () => ({ default: (await import('./preview-dialog.tsx')).PreviewDialog }))

interface Props {
  me: Me
  work: MailInWork
  sending: Sending
  change(changes: Partial<MailDraft>): void
  close(): void
  input: NewEmail | null
  isUploading: boolean
  /** An answer that came while the mail was written. */
  newer: { user_name: string; created_at: string } | null
  problem: string | undefined
}

export function ComposerFoot({ me, work, sending, change, close, input, isUploading, newer, problem }: Props) {
  const { mail, draft, now } = work
  const [isPreviewed, setPreviewed] = useState(false)
  const { phase, warnings, failure } = sending
  const isBusy = phase !== 'writing'
  const discard = () => {
    const discarded = now()
    draft.clear()
    close()
    if (isUnwritten(discarded)) return
    toast(composerTexts.discarded, { action: { label: composerTexts.undo, run: () => draft.now().value ?? draft.restore(discarded) } })
  }
  return (
    <div className="composer-foot">
      {mail.later && <When later={mail.later} change={(later) => change({ later })} {...{ me, problem }} />}
      {newer && warnings === null && (
        <p className="mail-note" aria-live="polite">
          {composerTexts.newAnswer(
            newer.user_name,
            timeWords(newer.created_at, { zone: me.timezone, locale: navigator.language, now: new Date() }),
          )}
        </p>
      )}
      <div role="alert">
        <ConflictNote draft={draft} close={close} />
        {failure && <p className="mail-note warning">{failure}</p>}
        {warnings && <WarningList warnings={warnings} />}
        {draft.problem && <p className="mail-note">{draft.problem}</p>}
      </div>
      <div className="composer-actions">
        <button
          type="button"
          className="button primary"
          aria-disabled={isBusy || isUploading || undefined}
          onClick={() => !isUploading && void sending.send()}
        >
          <Icon name="send" />
          {phase === 'checking' ? composerTexts.checking : phase === 'sending' ? composerTexts.sending : composerTexts.send}
        </button>
        <button type="button" className="button" disabled={input === null || isBusy} onClick={() => setPreviewed(true)}>
          {composerTexts.preview}
        </button>
        <button
          type="button"
          className="button quiet composer-schedule"
          title={composerTexts.schedule}
          aria-pressed={mail.later !== null}
          disabled={isBusy}
          onClick={() => change({ later: mail.later ? null : { text: '', instant: null } })}
        >
          <Icon name="clock" />
          <span>{composerTexts.schedule}</span>
        </button>
        <span className="composer-rest">
          <span className="muted">{isUploading ? composerTexts.uploadingFiles : stateOf(work)}</span>
          <button type="button" className="button quiet icon-only" aria-label={composerTexts.discard} disabled={isBusy} onClick={discard}>
            <Icon name="trash-2" />
          </button>
        </span>
      </div>
      {isPreviewed && input && <PreviewDialog input={input} files={mail.files} close={() => setPreviewed(false)} />}
    </div>
  )
}

const MOST_WARNINGS = 5

function WarningList({ warnings: { words, isForNobody } }: { warnings: Warnings }) {
  const rest = words.length - MOST_WARNINGS
  return (
    <div className="mail-note warning">
      <ul>
        {words.slice(0, MOST_WARNINGS).map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
        {rest > 0 && <li>{composerTexts.moreWarnings(rest)}</li>}
      </ul>
      <p>{isForNobody ? composerTexts.forNobody : composerTexts.againToSend}</p>
    </div>
  )
}

function stateOf({ draft }: MailInWork): string {
  if (draft.value === null) return ''
  if (draft.conflict) return composerTexts.undecided
  return draft.isOnlyHere ? composerTexts.onlyHere : composerTexts.saved
}

interface WhenProps {
  later: Later
  me: Me
  change(later: Later | null): void
  problem: string | undefined
}

/** The time in words, and what it means. */
function When({ later, me, change, problem }: WhenProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it is opened
  useEffect(() => {
    if (later.text === '') input.current?.focus()
  }, [])
  const place = { zone: me.timezone, locale: navigator.language }
  const read = (text: string) => {
    const found = text.trim() ? readInstant(text, { ...place, now: new Date() }) : { problem: '' }
    change({ text, instant: 'value' in found ? found.value : null })
  }
  const meant = later.instant && composerTexts.goes(instantMeant(later.instant, place))
  return (
    <div className="mail-row">
      <label htmlFor={id}>{composerTexts.when}</label>
      <input
        ref={input}
        id={id}
        className="mail-line"
        autoComplete="off"
        value={later.text}
        placeholder={composerTexts.whenHint}
        aria-invalid={problem !== undefined || undefined}
        aria-describedby={`${id}-meant`}
        onChange={({ target }) => read(target.value)}
      />
      <button type="button" className="button quiet icon-only small" aria-label={composerTexts.noSchedule} onClick={() => change(null)}>
        <Icon name="x" />
      </button>
      <p id={`${id}-meant`} aria-live="polite" className={problem ? 'problem' : 'muted'}>
        {problem ?? meant ?? composerTexts.whenHint}
      </p>
    </div>
  )
}
