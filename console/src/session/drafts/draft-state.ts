/** What becomes of a draft: what is typed, what the service has, and what is to be sent next. It knows no time, network or page. */

/** A draft as it is stored under its name. */
export interface Kept<Value> {
  value: Value
  /** The idempotency key under which the draft is sent, so that nothing is there twice. */
  key: string
  /** The page that wrote it. What a page has written itself is no conflict, even if it never got the answer. */
  by: string
}

/** A copy in this browser that the service may lack. Null in place of the draft: it was cleared. */
export interface LocalCopy<Value> {
  kept: Kept<Value> | null
  /** The version of the stored draft that it goes on from. */
  version: number
  /** Whether nothing was stored then. */
  isNew: boolean
}

export interface Stored<Value> {
  kept: Kept<Value> | null
  version: number
}

export interface DraftState<Value> {
  /** True until it is known what the service has. */
  isLoading: boolean
  kept: Kept<Value> | null
  /** What the service has, as far as this page knows. */
  stored: Stored<Value>
  /** What is on its way to the service. */
  sending: { kept: Kept<Value> | null } | null
  /** What the service has instead of what this page goes on from: the person decides. */
  conflict: Stored<Value> | null
  /** What the service has refused for good, as it was sent. It is not sent again. */
  refused: { kept: Kept<Value> | null } | null
  /** How often in a row the draft could not be saved. */
  failures: number
  /** Why it could not be saved at last. */
  problem: string | null
  /** The pages whose writing this one goes on from. */
  own: ReadonlySet<string>
  /** True if the service may have cleared the draft by a request of this page. */
  hasCleared: boolean
  /** Counts how often the value came from elsewhere, so that fields know when to take it. */
  revision: number
}

export const createDraft = <Value>(page: string): DraftState<Value> => ({
  isLoading: true,
  kept: null,
  stored: { kept: null, version: 0 },
  sending: null,
  conflict: null,
  refused: null,
  failures: 0,
  problem: null,
  own: new Set([page]),
  hasCleared: false,
  revision: 0,
})

/** Takes what this browser has kept, before it is known what the service has. What was typed before stays. */
export function found<Value>(state: DraftState<Value>, { kept }: LocalCopy<Value>): DraftState<Value> {
  if (state.kept !== null || kept === null) return state
  return { ...state, kept, own: new Set([...state.own, kept.by]), revision: state.revision + 1 }
}

/** Takes what the service has. What was typed before stays, and goes on from what this browser has kept. */
export function loaded<Value>(state: DraftState<Value>, stored: Stored<Value>, local: LocalCopy<Value> | null): DraftState<Value> {
  const opened = { ...state, isLoading: false, failures: 0, problem: null }
  const own = local?.kept ? new Set([...state.own, local.kept.by]) : state.own
  if (state.kept !== null) return meeting({ ...opened, own }, stored, local ?? { version: 0, isNew: true })
  const taken = { ...opened, own, kept: local ? local.kept : stored.kept, revision: state.revision + 1, hasCleared: local?.kept === null }
  return local ? meeting(taken, stored, local) : { ...taken, stored }
}

/** Takes what another page or machine has stored since, unless something is under way here. */
export function refreshed<Value>(state: DraftState<Value>, stored: Stored<Value>): DraftState<Value> {
  if (state.isLoading || state.conflict || isOnlyHere(state) || isSame(state.stored.kept, stored.kept)) return state
  return { ...state, kept: stored.kept, stored, revision: state.revision + 1 }
}

/** Joins what this page has with what the service has, which is a conflict if somebody else has changed it since that version. */
function meeting<Value>(
  state: DraftState<Value>,
  stored: Stored<Value>,
  { version, isNew }: { version: number; isNew: boolean },
): DraftState<Value> {
  const { kept, own, hasCleared } = state
  const isOwn = stored.kept ? own.has(stored.kept.by) : hasCleared || isNew
  if (stored.version === version || isSame(kept, stored.kept) || isOwn) return { ...state, stored, conflict: null }
  // Nobody is asked about a draft that is done with: what somebody else has begun since is there instead.
  if (kept === null) return { ...state, kept: stored.kept, stored, conflict: null, revision: state.revision + 1 }
  return { ...state, conflict: stored }
}

