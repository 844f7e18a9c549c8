/** The edits of a table, which outlive its grid: what waits for the connection is sent after one has gone to another view. */
import type { Client } from '../../session/client.ts'
import { randomText } from '../../session/drafts/local-copies.ts'
import { gridTexts } from '../../texts/grid.ts'
import { announce } from '../../ui/announcer.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { type ChangedRow, type Row, withChange } from '../pages/row.ts'
import { type Edit, isSameValue, type NewRecord, type RecordEdit } from './edit.ts'
import { createEdits, type Edits } from './edits.ts'
import { failureOf } from './failures.ts'
import { isNothing, keepLeft, type Left, type TypedText, takeLeft } from './left-edits.ts'
import { createUndoStack, type UndoStack } from './undo-stack.ts'

export interface EditListener {
  changed(): void
  saved(rows: ChangedRow[]): void
  refused(message: string): void
  /** Records were created, those of drafts among them by the ids of these. */
  created?(count: number, drafts: ReadonlyMap<number, Row>): void
  /** Rows that a page before this one had not stored are drafts here. */
  restored?(drafts: readonly Row[]): void
}

export interface TableEdits {
  edits: Edits
  undo: UndoStack
  /** Rows that are not stored, which every grid of the table shows. They have negative ids. */
  readonly drafts: readonly Row[]
  keepDrafts(rows: readonly Row[]): void
  /** The id of a further draft. */
  newDraft(): number
  /** Sends records, and new ones, in batches that the service takes; one Ctrl+Z takes all of them back. */
  send(label: string, records: readonly RecordEdit[], creates?: readonly NewRecord[]): void
  /** Keeps the text of the editor that is open, for the case that the page ends; null once it is closed. */
  noteTyped(typed: TypedText | null): void
  /** The text in the editor of the cell, if it is open and something was typed. */
  typedIn(cell: { id: number; field: string }): string | undefined
  /** Whether something was typed into these fields that the service does not have. */
  holdsTyped(fields: readonly { id: string }[]): boolean
  listen(listener: EditListener): () => void
}

/** The most records of a batch (contract.md §10). */
const BATCH = 1_000

/** Typed texts are kept together once so long. */
const KEEP_MS = 300

const tables = new WeakMap<Client, Map<number, TableEdits>>()

/** The edits of a table, always the same ones for a client. */
export function editsOfTable(client: Client, tableId: number): TableEdits {
  const known = tables.get(client) ?? new Map<number, TableEdits>()
  tables.set(client, known)
  const edits = known.get(tableId) ?? createTableEdits(client, tableId)
  known.set(tableId, edits)
  return edits
}

