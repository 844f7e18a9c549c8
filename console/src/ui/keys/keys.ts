/** The keys of the page: features register theirs, so that one place runs them and `?` can list them. */
import { useLayoutEffect, useRef, useSyncExternalStore } from 'react'
import { keysOf } from './pressed.ts'

export interface Key {
  /** Such as `Ctrl+K`, `?`, `Shift+Space`. Ctrl is also ⌘. */
  keys: string
  /** What it does, for the list. */
  does: string
  /** Left out by a feature that hears its keys itself. */
  run?: () => void
}

export interface KeysOfPage {
  /** The heading of the list, such as `Table`. */
  page: string
  keys: readonly Key[]
}

let registered: readonly KeysOfPage[] = []
const listeners = new Set<() => void>()

function register(next: readonly KeysOfPage[]): void {
  registered = next
  for (const listener of listeners) listener()
}

/** Registers the keys while the component is shown. Of two with the same keys, that which was shown last runs. */
export function useKeys(page: string, keys: readonly Key[]): void {
  const latest = useRef(keys)
  latest.current = keys
  const shown = keys.map((key) => `${key.keys} ${key.does}`).join('\n')
  // With what is shown, so that whoever sees the page can press its keys.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the functions change with each rendering, the list does not.
  useLayoutEffect(() => {
    const runs = latest.current.map((key, at) => ({ ...key, ...(key.run && { run: () => latest.current[at]?.run?.() }) }))
    const entry = { page, keys: runs }
    register([...registered, entry])
    return () => register(registered.filter((one) => one !== entry))
  }, [page, shown])
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** All keys that work now. */
export const useAllKeys = (): readonly KeysOfPage[] => useSyncExternalStore(subscribe, () => registered)

/** Hears the keys of the page. @returns how to end it */
export function listenForKeys(): () => void {
  const hear = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return
    const pressed = keysOf(event)
    if (isPlain(event) && isTypedInto(event.target)) return
    const key = registered.flatMap(({ keys }) => keys).findLast((one) => one.run && one.keys === pressed)
    if (!key) return
    event.preventDefault()
    key.run?.()
  }
  addEventListener('keydown', hear)
  return () => removeEventListener('keydown', hear)
}

/** A key without Ctrl belongs to the field that has the focus, and to the dialog. */
const isPlain = ({ ctrlKey, metaKey }: KeyboardEvent) => !ctrlKey && !metaKey

const isTypedInto = (target: EventTarget | null): boolean => target instanceof Element && target.closest(TYPED_INTO) !== null

/** A checkbox takes Space only. */
const FIELD = 'input:not([type=checkbox], [type=radio], [type=button])'
const TYPED_INTO = `${FIELD}, textarea, select, [contenteditable=true], [role=dialog], [role=alertdialog], [role=menu]`