export function isSame<Value>(one: Kept<Value> | null, other: Kept<Value> | null): boolean {
  if (one === other) return true
  return one !== null && other !== null && one.key === other.key && JSON.stringify(one.value) === JSON.stringify(other.value)
}

/** @param value null clears the draft @param createKey makes the idempotency key of a draft that is begun */
export function changed<Value>(state: DraftState<Value>, value: Value | null, page: string, createKey: () => string): DraftState<Value> {
  if (value === null) return { ...state, kept: null, conflict: null, refused: null, problem: null }
  return { ...state, kept: { value, key: state.kept?.key ?? createKey(), by: page } }
}

/** Takes a value that no field has typed, such as a draft that was discarded and comes back. */
export function restored<Value>(state: DraftState<Value>, value: Value, page: string, createKey: () => string): DraftState<Value> {
  return { ...changed(state, value, page, createKey), revision: state.revision + 1 }
}

/** Gives the draft another idempotency key, after the old one was used for something else. */
export const renewed = <Value>(state: DraftState<Value>, page: string, createKey: () => string): DraftState<Value> =>
  state.kept ? { ...state, kept: { ...state.kept, key: createKey(), by: page } } : state

/** Whether something is to be sent now. */
export function isUnsaved<Value>({ isLoading, kept, stored, sending, conflict, refused }: DraftState<Value>): boolean {
  if (isLoading || sending || conflict) return false
  return !isSame(kept, stored.kept) && !(refused && isSame(refused.kept, kept))
}

/** Whether the browser has to keep a copy, because the service lacks something. */
export const isOnlyHere = <Value>({ kept, stored, sending }: DraftState<Value>): boolean => sending !== null || !isSame(kept, stored.kept)

export const begun = <Value>(state: DraftState<Value>): DraftState<Value> => ({
  ...state,
  sending: { kept: state.kept },
  hasCleared: state.kept === null,
})

/** The service has taken what was sent. Letters that were typed meanwhile are sent next. */
export function saved<Value>(state: DraftState<Value>, version: number): DraftState<Value> {
  const kept = state.sending?.kept ?? null
  return { ...state, stored: { kept, version }, sending: null, refused: null, failures: 0, problem: null }
}

/** The service has another version than this page goes on from. */
export const overtaken = <Value>(state: DraftState<Value>, theirs: Stored<Value>): DraftState<Value> =>
  meeting({ ...state, sending: null, failures: 0, problem: null }, theirs, { version: -1, isNew: state.stored.kept === null })

/** The service, the network or the session was away. @param isFinal true if the service refuses this value whenever it is sent */
export function failed<Value>(state: DraftState<Value>, problem: string, isFinal: boolean): DraftState<Value> {
  return { ...state, sending: null, refused: isFinal ? state.sending : null, failures: state.failures + 1, problem }
}

/** What is here replaces what the service has. A draft that was done with elsewhere begins anew, under a key of its own. */
export function keptMine<Value>(state: DraftState<Value>, page: string, createKey: () => string): DraftState<Value> {
  if (!state.conflict) return state
  const mine = { ...state, stored: state.conflict, conflict: null }
  return state.conflict.kept?.key === state.kept?.key ? mine : renewed(mine, page, createKey)
}

/** What the service has replaces what is here. */
export const tookTheirs = <Value>(state: DraftState<Value>): DraftState<Value> =>
  state.conflict ? { ...state, kept: state.conflict.kept, stored: state.conflict, conflict: null, revision: state.revision + 1 } : state

/** After a failure the draft is sent again, the later the more often it has failed. */
export const retryAfterMs = (failures: number): number => Math.min(1000 * 2 ** (failures - 1), 30_000)
