/** Short messages about what has just happened, with a way to take it back. Features call `toast`; the shell shows them. */
import { useSyncExternalStore } from 'react'
import { announce } from '../announcer.ts'

export interface Toast {
  id: number
  text: string
  action?: ToastAction | undefined
  lastsMs: number
}

interface ToastAction {
  /** Such as `Undo`. */
  label: string
  run: () => void
}

interface ToastOptions {
  action?: ToastAction
  /** How long it is shown. It stays while the pointer or the focus is on it. */
  lastsMs?: number
}

const LASTS_MS = 5000
/** Something that can be taken back needs time to be read and reached. */
const LASTS_WITH_ACTION_MS = 10_000
const MOST_SHOWN = 3

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/**
 * Shows a message, and says it to those who cannot see it.
 * @returns how to close it before its time
 */
export function toast(text: string, { action, lastsMs = action ? LASTS_WITH_ACTION_MS : LASTS_MS }: ToastOptions = {}): () => void {
  lastId += 1
  const id = lastId
  change([...toasts, { id, text, action, lastsMs }].slice(-MOST_SHOWN))
  announce(text)
  return () => closeToast(id)
}

export function closeToast(id: number): void {
  if (toasts.some((one) => one.id === id)) change(toasts.filter((one) => one.id !== id))
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useToasts = (): readonly Toast[] => useSyncExternalStore(subscribe, () => toasts)
