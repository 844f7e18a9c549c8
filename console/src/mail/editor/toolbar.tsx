/** What can be done to the text, as buttons with names and pressed states. The arrows move between them (ARIA: toolbar). */
import { type FormEvent, type KeyboardEvent, type RefObject, useRef, useState } from 'react'
import { composerTexts } from '../../texts/mail/composer.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { IconName } from '../../ui/icons/icon-paths.ts'
import { TextField } from '../../ui/text-field.tsx'
import type { Action, EditorFacts, MailEditor } from './mail-editor.ts'
import { readLink } from './mail-schema.ts'
import type { TokenField } from './token-fields.ts'
import { TokenList, type TokenListKeys } from './token-list.tsx'

const ACTIONS: readonly { action: Action; icon: IconName; keys?: string }[] = [
  { action: 'strong', icon: 'bold', keys: 'Control+B' },
  { action: 'em', icon: 'italic', keys: 'Control+I' },
  { action: 'bullet_list', icon: 'list' },
  { action: 'ordered_list', icon: 'list-ordered' },
  { action: 'blockquote', icon: 'quote' },
]

interface Props {
  facts: EditorFacts
  editor: RefObject<MailEditor | null>
  fields: readonly TokenField[]
}

export function Toolbar({ facts, editor, fields }: Props) {
  const [open, setOpen] = useState<'link' | 'token' | null>(null)
  const bar = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const buttons = [...(bar.current?.querySelectorAll('button') ?? [])]
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
    if (step === undefined || at < 0) return
    event.preventDefault()
    buttons[(at + step + buttons.length) % buttons.length]?.focus()
  }
  const done = () => {
    setOpen(null)
    editor.current?.focus()
  }
  return (
    <>
      <div ref={bar} className="mail-toolbar" role="toolbar" aria-label={composerTexts.formatting} tabIndex={-1} onKeyDown={move}>
        {ACTIONS.map(({ action, icon, keys }, at) => (
          <ToolButton
            key={action}
            icon={icon}
            name={composerTexts.actions[action]}
            isPressed={facts.pressed.has(action)}
            isFirst={at === 0}
            {...(keys && { keys })}
            run={() => editor.current?.run(action)}
          />
        ))}
        <ToolButton
          icon="link"
          name={composerTexts.actions.link}
          isPressed={facts.linkHref !== null}
          run={() => setOpen(open === 'link' ? null : 'link')}
        />
        <ToolButton
          icon="braces"
          name={composerTexts.actions.token}
          isExpanded={open === 'token'}
          run={() => setOpen(open === 'token' ? null : 'token')}
        />
      </div>
      {open === 'link' && <LinkForm href={facts.linkHref} editor={editor} done={done} />}
      {open === 'token' && <TokenSearch fields={fields} editor={editor} done={done} />}
    </>
  )
}

interface ToolProps {
  icon: IconName
  name: string
  isPressed?: boolean
  isExpanded?: boolean
  isFirst?: boolean
  keys?: string
  run(): void
}

function ToolButton({ icon, name, isPressed, isExpanded, isFirst = false, keys, run }: ToolProps) {
  return (
    <button
      type="button"
      className="button quiet icon-only small"
      aria-label={name}
      title={keys ? `${name} (${keys.replace('Control', 'Ctrl')})` : name}
      aria-pressed={isPressed}
      aria-expanded={isExpanded}
      aria-keyshortcuts={keys}
      tabIndex={isFirst ? 0 : -1}
      // The selection stays in the text.
      onMouseDown={(event) => event.preventDefault()}
      onClick={run}
    >
      <Icon name={icon} />
    </button>
  )
}

function LinkForm({ href, editor, done }: { href: string | null; editor: Props['editor']; done(): void }) {
  const [text, setText] = useState(href ?? '')
  const [problem, setProblem] = useState<string>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation()
    const link = readLink(text)
    if (link === null) return setProblem(composerTexts.badLink)
    editor.current?.link(link)
    done()
  }
  const remove = () => {
    editor.current?.link(null)
    done()
  }
  return (
    <form
      className="link-form"
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        done()
      }}
    >
      <TextField
        label={composerTexts.linkAddress}
        value={text}
        change={(next) => {
          setText(next)
          setProblem(undefined)
        }}
        problem={problem}
        type="url"
        autoFocus
      />
      <button type="submit" className="button small">
        {composerTexts.setLink}
      </button>
      {href !== null && (
        <button type="button" className="button quiet small" onClick={remove}>
          {composerTexts.noLink}
        </button>
      )}
    </form>
  )
}

/** The list for whoever comes by the button and not by `{{`. */
function TokenSearch({ fields, editor, done }: { fields: readonly TokenField[]; editor: Props['editor']; done(): void }) {
  const [typed, setTyped] = useState('')
  const [active, setActive] = useState<string>()
  const keys = useRef<TokenListKeys>(null)
  return (
    <div className="token-search">
      <input
        role="combobox"
        aria-label={composerTexts.tokenSearch}
        aria-expanded
        aria-controls="mail-token-search"
        aria-autocomplete="list"
        aria-activedescendant={active}
        // biome-ignore lint/a11y/noAutofocus: the button that opens it sends the focus here
        autoFocus
        autoComplete="off"
        value={typed}
        placeholder={composerTexts.tokenSearch}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Tab' || !keys.current?.keyDown(event.key)) return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <TokenList
        id="mail-token-search"
        {...{ typed, fields, keys }}
        highlighted={setActive}
        choose={({ slug }) => {
          editor.current?.insertToken({ slug, form: '' })
          done()
        }}
        close={done}
      />
    </div>
  )
}
