/** Writes a mail from a record, in its slot `Composer`. Loaded when it is first opened. */
import { useEffect, useRef } from 'react'
import { focusTitle } from '../../record/open-record.ts'
import type { ComposerProps } from '../../record/record-parts.ts'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { type Beginning, useBeginning } from '../draft/beginning.ts'
import { readPurpose } from '../draft/reply.ts'
import { useMailDraft } from '../draft/use-mail-draft.ts'
import { useSending } from '../sending/use-sending.ts'
import { ComposerForm } from './composer-form.tsx'
import { ConflictNote, DraftNotes } from './draft-notes.tsx'
import '../../ui/button.css'
import './composer.css'

export function Composer(props: ComposerProps) {
  const { compose, role, close } = props
  const beginning = useBeginning(props, compose)
  const mayWrite = role !== 'viewer'
  // Whoever loses the right to write while writing keeps in sight what is written.
  const hasWritten = useRef(mayWrite)
  if (mayWrite) hasWritten.current = true
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    const record = section.current?.closest('.record') ?? null
    // The focus was on something that is gone with the composer.
    return () => queueMicrotask(() => document.activeElement === document.body && focusTitle(record))
  }, [])
  return (
    <section ref={section} className="composer" aria-label={composerTexts.page}>
      {hasWritten.current && beginning.data && !beginning.isFetching ? (
        <Begun {...props} beginning={beginning.data} />
      ) : (
        <Frame title={composerTexts.title[readPurpose(compose).kind]} headings={props.headings} close={close}>
          <p className={beginning.error ? 'problem' : 'muted'}>{wordsFor(mayWrite, beginning.error)}</p>
        </Frame>
      )}
    </section>
  )
}

function wordsFor(mayWrite: boolean, error: Error | null): string {
  if (!mayWrite) return composerTexts.mayNot
  return error ? messageOf(error) : composerTexts.loading
}

interface FrameProps {
  title: string
  headings: 'h2' | 'h3'
  close(): void
  children: React.ReactNode
}

function Frame({ title, headings: Heading, close, children }: FrameProps) {
  return (
    <>
      <header className="composer-head">
        <Heading>{title}</Heading>
        <button type="button" className="button quiet icon-only small" aria-label={composerTexts.close} onClick={close}>
          <Icon name="x" />
        </button>
      </header>
      {children}
    </>
  )
}

/** The mail that was to be answered is not there. */
function Gone({ kind, writeNew }: { kind: keyof typeof composerTexts.title; writeNew: (() => void) | undefined }) {
  return (
    <div className="mail-note warning" role="alert">
      <p>{composerTexts.gone(kind)}</p>
      {writeNew && (
        <div className="mail-note-actions">
          <button type="button" className="button small" onClick={writeNew}>
            {composerTexts.writeNew}
          </button>
        </div>
      )}
    </div>
  )
}

function Begun({ beginning, ...props }: ComposerProps & { beginning: Beginning }) {
  const me = useMe()
  const work = useMailDraft(props, props.compose, beginning)
  const sending = useSending(props, work)
  const { draft, mail, isOther } = work
  const { kind } = readPurpose(mail.compose)
  const { isGone } = beginning
  // What was written already can be sent as a mail of its own.
  const hasForm = !draft.isPending && sending.phase !== 'taking back' && !(isGone && draft.value === null)
  return (
    <Frame title={composerTexts.title[kind]} headings={props.headings} close={props.close}>
      {props.role === 'viewer' && (
        <p className="mail-note warning" role="alert">
          {composerTexts.mayNot}
        </p>
      )}
      {isGone && (
        <Gone kind={readPurpose(props.compose).kind} writeNew={draft.value === null ? () => props.openComposer('mail') : undefined} />
      )}
      <DraftNotes sending={sending} isOther={isOther && !isGone} beginAnew={draft.clear} cautions={isOther ? [] : beginning.cautions} />
      {!hasForm && <ConflictNote draft={draft} close={props.close} />}
      {hasForm && (
        // The fields begin anew with another mail.
        <ComposerForm key={`${mail.compose}`} place={props} me={me} work={work} sending={sending} close={props.close} />
      )}
    </Frame>
  )
}
