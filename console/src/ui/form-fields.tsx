/** Labelled fields beside the text field: choices, long texts, checks. */
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from 'react'
import './field.css'

interface Common {
  label: string
  hint?: ReactNode
  problem?: string | undefined
}

/** The ids of what describes a field. */
const describedBy = (id: string, { hint, problem }: Common): string | undefined =>
  [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ') || undefined

function Around({ id, hint, problem, children }: Omit<Common, 'label'> & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      {children}
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

interface SelectProps extends Common, Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> {
  value: string
  change: (value: string) => void
  /** Values and what is said of them. */
  options: readonly Option[]
  /** More of them, below names of their own. */
  groups?: readonly { name: string; options: readonly Option[] }[]
}
type Option = readonly [value: string, text: string]

const optionsOf = (options: readonly Option[]) =>
  options.map(([one, text]) => (
    <option key={one} value={one}>
      {text}
    </option>
  ))

export function SelectField({ label, hint, problem, value, change, options, groups = [], ...attributes }: SelectProps) {
  const id = useId()
  return (
    <Around {...{ id, hint, problem }}>
      <label htmlFor={id}>{label}</label>
      <select
        {...attributes}
        id={id}
        value={value}
        onChange={({ target }) => change(target.value)}
        aria-invalid={problem ? true : undefined}
        aria-describedby={describedBy(id, { label, hint, problem })}
      >
        {optionsOf(options)}
        {groups.map(({ name, options: grouped }) => (
          <optgroup key={name} label={name}>
            {optionsOf(grouped)}
          </optgroup>
        ))}
      </select>
    </Around>
  )
}

interface AreaProps extends Common, Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange' | 'value'> {
  value: string
  change: (value: string) => void
}

export function AreaField({ label, hint, problem, value, change, ...attributes }: AreaProps) {
  const id = useId()
  return (
    <Around {...{ id, hint, problem }}>
      <label htmlFor={id}>{label}</label>
      <textarea
        {...attributes}
        id={id}
        dir="auto"
        value={value}
        onChange={({ target }) => change(target.value)}
        aria-invalid={problem ? true : undefined}
        aria-describedby={describedBy(id, { label, hint, problem })}
      />
    </Around>
  )
}

/** A text with suggestions, any of which can be taken, or another. */
interface SuggestedProps extends Common, Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value' | 'list'> {
  value: string
  change: (value: string) => void
  suggestions: readonly string[]
}

export function SuggestedField({ label, hint, problem, value, change, suggestions, ...attributes }: SuggestedProps) {
  const id = useId()
  return (
    <Around {...{ id, hint, problem }}>
      <label htmlFor={id}>{label}</label>
      <input
        {...attributes}
        id={id}
        list={`${id}-list`}
        value={value}
        onChange={({ target }) => change(target.value)}
        aria-invalid={problem ? true : undefined}
        aria-describedby={describedBy(id, { label, hint, problem })}
      />
      <datalist id={`${id}-list`}>
        {suggestions.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </Around>
  )
}

interface CheckProps extends Common {
  checked: boolean
  change: (checked: boolean) => void
}

export function CheckField({ label, hint, problem, checked, change }: CheckProps) {
  const id = useId()
  return (
    <Around {...{ id, hint, problem }}>
      <label className="check">
        <input
          type="checkbox"
          checked={checked}
          onChange={({ target }) => change(target.checked)}
          aria-invalid={problem ? true : undefined}
          aria-describedby={describedBy(id, { label, hint, problem })}
        />
        {label}
      </label>
    </Around>
  )
}

interface ChoiceProps<Value extends string> extends Common {
  value: Value
  change: (value: Value) => void
  /** Values, what they are called, and what they mean. */
  choices: readonly (readonly [value: Value, text: string, hint?: string])[]
}

/** One of a few, all in sight. */
export function ChoiceField<Value extends string>({ label, hint, problem, value, change, choices }: ChoiceProps<Value>) {
  const id = useId()
  return (
    <Around {...{ id, hint, problem }}>
      <fieldset className="choices-in-sight" aria-describedby={describedBy(id, { label, hint, problem })}>
        <legend>{label}</legend>
        {choices.map(([one, text, more]) => (
          <label key={one} className="check">
            <input
              type="radio"
              name={id}
              value={one}
              checked={one === value}
              onChange={() => change(one)}
              aria-describedby={more && `${id}-${one}`}
            />
            <span>
              {text}
              {more && (
                <small className="hint" id={`${id}-${one}`}>
                  {more}
                </small>
              )}
            </span>
          </label>
        ))}
      </fieldset>
    </Around>
  )
}
