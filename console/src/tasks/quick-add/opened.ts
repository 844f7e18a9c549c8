/** Whether a new task is being written, and on which record. Anybody may open it; the shell shows it. */
import { useSyncExternalStore } from 'react'

export interface RecordOfTask {
  tableId: number
  recordId: number
  spaceId: number
  /** As it is called, such as `Acme`. */
  title: string
  table: string
}

/** `onRecord` is left out where the address says which record is open. */
export interface Opened {
  onRecord?: RecordOfTask | undefined
}

let opened: Opened | null = null
const listeners = new Set<() => void>()

function change(next: Opened | null): void {
  opened = next
  for (const listener of listeners) listener()
}

export const openQuickAdd = (onRecord?: RecordOfTask): void => change({ onRecord })
export const closeQuickAdd = (): void => change(null)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useOpened = (): Opened | null => useSyncExternalStore(subscribe, () => opened)
