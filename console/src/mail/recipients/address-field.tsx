/** Recipients as chips, with the addresses to choose from below while one is typed. */
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import type { RecordPlace } from '../../record/record-parts.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { type AddressOption, useAddressOptions } from './address-options.ts'
import { addressKey, type Recipients, readMailbox, splitAddresses, withAddresses } from './addresses.ts'

interface Props {
  label: string
  value: Recipients
  change(value: Recipients): void
  place: RecordPlace
  offered: readonly AddressOption[]
  /** The addresses that are in one of the lists. */
  taken: ReadonlySet<string>
  problem: string | undefined
  /** What the service says about addresses, by their key. */
  refused: ReadonlyMap<string, string>
  /** True if the focus is to be here when the field is shown. */
  isFocused: boolean
  children?: ReactNode
}

export function AddressField({ label, value, change, place, offered, taken, problem, refused, isFocused, children }: Props) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it is shown
  useEffect(() => {
    if (isFocused) input.current?.focus()
  }, [])
  const [isOpen, setOpen] = useState(false)
  const put = (texts: readonly string[]) => {
    change({ chosen: withAddresses(value.chosen, texts), typed: '' })
    // What is below is free again, until the next letter.
    setOpen(false)
  }
  const remove = (text: string) => {
    change({ ...value, chosen: value.chosen.filter((one) => one !== text) })
    input.current?.focus()
  }
  const leave = () => {
    setOpen(false)
    if (value.typed.trim()) put(splitAddresses(value.typed))
  }
  const described = [`${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div className="mail-row mail-addresses">
      <label htmlFor={id}>{label}</label>
      <div className="mail-chips">
        {value.chosen.map((text) => (
          <Chip key={text} text={text} problem={problemOf(text, refused)} remove={() => remove(text)} />
        ))}
        <Typed
          {...{ id, label, place, offered, taken, isOpen, setOpen, input, described, put, value, change }}
          isWrong={problem !== undefined}
          leave={leave}
          removeLast={() => value.chosen.length > 0 && remove(value.chosen.at(-1) ?? '')}
        />
      </div>
      {children}
      <p id={`${id}-hint`} className="visually-hidden">
        {composerTexts.addressHint}
      </p>
      {problem && (
        <p id={`${id}-problem`} className="problem">
          {problem}
        </p>
      )}
    </div>
  )
}

const problemOf = (text: string, refused: ReadonlyMap<string, string>): string | undefined =>
  readMailbox(text) ? refused.get(addressKey(text)) : composerTexts.noAddress

function Chip({ text, problem, remove }: { text: string; problem: string | undefined; remove(): void }) {
  const shown = readMailbox(text)?.name || text
  return (
    <span className="mail-chip" data-wrong={problem ? '' : undefined} title={problem ? `${text}: ${problem}` : text}>
      <span>
        {shown}
        {problem && <span className="visually-hidden"> {problem}</span>}
      </span>
      <button type="button" aria-label={composerTexts.remove(text)} onClick={remove}>
        <Icon name="x" />
      </button>
    </span>
  )
}

interface TypedProps extends Pick<Props, 'label' | 'place' | 'offered' | 'taken' | 'value' | 'change'> {
  id: string
  isOpen: boolean
  setOpen(isOpen: boolean): void
  input: React.RefObject<HTMLInputElement | null>
  described: string
  isWrong: boolean
  put(texts: readonly string[]): void
  leave(): void
  removeLast(): void
}

const isOfBrowser = ({ nativeEvent, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  nativeEvent.isComposing || ctrlKey || metaKey || altKey

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }

function Typed(props: TypedProps) {
  const { id, label, place, offered, taken, value, change, isOpen, setOpen, input, put } = props
  const options = useAddressOptions(place, offered, value.typed, taken)
  const [moved, setMoved] = useState<{ typed: string; at: number } | null>(null)
  // Nothing is highlighted by itself: an address that is typed to its end is the one that is meant.
  const at = moved?.typed === value.typed ? Math.min(moved.at, options.length - 1) : -1
  const isShown = isOpen && options.length > 0
  const choose = (option: AddressOption | undefined) => {
    if (option) put([option.text])
    setMoved(null)
  }

  const move = (step: number) => {
    setOpen(true)
    const next = at < 0 && step < 0 ? options.length - 1 : at + step
    setMoved({ typed: value.typed, at: Math.max(0, Math.min(next, options.length - 1)) })
  }
  /** A part of a name takes the first address that fits it, a whole address itself. */
  const enter = () => {
    if (isShown && at >= 0) choose(options[at])
    else if (isShown && value.typed.trim() && !readMailbox(value.typed)) choose(options[0])
    else if (value.typed.trim()) put(splitAddresses(value.typed))
  }
  const isEnding = (key: string) => (key === ',' || key === ';') && value.typed.trim() !== '' && !/^"[^"]*$/.test(value.typed)
  /** What the key does; nothing if it is for the field itself. */
  const doingOf = (key: string): (() => void) | undefined => {
    const step = STEPS[key]
    if (step !== undefined) return () => move(step)
    if (isEnding(key)) return () => put(splitAddresses(value.typed))
    if (key === 'Escape' && isShown) return () => setOpen(false)
    return key === 'Enter' ? enter : undefined
  }
  const keyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (isOfBrowser(event)) return
    if (event.key === 'Backspace' && value.typed === '') props.removeLast()
    const run = doingOf(event.key)
    if (!run) return
    run()
    event.preventDefault()
    event.stopPropagation()
  }
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const texts = splitAddresses(event.clipboardData.getData('text/plain'))
    if (texts.length < 2 && !texts.some(readMailbox)) return
    event.preventDefault()
    put([...splitAddresses(value.typed), ...texts])
  }
  return (
    <div className="mail-typed" data-filled={value.typed ? '' : undefined}>
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-options`}
        aria-activedescendant={isShown && at >= 0 ? `${id}-option-${at}` : undefined}
        aria-invalid={props.isWrong || undefined}
        aria-describedby={props.described}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        inputMode="email"
        value={value.typed}
        onChange={({ target }) => {
          setOpen(true)
          change({ ...value, typed: target.value })
        }}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={props.leave}
        onKeyDown={keyDown}
        onPaste={paste}
      />
      <div id={`${id}-options`} className="mail-options" role="listbox" aria-label={composerTexts.suggestions(label)} hidden={!isShown}>
        {isShown &&
          options.map(({ text, origin }, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are taken in the field
            <div
              key={text}
              id={`${id}-option-${index}`}
              role="option"
              aria-selected={index === at}
              className="mail-option"
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose({ text, origin })}
            >
              <span>{text}</span>
              <span className="muted">{origin}</span>
            </div>
          ))}
      </div>
    </div>
  )
}