function createTableEdits(client: Client, tableId: number): TableEdits {
  const listeners = new Set<EditListener>()
  const undo = createUndoStack()
  /** The batches of what a person did that are still on their way, by its label. */
  const batches = new Map<string, { label: string; left: number; changeIds: number[] }>()

  function noteChange(edit: Edit, changeId: number | null): void {
    const batch = batches.get(edit.group)
    if (!batch) return
    if (changeId !== null) batch.changeIds.push(changeId)
    batch.left--
    if (batch.left > 0) return
    batches.delete(edit.group)
    undo.push(batch)
  }

  let drafts: readonly Row[] = []
  let nextDraft = -1
  /** A draft has its key from the beginning, so that it is created once, whichever page sends it. */
  const draftKeys = new Map<number, string>()

  function newDraft(key = randomText()): number {
    draftKeys.set(nextDraft, key)
    return nextDraft--
  }

  function noteCreated(edit: Edit, rows: readonly ChangedRow[]): void {
    const created = new Map<number, Row>()
    for (const [index, { draft, data }] of edit.creates.entries()) {
      const record = rows[index]
      const row = drafts.find(({ id }) => id === draft)
      if (!record || !row) continue
      draftKeys.delete(row.id)
      moveTyped(row.id, record.id)
      created.set(row.id, withChange({ ...row, id: record.id }, record))
      // What was typed while the record was being made is an edit of it.
      const later = Object.entries(row).filter(
        ([field, value]) => field !== 'id' && !isSameValue(value, data[field] ?? (value === false ? false : null)),
      )
      const before = Object.fromEntries(later.map(([field]) => [field, record.data[field] ?? null]))
      if (later.length) edits.add(gridTexts.edit, [{ id: record.id, version: record.version, values: Object.fromEntries(later), before }])
    }
    drafts = drafts.filter(({ id }) => !created.has(id))
    for (const listener of listeners) listener.created?.(rows.length, created)
  }

  /** What was typed into cells of a draft belongs to its record. */
  function moveTyped(draft: number, record: number): void {
    if (typed?.id === draft) typed = { ...typed, id: record }
    for (const [field, refusal] of Object.entries(edits.refusals(draft) ?? {})) {
      edits.forgetRefusal(draft, field)
      edits.refuse(record, field, refusal)
    }
  }

  let typed: TypedText | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let hasLeft = false

  const hasTyped = (row: Row) => isFilled(row) || typed?.id === row.id || edits.refusals(row.id) !== undefined
  const left = (): Left => ({
    edits: edits.unsaved(),
    typed,
    refused: edits.refused(),
    rows: drafts.filter(hasTyped).map((row) => ({ row, key: draftKeys.get(row.id) ?? '' })),
  })

  function keep(): void {
    clearTimeout(timer)
    timer = undefined
    const present = left()
    const isEmpty = isNothing(present)
    // Most pages have nothing to keep, most of the time.
    if (!hasLeft && isEmpty) return
    hasLeft = !isEmpty
    keepLeft(tableId, present)
  }

  async function goOn(): Promise<void> {
    const counts = { edits: 0, rows: 0 }
    await takeLeft(tableId, (one) => {
      counts.edits += one.edits.length
      counts.rows += takeOver(one)
      hasLeft = true
      keep()
    })
    if (counts.edits) toast(gridTexts.goesOn(counts.edits))
    if (counts.rows) toast(gridTexts.rowsAreBack(counts.rows))
  }

  /** Goes on with what another page has left. Its drafts get ids of this page. @returns how many rows are drafts again that wait */
  function takeOver({ edits: leftEdits, typed: text, refused, rows }: Left): number {
    const ids = new Map(rows.map(({ row, key }) => [row.id, newDraft(key)]))
    const idOf = (id: number) => (id > 0 ? id : (ids.get(id) ?? newDraft()))
    const restored = rows.map(({ row }): Row => ({ ...row, id: idOf(row.id) }))
    drafts = [...drafts, ...restored]
    for (const { id, field, refusal } of refused) edits.refuse(idOf(id), field, refusal)
    if (text) edits.refuse(idOf(text.id), text.field, { message: gridTexts.endedWhileTyping, value: null, typed: text.text })
    for (const { creates, ...edit } of leftEdits) {
      const group = randomText()
      batches.set(group, { label: edit.label, left: 1, changeIds: [] })
      const made = creates.map(({ draft, data }) => ({ data, ...(draft !== undefined && { draft: idOf(draft) }) }))
      edits.goOn({ ...edit, creates: made }, group)
    }
    for (const listener of listeners) listener.restored?.(restored)
    return restored.filter(({ id }) => !edits.isCreating(id)).length
  }

  const edits: Edits = createEdits({
    async send(records, key, creates) {
      const context = { idempotencyKey: key }
      if (creates.length) {
        const made = creates.map(({ data }) => ({ data }))
        const answer = await client.records.createBatch.mutate({ table_id: tableId, records: made }, { context })
        return { rows: answer.rows, changeId: answer.change_id }
      }
      const sent = records.map(({ id, version, values }) => ({ id, data: values, ...(version !== undefined && { version }) }))
      const answer = await client.records.updateBatch.mutate({ table_id: tableId, records: sent }, { context })
      return { rows: answer.rows, changeId: answer.change_id }
    },
    failureOf,
    later(ms, run) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
    newKey: randomText,
    changed() {
      keep()
      for (const listener of listeners) listener.changed()
    },
    saved(edit, rows, changeId) {
      noteChange(edit, changeId)
      if (edit.creates.length) return noteCreated(edit, rows)
      announce(gridTexts.saved)
      for (const listener of listeners) listener.saved(rows)
    },
    refused(edit, message) {
      noteChange(edit, null)
      for (const listener of listeners) listener.refused(message)
    },
  })
  // A browser that cannot say what is left has nothing to go on with.
  goOn().catch(() => undefined)
  addEventListener('online', () => edits.retry())
  addEventListener('beforeunload', (event) => {
    if (edits.state().unsaved || drafts.some(isFilled)) event.preventDefault()
  })

  return {
    edits,
    undo,
    get drafts() {
      return drafts
    },
    keepDrafts(rows) {
      drafts = rows
      keep()
    },
    newDraft: () => newDraft(),
    send(label, records, creates = []) {
      const [changed, made] = [partsOf(records), partsOf(creates)]
      typed = null
      if (!changed.length && !made.length) return keep()
      const group = randomText()
      batches.set(group, { label, left: changed.length + made.length, changeIds: [] })
      for (const part of changed) edits.add(label, part, group)
      for (const part of made) edits.create(label, part, group, draftKeys.get(part[0]?.draft ?? 0))
    },
    noteTyped(next) {
      typed = next
      if (next === null) keep()
      else timer ??= setTimeout(keep, KEEP_MS)
    },
    typedIn: ({ id, field }) => (typed?.id === id && typed.field === field ? typed.text : undefined),
    holdsTyped: (fields) =>
      !isNothing({ ...left(), refused: edits.refused().filter(({ field }) => fields.some(({ id }) => id === field)) }),
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

const partsOf = <One>(all: readonly One[]): (readonly One[])[] =>
  Array.from({ length: Math.ceil(all.length / BATCH) }, (_, part) => all.slice(part * BATCH, (part + 1) * BATCH))

const isFilled = ({ id: _, ...values }: Row): boolean =>
  Object.values(values).some((value) => value !== null && value !== '' && value !== false)
