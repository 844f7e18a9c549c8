/** The body of the mail: its toolbar, the text, and the list of values that `{{` opens. Load it lazily. */
import { type CSSProperties, useCallback, useEffect, useId, useRef, useState } from 'react'
import { composerTexts } from '../../texts/mail/composer.ts'
import type { BodyPart } from './body.ts'
import { createMailEditor, type EditorFacts, type MailEditor } from './mail-editor.ts'
import { chipOf, type TokenField } from './token-fields.ts'
import { TokenList, type TokenListKeys } from './token-list.tsx'
import { Toolbar } from './toolbar.tsx'
import './editor.css'

interface Props {
  body: BodyPart
  /** Changes when the body came from elsewhere. */
  revision: number
  fields: readonly TokenField[]
  isFocused: boolean
  changed(body: BodyPart): void
  files(files: readonly File[]): void
}

const NO_FACTS: EditorFacts = { pressed: new Set(), linkHref: null, isEmpty: true, token: null }

export function MessageField({ body, revision, fields, isFocused, changed, files }: Props) {
  const id = useId()
  const place = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const editor = useRef<MailEditor | null>(null)
  const keys = useRef<TokenListKeys>(null)
  const [facts, setFacts] = useState(NO_FACTS)
  /** What was typed when the list was closed without choosing. */
  const [closed, setClosed] = useState<string | null>(null)
  const latest = useRef({ fields, changed, files, isTokenTyped: false })
  const typed = facts.token?.typed ?? null
  const isTokenTyped = typed !== null && !(closed !== null && typed.startsWith(closed))
  latest.current = { fields, changed, files, isTokenTyped }
  useEffect(() => {
    if (typed === null) setClosed(null)
  }, [typed])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor keeps its text; what comes from elsewhere replaces it below.
  useEffect(() => {
    if (!place.current) return
    const made = createMailEditor(place.current, {
      label: composerTexts.message,
      describedBy: `${id}-hint`,
      body,
      chip: (token) => chipOf(token, latest.current.fields),
      changed: (next) => latest.current.changed(next),
      looked: setFacts,
      keyDown: ({ key, isComposing }) => latest.current.isTokenTyped && !isComposing && (keys.current?.keyDown(key) ?? false),
      files: (dropped) => latest.current.files(dropped),
    })
    editor.current = made
    if (isFocused) made.focus()
    return () => made.destroy()
  }, [])

  const shownRevision = useRef(revision)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what comes from elsewhere is put into the editor.
  useEffect(() => {
    if (shownRevision.current === revision) return
    shownRevision.current = revision
    editor.current?.replace(body)
  }, [revision])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chips show the names and values of the fields.
  useEffect(() => void editor.current?.refreshTokens(), [fields])

  const highlighted = useCallback((optionId: string | undefined) => {
    const text = place.current?.firstElementChild
    if (optionId === undefined) text?.removeAttribute('aria-activedescendant')
    else text?.setAttribute('aria-activedescendant', optionId)
  }, [])
  const closeList = useCallback(() => setClosed(typed), [typed])
  useEffect(() => {
    if (!isTokenTyped) highlighted(undefined)
  }, [isTokenTyped, highlighted])

  return (
    <div className="message" ref={frame}>
      <Toolbar facts={facts} editor={editor} fields={fields} />
      <div className="message-text" data-placeholder={facts.isEmpty ? composerTexts.placeholder : undefined}>
        <div ref={place} />
      </div>
      <p id={`${id}-hint`} className="visually-hidden">
        {composerTexts.messageHint}
      </p>
      {isTokenTyped && facts.token && (
        <div className="token-place" style={spotOf(facts.token, frame.current)}>
          <TokenList
            id={`${id}-tokens`}
            typed={facts.token.typed}
            fields={fields}
            keys={keys}
            highlighted={highlighted}
            choose={({ slug }) => editor.current?.insertToken({ slug, form: '' })}
            close={closeList}
          />
        </div>
      )}
    </div>
  )
}

const LIST_WIDTH = 320

/** Below the caret, inside of the frame. */
function spotOf({ left, bottom }: { left: number; bottom: number }, frame: HTMLElement | null): CSSProperties {
  const box = frame?.getBoundingClientRect()
  if (!box) return {}
  return { top: bottom - box.top + 4, left: Math.max(0, Math.min(left - box.left, box.width - LIST_WIDTH)) }
}
