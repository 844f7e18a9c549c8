/** What is to be said of the draft itself: that it is another mail, that it was changed elsewhere, what had been begun with it. */
import type { Draft } from '../../session/drafts/use-draft.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import type { MailDraft } from '../draft/mail-draft.ts'
import type { Caution } from '../draft/reply.ts'
import type { Sending } from '../sending/use-sending.ts'

/** The draft was changed or is done with elsewhere: the person decides. */
export function ConflictNote({ draft: { conflict }, close }: { draft: Draft<MailDraft>; close(): void }) {
  if (!conflict) return null
  return (
    <div className="mail-note warning">
      <p>{conflict.theirs ? composerTexts.conflict : composerTexts.conflictGone}</p>
      <div className="mail-note-actions">
        <button type="button" className="button small" onClick={conflict.keepMine}>
          {composerTexts.keepMine}
        </button>
        <button
          type="button"
          className="button small"
          onClick={() => {
            conflict.takeTheirs()
            if (!conflict.theirs) close()
          }}
        >
          {conflict.theirs ? composerTexts.takeTheirs : composerTexts.closeThis}
        </button>
      </div>
    </div>
  )
}

interface Props {
  isOther: boolean
  cautions: readonly Caution[]
  sending: Sending
  beginAnew(): void
}

export function DraftNotes({ isOther, cautions, sending, beginAnew }: Props) {
  return (
    <>
      {isOther && (
        <div className="mail-note" aria-live="polite">
          <p>{composerTexts.otherDraft}</p>
          <div className="mail-note-actions">
            <button type="button" className="button small" onClick={beginAnew}>
              {composerTexts.beginNew}
            </button>
          </div>
        </div>
      )}
      {cautions.map((caution) => (
        <p key={caution} className="mail-note warning">
          {composerTexts.cautions[caution]}
        </p>
      ))}
      {sending.phase === 'taking back' && (
        <div className="mail-note" aria-live="polite">
          <p>{sending.failure ?? composerTexts.takingBack}</p>
          {sending.failure && (
            <div className="mail-note-actions">
              <button type="button" className="button small" onClick={sending.retryTakingBack}>
                {composerTexts.tryAgain}
              </button>
            </div>
          )}
        </div>
      )}
      {sending.phase === 'finishing' && <output className="mail-note">{composerTexts.finishing}</output>}
    </>
  )
}
