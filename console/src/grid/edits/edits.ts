/**
 * Edits of cells: shown at once, and sent one after the other with the version that the record had when the edit began. The service's
 * answer decides: taken, refused (the cell is as before, and what was typed is kept), or changed by somebody else meanwhile.
 */
import type { ChangedRow } from '../pages/row.ts'
import {
  type Conflict,
  type Edit,
  type NewRecord,
  type RecordEdit,
  type Refusal,
  type RefusedCell,
  rebased,
  type StaleRecord,
  withoutConflicts,
} from './edit.ts'

/** What went wrong with a request, as far as it matters here. `later` has what the service said; null if it does not answer. */
export type Failure =
  | { kind: 'later'; reason: string | null; retryAfterMs: number | null }
  | { kind: 'signed-out' }
  | { kind: 'stale'; stale: StaleRecord[] }
  | { kind: 'refused'; message: string; cells: { id: number; field: string | null; message: string }[] }

export type Trouble = 'none' | 'lost' | 'busy' | 'signed-out'

export interface EditsOptions {
  /** Sends one edit. `key` is the same each time an edit is sent again, so that it is not done twice. */
  send(records: readonly RecordEdit[], key: string, creates: readonly NewRecord[]): Promise<{ rows: ChangedRow[]; changeId: number | null }>
  failureOf(error: unknown, records: readonly { id: number }[]): Failure
  later(ms: number, run: () => void): () => void
  newKey(): string
  changed(): void
  /** The edit was taken: these are the records now. */
  saved(edit: Edit, rows: ChangedRow[], changeId: number | null): void
  refused(edit: Edit, message: string): void
}

export interface Edits {
  /** @param group what it belongs to; several edits of one group are undone together */
  add(label: string, records: readonly RecordEdit[], group?: string): void
  /** @param key under which they are sent; by default a new one */
  create(label: string, creates: readonly NewRecord[], group?: string, key?: string): void
  /** Whether the record of a draft is on its way. */
  isCreating(draft: number): boolean
  /** The values that cells of a record show in place of the service's; the same object as long as they are the same. */
  pending(id: number): Readonly<Record<string, unknown>> | undefined
  /** The refused edits of cells of a record. */
  refusals(id: number): Readonly<Record<string, Refusal>> | undefined
  /** All cells whose edits were refused. */
  refused(): RefusedCell[]
  /** Keeps a text that the cell does not take, and says why. */
  refuse(id: number, field: string, refusal: Refusal): void
  forgetRefusal(id: number, field: string): void
  conflicts(): { edit: Edit; conflicts: readonly Conflict[] } | undefined
  /** Answers what `conflicts` asks: mine is written over theirs, or theirs stay and the rest of the edit is sent. */
  resolve(edit: Edit, keep: 'mine' | 'theirs'): void
  /** Edits that are not saved yet, and why they wait. `busy` has what the service said. */
  state(): { unsaved: number; trouble: Trouble; reason: string | null }
  /** Sends at once what waits for the connection or for the sign-in. */
  retry(): void
  /** The edits that are not saved, in their order. */
  unsaved(): readonly Edit[]
  /** Goes on with an edit that a page before this one has left. It may have been sent already, so it keeps its key. */
  goOn(left: Pick<Edit, 'key' | 'label' | 'records' | 'creates'>, group: string): void
  /** Takes back the last edit that has not been sent yet. */
  withdrawLast(): Edit | undefined
  /** Resolves once nothing waits and nothing is being sent. */
  whenIdle(): Promise<void>
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000

export function createEdits(options: EditsOptions): Edits {
  const queue: Edit[] = []
  const refusals = new Map<number, Record<string, Refusal>>()
  /** The versions that edits of ours have made, by the record and the version that they were based on. */
  const ownVersions = new Map<string, number>()
  let overlay = new Map<number, Record<string, unknown>>()
  let trouble: Trouble = 'none'
  let reason: string | null = null
  let failures = 0
  let cancelRetry: (() => void) | undefined
  let idle: (() => void)[] = []

  function changed(): void {
    overlay = new Map()
    for (const { records } of queue) for (const { id, values } of records) overlay.set(id, { ...overlay.get(id), ...values })
    if (!queue.length) {
      for (const resolve of idle) resolve()
      idle = []
    }
    options.changed()
  }

  function next(): void {
    const edit = queue[0]
    if (!edit || edit.state !== 'waiting' || cancelRetry || trouble === 'signed-out') return
    void send(edit)
  }

  async function send(edit: Edit): Promise<void> {
    edit.state = 'sending'
    edit.wasSent = true
    edit.records = edit.records.map((record) => ({ ...record, version: currentVersion(record) }))
    try {
      const { rows, changeId } = await options.send(edit.records, edit.key, edit.creates)
      failures = 0
      trouble = 'none'
      const sent = new Map(edit.records.map(({ id, version }) => [id, version]))
      for (const { id, version } of rows)
        if (sent.has(id) && sent.get(id) !== version) ownVersions.set(cellKey(id, `${sent.get(id)}`), version)
      remove(edit)
      options.saved(edit, rows, changeId)
    } catch (error) {
      settle(edit, options.failureOf(error, edit.creates.length ? edit.creates.map(asRecord) : edit.records))
    }
    changed()
    next()
  }

  /** An edit that began before an earlier one of ours was saved is based on that one. */
  function currentVersion({ id, version }: RecordEdit): number | undefined {
    let known = version
    for (let to = ownVersions.get(cellKey(id, `${known}`)); to !== undefined; to = ownVersions.get(cellKey(id, `${known}`))) known = to
    return known
  }

  function settle(edit: Edit, failure: Failure): void {
    edit.state = 'waiting'
    if (failure.kind === 'signed-out') trouble = 'signed-out'
    else if (failure.kind === 'later') wait(failure)
    else if (failure.kind === 'stale') rebase(edit, failure.stale)
    else refuse(edit, failure)
  }

  function wait({ reason: said, retryAfterMs }: Extract<Failure, { kind: 'later' }>): void {
    trouble = said === null ? 'lost' : 'busy'
    reason = said
    const ms = retryAfterMs ?? Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS)
    failures++
    cancelRetry = options.later(ms, () => {
      cancelRetry = undefined
      next()
    })
  }

