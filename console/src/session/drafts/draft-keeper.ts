/** Keeps one draft: at once in this browser, within a second on the service, and again and again until the service has it. */
import {
  begun,
  changed,
  createDraft,
  type DraftState,
  failed,
  found,
  isOnlyHere,
  isSame,
  isUnsaved,
  type Kept,
  keptMine,
  type LocalCopy,
  loaded,
  overtaken,
  refreshed,
  renewed,
  restored,
  retryAfterMs,
  type Stored,
  saved,
  tookTheirs,
} from './draft-state.ts'

/** How a draft could not be saved: another version is there; the same may be taken later; or it never will. */
export type Failure<Value> =
  | { kind: 'overtaken'; theirs: Stored<Value> }
  | { kind: 'later'; problem: string }
  | { kind: 'refused'; problem: string }

export interface DraftPorts<Value> {
  /** The page's own name, which no other page has. */
  page: string
  load(): Promise<Stored<Value>>
  /** @returns the version that was stored */
  save(kept: Kept<Value> | null, version: number): Promise<number>
  failureOf(error: unknown): Failure<Value>
  /** What a page that is gone has left in this browser. It is asked for once. */
  takeLeft(): Promise<LocalCopy<Value> | null>
  /** Keeps a copy in this browser, or forgets it. */
  keep(copy: LocalCopy<Value> | null): void
  createKey(): string
  later(ms: number, run: () => void): () => void
}

export interface DraftKeeper<Value> {
  state(): DraftState<Value>
  listen(listener: () => void): () => void
  set(value: Value | null): void
  restore(value: Value): void
  renew(): void
  keepMine(): void
  takeTheirs(): void
  /** Sends what is unsaved now. @returns whether the service has all of it; false: it could not be saved, or the person is to decide */
  settle(): Promise<boolean>
  /** Tries at once what waits for its next try. */
  hurry(): void
  /** Looks for what another page or machine has stored since. */
  refresh(): Promise<void>
}

/** Letters that follow within this time are saved together. */
const SAVE_MS = 700

export function createDraftKeeper<Value>(ports: DraftPorts<Value>): DraftKeeper<Value> {
  let state = createDraft<Value>(ports.page)
  let stopTimer: (() => void) | undefined
  let isAsking = false
  let left: LocalCopy<Value> | null | undefined
  const listeners = new Set<() => void>()
  const settling = new Set<(isSaved: boolean) => void>()

  function put(next: DraftState<Value>): void {
    if (next === state) return
    state = next
    if (!state.isLoading || state.kept) ports.keep(isOnlyHere(state) ? copyOf(state) : null)
    for (const listener of listeners) listener()
    proceed()
  }

  /** Sends what is unsaved after a while, and answers those who wait for it. */
  function proceed(): void {
    if (!state.isLoading && !state.sending && !isUnsaved(state)) answer(isSame(state.kept, state.stored.kept))
    else if (settling.size && isUnsaved(state)) void send()
    else if (isUnsaved(state)) wait(state.failures ? retryAfterMs(state.failures) : SAVE_MS, () => void send())
  }

  /** The first letter starts the time, later ones do not put it off. */
  function wait(ms: number, run: () => void): void {
    stopTimer ??= ports.later(ms, () => {
      stopTimer = undefined
      run()
    })
  }

  function stopWaiting(): void {
    stopTimer?.()
    stopTimer = undefined
  }

  function answer(isSaved: boolean): void {
    const waiting = [...settling]
    settling.clear()
    for (const one of waiting) one(isSaved)
  }

  async function load(): Promise<void> {
    if (isAsking) return
    isAsking = true
    try {
      // It is there at once, however long the service takes, so that nobody begins anew beside it.
      if (left === undefined) {
        left = await ports.takeLeft()
        if (left) put(found(state, left))
      }
      const stored = await ports.load()
      isAsking = false
      put(loaded(state, stored, left))
    } catch (error) {
      isAsking = false
      const failure = ports.failureOf(error)
      put(failed(state, failure.kind === 'overtaken' ? '' : failure.problem, false))
      answer(false)
      wait(retryAfterMs(state.failures), () => void load())
    }
  }

  async function send(): Promise<void> {
    if (!isUnsaved(state)) return
    stopWaiting()
    const { kept, stored } = state
    put(begun(state))
    try {
      const version = await ports.save(kept, stored.version)
      put(saved(state, version))
    } catch (error) {
      const failure = ports.failureOf(error)
      if (failure.kind === 'overtaken') return put(overtaken(state, failure.theirs))
      // Who waits for the draft is told at the first failure.
      answer(false)
      put(failed(state, failure.problem, failure.kind === 'refused'))
    }
  }

  void load()
  return {
    state: () => state,
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    set: (value) => put(changed(state, value, ports.page, ports.createKey)),
    restore: (value) => put(restored(state, value, ports.page, ports.createKey)),
    renew: () => put(renewed(state, ports.page, ports.createKey)),
    keepMine: () => put(keptMine(state, ports.page, ports.createKey)),
    takeTheirs: () => put(tookTheirs(state)),
    settle: () =>
      new Promise((resolve) => {
        settling.add(resolve)
        stopWaiting()
        if (state.isLoading) void load()
        else proceed()
      }),
    hurry() {
      if (!stopTimer) return
      stopWaiting()
      void (state.isLoading ? load() : send())
    },
    async refresh() {
      if (state.isLoading || isOnlyHere(state)) return
      const { stored: before } = state
      try {
        const stored = await ports.load()
        // An answer that comes after a save may be from before it.
        if (state.stored === before) put(refreshed(state, stored))
      } catch (error) {
        // What is here may be old, which the next save shows.
        const failure = ports.failureOf(error)
        if (failure.kind === 'refused') put(failed(state, failure.problem, false))
      }
    },
  }
}

const copyOf = <Value>({ kept, stored }: DraftState<Value>): LocalCopy<Value> => ({
  kept,
  version: stored.version,
  isNew: stored.kept === null,
})
