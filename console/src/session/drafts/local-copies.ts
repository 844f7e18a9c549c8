/** Copies of drafts in this browser. Each page has its own, so that no page overwrites what another one has not saved yet. */
import type { LocalCopy } from './draft-state.ts'

const PREFIX = 'gridpost.draft'

/** The name of this page among all that this browser has open. */
export const PAGE = randomText()

/** A text that nobody else has. `crypto.randomUUID` is there for pages of https only. */
export function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

// A page holds its lock until it is gone, whatever ends it. Without https there are no locks, and every other page counts as gone.
void navigator.locks?.request(`${PREFIX} ${PAGE}`, () => new Promise<void>(() => {}))

interface Written<Value> extends LocalCopy<Value> {
  at: number
}

const keyOf = (owner: number, name: string, page: string) => `${PREFIX} ${owner} ${name} ${page}`

/** Keeps the copy of this page, or forgets it. @param owner the user's id */
export function keepCopy<Value>(owner: number, name: string, copy: LocalCopy<Value> | null): void {
  const key = keyOf(owner, name, PAGE)
  try {
    if (copy) localStorage.setItem(key, JSON.stringify({ ...copy, at: Date.now() } satisfies Written<Value>))
    else localStorage.removeItem(key)
  } catch {
    // The browser has no room or keeps nothing: the service has the draft within a second.
  }
}

/** A copy that a page which is gone has left. It stays until it is forgotten. */
export interface LeftCopy<Value> {
  copy: LocalCopy<Value>
  forget(): void
}

/** Takes over the latest copy that a page which is gone has left of the draft. */
export async function takeLeftCopy<Value>(owner: number, name: string): Promise<LocalCopy<Value> | null> {
  const latest = (await leftCopies<Value>(owner, name)).at(-1)
  if (!latest) return null
  latest.forget()
  keepCopy(owner, name, latest.copy)
  return latest.copy
}

/** The copies that pages which are gone have left, the oldest one first. */
export async function leftCopies<Value>(owner: number, name: string): Promise<LeftCopy<Value>[]> {
  const held = (await navigator.locks?.query())?.held ?? []
  const open = new Set(held.map((lock) => lock.name))
  const prefix = keyOf(owner, name, '')
  return Object.keys(localStorage)
    .filter((key) => key.startsWith(prefix) && key !== keyOf(owner, name, PAGE))
    .filter((key) => !open.has(`${PREFIX} ${key.slice(prefix.length)}`))
    .flatMap((key) => {
      const copy = readCopy<Value>(key)
      return copy ? [{ key, copy }] : []
    })
    .sort((one, other) => one.copy.at - other.copy.at)
    .map(({ key, copy: { kept, version, isNew } }) => ({ copy: { kept, version, isNew }, forget: () => localStorage.removeItem(key) }))
}

function readCopy<Value>(key: string): Written<Value> | null {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
    return typeof read === 'object' && read !== null && 'kept' in read && 'version' in read && 'at' in read
      ? (read as Written<Value>)
      : null
  } catch {
    // A copy that is cut off is none.
    return null
  }
}