  function rebase(edit: Edit, stale: readonly StaleRecord[]): void {
    trouble = 'none'
    const { records, conflicts } = rebased(edit.records, stale)
    edit.records = records
    edit.conflicts = conflicts
    // The service keeps the answer of a key, and this is another request.
    edit.key = options.newKey()
    if (conflicts.length) edit.state = 'asking'
  }

  function refuse(edit: Edit, { message, cells }: Extract<Failure, { kind: 'refused' }>): void {
    trouble = 'none'
    for (const { id, values } of [...edit.records, ...edit.creates.map(asRecord)]) {
      for (const [field, value] of Object.entries(values)) {
        const own = cells.find((cell) => cell.id === id && (cell.field === field || cell.field === null))
        if (own || !cells.length) refusals.set(id, { ...refusals.get(id), [field]: { message: own?.message ?? message, value } })
      }
    }
    remove(edit)
    options.refused(edit, message)
  }

  function forgetRefusals(id: number, fields: readonly string[]): boolean {
    const known = refusals.get(id)
    if (!known || !fields.some((field) => field in known)) return false
    const kept = Object.entries(known).filter(([field]) => !fields.includes(field))
    if (kept.length) refusals.set(id, Object.fromEntries(kept))
    else refusals.delete(id)
    return true
  }

  function remove(edit: Edit): void {
    queue.splice(queue.indexOf(edit), 1)
  }

  function push(edit: Pick<Edit, 'label' | 'records' | 'creates' | 'group'>, key = options.newKey(), wasSent = false): void {
    queue.push({ ...edit, key, state: 'waiting', wasSent, conflicts: [] })
    changed()
    next()
  }

  return {
    add(label, records, group = '') {
      if (!records.length) return
      for (const { id, values } of records) forgetRefusals(id, Object.keys(values))
      push({ label, records: [...records], creates: [], group })
    },
    create(label, creates, group = '', key = options.newKey()) {
      if (!creates.length) return
      for (const { draft, data } of creates) if (draft !== undefined) forgetRefusals(draft, Object.keys(data))
      push({ label, records: [], creates, group }, key)
    },
    isCreating: (draft) => queue.some(({ creates }) => creates.some((one) => one.draft === draft)),
    pending: (id) => overlay.get(id),
    refusals: (id) => refusals.get(id),
    refused: () =>
      [...refusals].flatMap(([id, cells]) => Object.entries(cells).map(([field, refusal]): RefusedCell => ({ id, field, refusal }))),
    refuse(id, field, refusal) {
      refusals.set(id, { ...refusals.get(id), [field]: refusal })
      options.changed()
    },
    forgetRefusal(id, field) {
      if (forgetRefusals(id, [field])) options.changed()
    },
    conflicts() {
      const edit = queue[0]
      return edit?.state === 'asking' ? { edit, conflicts: edit.conflicts } : undefined
    },
    resolve(edit, keep) {
      if (edit.state !== 'asking') return
      if (keep === 'theirs') edit.records = withoutConflicts(edit.records, edit.conflicts)
      edit.conflicts = []
      edit.state = 'waiting'
      if (!edit.records.length) {
        remove(edit)
        options.saved(edit, [], null)
      }
      changed()
      next()
    },
    state: () => ({ unsaved: queue.length, trouble, reason: trouble === 'busy' ? reason : null }),
    retry() {
      cancelRetry?.()
      cancelRetry = undefined
      if (trouble === 'signed-out') trouble = 'none'
      next()
    },
    unsaved: () => queue,
    goOn: ({ key, ...left }, group) => push({ ...left, group }, key, true),
    withdrawLast() {
      const edit = queue.at(-1)
      if (!edit || edit.wasSent || edit.creates.length) return undefined
      queue.pop()
      changed()
      return edit
    },
    whenIdle: () => (queue.length ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  }
}

/** A new record has no id but that of the row that shows it. */
const asRecord = ({ draft = 0, data }: NewRecord) => ({ id: draft, values: data })

const cellKey = (id: number, field: string) => `${id}.${field}`
