/** A labelled field of one line, with a hint and its problem. */
import { type InputHTMLAttributes, useId, useState } from 'react'
import './field.css'

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'onChange' | 'value'> {
  label: string
  value: string
  change: (value: string) => void
  hint?: string
  problem?: string | undefined
  /** The texts of the button that shows a password, if it may be shown. */
  reveal?: { show: string; hide: string }
}

export function TextField({ label, value, change, hint, problem, reveal, type = 'text', ...attributes }: Props) {
  const id = useId()
  const [isRevealed, setRevealed] = useState(false)
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className={reveal ? 'beside' : undefined}>
        <input
          {...attributes}
          id={id}
          type={isRevealed ? 'text' : type}
          value={value}
          onChange={({ target }) => change(target.value)}
          aria-invalid={problem ? true : undefined}
          aria-describedby={described || undefined}
        />
        {reveal && (
          <button type="button" onClick={() => setRevealed(!isRevealed)} aria-pressed={isRevealed} aria-label={reveal.show}>
            {isRevealed ? reveal.hide : reveal.show}
          </button>
        )}
      </div>
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p className="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  )
}
