/** The views of the table as a list of links behind a button, so that each can be opened in a tab of its own. */
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import type { View } from '../grid/table-data.ts'
import { viewTexts } from '../texts/views/views.ts'
import { Icon } from '../ui/icons/icon.tsx'
import { AnchoredBox } from '../ui/overlays/anchored-box.tsx'
import type { ViewAction } from './saving/managing.tsx'

interface Props {
  table: { id: number; name: string }
  views: readonly View[]
  view: View
  actions: readonly ViewAction[]
}

export function ViewMenu({ table, views, view, actions }: Props) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <div className="view-menu">
      <button
        ref={button}
        type="button"
        className="button quiet"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-label={viewTexts.chosenView(view.name)}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' || isOpen) return
          event.preventDefault()
          setOpen(true)
        }}
      >
        <Icon name="table-2" />
        <span className="view-name" dir="auto">
          {view.name}
        </span>
        <Icon name="chevron-down" />
      </button>
      {isOpen && (
        <AnchoredBox anchor={button} label={viewTexts.views(table.name)} className="view-list">
          <ViewList
            {...{ table, views, view, actions }}
            close={(isByKey) => {
              setOpen(false)
              if (isByKey) button.current?.focus()
            }}
            isOwn={(target) => button.current?.contains(target) ?? false}
          />
        </AnchoredBox>
      )}
    </div>
  )
}

interface ListProps extends Props {
  /** @param isByKey true if the focus goes back to the button */
  close(isByKey: boolean): void
  isOwn(target: Node): boolean
}

function ViewList({ table, views, view, actions, close, isOwn }: ListProps) {
  const list = useRef<HTMLDivElement>(null)
  const latest = useRef({ close, isOwn })
  latest.current = { close, isOwn }

  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>('[aria-current]') ?? list.current?.querySelector<HTMLElement>('a')
    current?.focus({ preventScroll: true })
    const leave = ({ target }: Event) => {
      if (!(target instanceof Node) || list.current?.contains(target) || latest.current.isOwn(target)) return
      latest.current.close(false)
    }
    for (const kind of ['pointerdown', 'focusin']) document.addEventListener(kind, leave)
    return () => {
      for (const kind of ['pointerdown', 'focusin']) document.removeEventListener(kind, leave)
    }
  }, [])

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only moves the focus among its links and buttons
    <div
      ref={list}
      onKeyDown={(event) => {
        if (event.key === 'Escape' || event.key === 'Tab') {
          event.preventDefault()
          close(true)
        } else moveFocus(event)
      }}
    >
      <nav aria-label={viewTexts.views(table.name)}>
        <ul>
          {views.map(({ id, name, is_table_default }) => (
            <li key={id}>
              <Link
                to="/table/$tableId/view/$viewId"
                params={{ tableId: String(table.id), viewId: String(id) }}
                search={{}}
                activeProps={{}}
                aria-current={id === view.id ? 'page' : undefined}
                onClick={() => close(true)}
              >
                <span className="view-check">{id === view.id && <Icon name="check" />}</span>
                <span dir="auto">{name}</span>
                {is_table_default && <small>{viewTexts.isFirst}</small>}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <ul className="view-actions">
        {actions.map(({ does, run }) => (
          <li key={does}>
            <button
              type="button"
              onClick={() => {
                close(true)
                run()
              }}
            >
              {does}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

function moveFocus(event: KeyboardEvent<HTMLElement>) {
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('a, button')]
  const at = links.indexOf(document.activeElement as HTMLElement)
  // The views are what one looks for; what can be done with them comes after.
  const lastView = links.findLastIndex(({ tagName }) => tagName === 'A')
  const places: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lastView }
  const place = places[event.key]
  if (place === undefined) return
  event.preventDefault()
  links[(place + links.length) % links.length]?.focus()
}
