/** The subject: one line, in which `{{` opens the values of the record, too. Below it is what its tokens become. */
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { composerTexts } from '../../texts/mail/composer.ts'
import { chipOf, type TokenField } from './token-fields.ts'
import { TokenList, type TokenListKeys } from './token-list.tsx'
import { partsOf, tokenText, typedToken } from './tokens.ts'

interface Props {
  value: string
  change(value: string): void
  fields: readonly TokenField[]
  /** True if the focus is to be here when the field is shown. */
  isFocused: boolean
}

/** The longest subject that the service takes. */
const LONGEST = 998

export function SubjectField({ value, change, fields, isFocused }: Props) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const keys = useRef<TokenListKeys>(null)
  const [caret, setCaret] = useState<number | null>(null)
  const [active, setActive] = useState<string>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it is shown
  useEffect(() => {
    if (isFocused) input.current?.focus()
  }, [])
  const typed = caret === null ? null : typedToken(value.slice(0, caret))
  const choose = (slug: string) => {
    const before = value.slice(0, caret ?? value.length).replace(/\{\{[^{}]*$/, '') + tokenText({ slug, form: '' })
    change(before + value.slice(caret ?? value.length))
    setCaret(null)
    requestAnimationFrame(() => input.current?.setSelectionRange(before.length, before.length))
  }
  const keyDown = (event: KeyboardEvent) => {
    if (typed === null || event.nativeEvent.isComposing || event.ctrlKey || event.metaKey) return
    if (!keys.current?.keyDown(event.key)) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div className="mail-row">
      <label htmlFor={id}>{composerTexts.subject}</label>
      <input
        ref={input}
        id={id}
        className="mail-line"
        autoComplete="off"
        maxLength={LONGEST}
        value={value}
        aria-autocomplete="list"
        aria-controls={typed === null ? undefined : `${id}-tokens`}
        aria-activedescendant={typed === null ? undefined : active}
        aria-describedby={`${id}-tokens-shown`}
        onChange={({ target }) => {
          change(target.value)
          setCaret(target.selectionStart)
        }}
        onBlur={() => setCaret(null)}
        onKeyDown={keyDown}
      />
      <SubjectTokens id={`${id}-tokens-shown`} value={value} fields={fields} />
      {typed !== null && (
        <div className="token-place below">
          <TokenList
            id={`${id}-tokens`}
            {...{ typed, fields, keys }}
            highlighted={setActive}
            choose={({ slug }) => choose(slug)}
            close={() => setCaret(null)}
          />
        </div>
      )}
    </div>
  )
}

/** The subject as it is read, if it has tokens. */
function SubjectTokens({ id, value, fields }: { id: string; value: string; fields: readonly TokenField[] }) {
  const parts = partsOf(value)
  if (parts.every((part) => typeof part === 'string')) return null
  let position = 0
  return (
    <p id={id} className="subject-shown">
      {parts.map((part) => {
        position += 1
        if (typeof part === 'string') return part
        const { text, title, isGone } = chipOf(part, fields)
        return (
          <span key={`${part.slug}-${position}`} className={isGone ? 'token-chip gone' : 'token-chip'} title={title}>
            {text}
          </span>
        )
      })}
    </p>
  )
}
