/** Editors that are loaded when they are first needed, or when the page has time for them. What is typed meanwhile is kept. */
import { type ComponentType, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { messageOf } from '../../session/errors.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import type { EditorProps } from '../cell-kind.ts'
import { moveOf, OWN_EVENTS } from './editing.ts'

const calendars = () => import('./calendar-below.tsx')
const choices = module(() => import('./choice-editors.tsx'))
const files = module(() => import('./files-editor.tsx'))

export const DateBelow = lazyPart(async () => ({ default: (await calendars()).DateBelow }))
export const DatetimeBelow = lazyPart(async () => ({ default: (await calendars()).DatetimeBelow }))

export const SelectEditor = later(choices, ({ SelectEditor }) => SelectEditor)
export const MultiSelectEditor = later(choices, ({ MultiSelectEditor }) => MultiSelectEditor)
export const UserEditor = later(choices, ({ UserEditor }) => UserEditor)
export const MultiUserEditor = later(choices, ({ MultiUserEditor }) => MultiUserEditor)
export const LinkEditor = later(choices, ({ LinkEditor }) => LinkEditor)
export const MultiLinkEditor = later(choices, ({ MultiLinkEditor }) => MultiLinkEditor)
export const FilesEditor = later(files, ({ FilesEditor }) => FilesEditor)

/** Loads all editors, for a page that has time. What fails to load is asked for again when it is needed. */
export async function preloadEditors(): Promise<void> {
  await Promise.allSettled([choices.load(), calendars(), files.load()])
}

interface LaterModule<Module> {
  load(): Promise<Module>
  loaded(): Module | undefined
}

function module<Module>(load: () => Promise<Module>): LaterModule<Module> {
  let loaded: Module | undefined
  return {
    load: async () => {
      loaded ??= await load()
      return loaded
    },
    loaded: () => loaded,
  }
}

/** An editor that is there at once if it was loaded before, because the next key comes within milliseconds. */
function later<Module>(
  { load, loaded }: LaterModule<Module>,
  pick: (module: Module) => ComponentType<EditorProps>,
): ComponentType<EditorProps> {
  return function LaterEditor(props: EditorProps) {
    const [module, setModule] = useState(loaded)
    const [typed, setTyped] = useState(props.typed)
    const [isEntered, setIsEntered] = useState(false)
    const [problem, setProblem] = useState<string | null>(null)
    useEffect(() => {
      if (module) return
      load().then(
        (found) => setModule(() => found),
        (error: unknown) => setProblem(messageOf(error)),
      )
    }, [module, load])

    if (module) {
      const Editor = pick(module)
      return <Editor {...props} typed={typed} isEntered={isEntered} />
    }
    const label = props.label ?? props.field.name
    return <Waiting {...{ typed, label, problem }} onType={setTyped} onEnter={() => setIsEntered(true)} onLeave={props.cancel} />
  }
}

interface WaitingProps {
  typed: string | undefined
  label: string
  problem: string | null
  onType(text: string): void
  onEnter(): void
  onLeave(): void
}

/** A text field for what is typed until the editor is there. */
function Waiting({ typed, label, problem, onType, onEnter, onLeave }: WaitingProps) {
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), [])
  return (
    <div className="cell-editor">
      <input
        {...OWN_EVENTS}
        ref={field}
        className="cell-input"
        aria-label={label}
        aria-busy={problem === null}
        aria-invalid={problem !== null}
        title={problem ?? undefined}
        value={typed ?? ''}
        onChange={({ target }) => onType(target.value)}
        onKeyDown={(event) => {
          event.stopPropagation()
          const move = moveOf(event)
          if (move === 'cancel') onLeave()
          else if (move === 'down') onEnter()
        }}
      />
    </div>
  )
}
