/** The fields to choose a token from. The focus stays in the text; it sends the keys here. */
import { type RefObject, useEffect, useImperativeHandle, useState } from 'react'
import { composerTexts } from '../../texts/mail/composer.ts'
import { type TokenField, tokenGroups } from './token-fields.ts'

export interface TokenListKeys {
  /** @returns true if the key was taken */
  keyDown(key: string): boolean
}

interface Props {
  id: string
  typed: string
  fields: readonly TokenField[]
  keys: RefObject<TokenListKeys | null>
  choose(field: TokenField): void
  close(): void
  /** Tells which option is highlighted, for the field that has the focus. */
  highlighted(optionId: string | undefined): void
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }

export function TokenList({ id, typed, fields, keys, choose, close, highlighted }: Props) {
  const groups = tokenGroups(fields, typed)
  const options = groups.flatMap((group) => group.fields)
  const [moved, setMoved] = useState({ typed: '', at: 0 })
  const at = moved.typed === typed ? Math.min(moved.at, options.length - 1) : 0
  const optionId = (slug: string) => `${id}-${slug}`
  const shown = options[at]
  const current = shown && optionId(shown.slug)
  useEffect(() => {
    highlighted(current)
    document.getElementById(current ?? '')?.scrollIntoView({ block: 'nearest' })
  }, [highlighted, current])

  useImperativeHandle(keys, () => ({
    keyDown(key) {
      const step = STEPS[key]
      if (step !== undefined && options.length) setMoved({ typed, at: (at + step + options.length) % options.length })
      else if (shown && (key === 'Enter' || key === 'Tab')) choose(shown)
      else if (key === 'Escape') close()
      else return false
      return true
    },
  }))

  return (
    <div className="token-list">
      {options.length === 0 && <output className="muted">{composerTexts.noTokens}</output>}
      <div id={id} role="listbox" aria-label={composerTexts.tokens} hidden={options.length === 0}>
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options is no set of fields
          <div key={group.name} role="group" aria-label={group.name}>
            <div className="token-group" role="presentation">
              {group.name}
            </div>
            {group.fields.map((field) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are taken in the text
              <div
                key={field.slug}
                id={optionId(field.slug)}
                role="option"
                aria-selected={field === shown}
                className="mail-option"
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(field)}
              >
                <span>{field.name}</span>
                <span className="muted">{field.value}</span>
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  )
}
