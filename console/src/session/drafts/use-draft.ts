/** A draft of the person, which nothing that ends the page, the network, the session or the service can lose. */
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { sessionTexts } from '../../texts/session.ts'
import { type Client, useClient } from '../client.ts'
import { errorData, messageOf } from '../errors.ts'
import { useMe } from '../me.ts'
import { createDraftKeeper, type DraftKeeper, type Failure } from './draft-keeper.ts'
import { isOnlyHere, type Kept, type Stored } from './draft-state.ts'
import { keepCopy, PAGE, randomText, takeLeftCopy } from './local-copies.ts'

export interface Draft<Value> {
  /** Null: there is no draft. */
  value: Value | null
  /** The idempotency key to send it with. A draft that is begun after `clear` has another one. Empty if there is no draft. */
  key: string
  /** True until it is known what the service has. What is typed meanwhile is kept, and may become a conflict. */
  isPending: boolean
  /** True while only this browser has what was typed last. */
  isOnlyHere: boolean
  /** Why it could not be saved on the service, which is tried again and again. */
  problem: string | null
  /** Counts how often the value came from elsewhere: fields that keep their own text take it then. */
  revision: number
  /** Set if another page or machine has changed the draft meanwhile; nothing is saved until the person has decided. */
  conflict: { theirs: Value | null; keepMine(): void; takeTheirs(): void } | null
  set(value: Value): void
  /** Puts a value in that no field has typed, such as a draft that was discarded: fields that keep their own text take it. */
  restore(value: Value): void
  /** Removes the draft everywhere, such as after it was sent. */
  clear(): void
  /** Gives the draft another idempotency key, such as after the service has refused the present one with another content (409). */
  renew(): void
  /** Saves now. @returns whether the service has all of it */
  settle(): Promise<boolean>
  /** The draft at this moment, also after the component that used it is gone. */
  now(): { value: Value | null; key: string; isConflict: boolean }
}

/**
 * The draft of that name: `draft.<kind>.<table>.<record>`.
 * @param read what a stored value means, which may be from another release; null if it means nothing
 */
export function useDraft<Value>(name: `draft.${string}`, read: (stored: unknown) => Value | null): Draft<Value> {
  const client = useClient()
  const { id } = useMe()
  const keeper = useMemo(() => keeperOf(client, id, name), [client, id, name])
  const state = useSyncExternalStore(keeper.listen, keeper.state)
  useEffect(() => {
    void keeper.refresh()
    return () => void keeper.settle()
  }, [keeper])

  const { kept, conflict } = state
  // biome-ignore lint/correctness/useExhaustiveDependencies: how values are read does not change.
  const value = useMemo(() => (kept ? read(kept.value) : null), [kept])
  return {
    value,
    key: kept?.key ?? '',
    isPending: state.isLoading,
    isOnlyHere: isOnlyHere(state),
    problem: state.problem,
    revision: state.revision,
    conflict: conflict && {
      theirs: conflict.kept ? read(conflict.kept.value) : null,
      keepMine: keeper.keepMine,
      takeTheirs: keeper.takeTheirs,
    },
    set: keeper.set,
    restore: keeper.restore,
    clear: () => keeper.set(null),
    renew: keeper.renew,
    settle: keeper.settle,
    now() {
      const present = keeper.state()
      const isConflict = present.conflict !== null
      return { value: present.kept ? read(present.kept.value) : null, key: present.kept?.key ?? '', isConflict }
    },
  }
}

/** A draft that is closed goes on being saved, and is there at once when it is opened again. */
const keepers = new Map<string, DraftKeeper<unknown>>()

function keeperOf(client: Client, owner: number, name: string): DraftKeeper<unknown> {
  const key = `${owner} ${name}`
  const keeper = keepers.get(key) ?? createKeeper(client, owner, name)
  keepers.set(key, keeper)
  return keeper
}

function createKeeper(client: Client, owner: number, name: string): DraftKeeper<unknown> {
  return createDraftKeeper<unknown>({
    page: PAGE,
    async load() {
      const { rows } = await client.preferences.list.query({ prefix: name })
      return storedOf(rows.find((row) => row.name === name))
    },
    async save(kept, version) {
      const { version: stored } = await client.preferences.update.mutate({ name, value: kept }, { context: { ifMatch: version } })
      return stored
    },
    failureOf,
    takeLeft: () => takeLeftCopy(owner, name),
    keep: (copy) => keepCopy(owner, name, copy),
    createKey: randomText,
    later(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })
}

function storedOf(row: { value?: unknown; version: number } | undefined): Stored<unknown> {
  return { kept: isKept(row?.value) ? row.value : null, version: row?.version ?? 0 }
}

const isKept = (value: unknown): value is Kept<unknown> =>
  typeof value === 'object' && value !== null && 'value' in value && 'key' in value && 'by' in value

function failureOf(error: unknown): Failure<unknown> {
  const data = errorData(error)
  const current = data?.current
  if (data?.httpStatus === 409 && typeof current === 'object' && current !== null && 'version' in current)
    return { kind: 'overtaken', theirs: storedOf(current as { value?: unknown; version: number }) }
  const status = data?.httpStatus ?? 503
  const isFinal = status >= 400 && status < 500 && ![401, 408, 409, 429].includes(status)
  if (isFinal) return { kind: 'refused', problem: sessionTexts.draftRefused(messageOf(error)) }
  return { kind: 'later', problem: sessionTexts.draftOnlyHere }
}

addEventListener('online', () => {
  for (const keeper of keepers.values()) keeper.hurry()
})
// A page that is hidden may be gone without another word; one that is shown again may have been overtaken.
document.addEventListener('visibilitychange', () => {
  for (const keeper of keepers.values()) document.visibilityState === 'hidden' ? keeper.hurry() : void keeper.refresh()
})
