/** The timeline of a record as it is read: comments and mails, changes, and tasks, joined, each list by its own cursor. */
import type { Client } from 'gridpost-client'
import { createListReader, type ListReader } from './list-reader.ts'
import { merge } from './merge.ts'
import type { Ordered } from './newest-first.ts'
import type { ChangeRow, CommentRow, Entry, Kind, TaskRow } from './rows.ts'

export interface TimelineState {
  /** The newest first. */
  entries: readonly Entry[]
  /** True if older entries than these do not exist. */
  isWhole: boolean
  isLoading: boolean
  problem: string | null
}

export interface TimelineSource {
  state(): TimelineState
  listen(listener: () => void): () => void
  /** Reads on until at least so many entries are there. */
  need(count: number): void
  /** Tries at once what could not be read. */
  retry(): void
  lists: TimelineLists
  end(): void
}

export interface TimelineLists {
  comments: ListReader<CommentRow>
  changes: ListReader<ChangeRow>
  tasks: ListReader<TaskRow>
}

type CommentType = CommentRow['type']
const COMMENT_TYPES: readonly CommentType[] = ['comment', 'email_out', 'email_in']

/** At most so many rows the service lists at once. */
const ROWS = 100
const FEW_ROWS = 50

const orders = {
  comments: { positionOf: ({ id }) => ['', id] } satisfies Ordered<CommentRow>,
  // A record has each version once, and an import the first.
  changes: { positionOf: ({ version }) => ['', version] } satisfies Ordered<ChangeRow>,
  tasks: { positionOf: ({ created_at, id }) => [created_at, id] } satisfies Ordered<TaskRow>,
}

interface Shown {
  tableId: number
  recordId: number
  /** The kinds of entries that are not left out. */
  kinds: ReadonlySet<Kind>
}

export function createTimelineSource(client: Client, { tableId, recordId, kinds }: Shown): TimelineSource {
  const listeners = new Set<() => void>()
  let wanted = 0
  let state: TimelineState = { entries: [], isWhole: false, isLoading: true, problem: null }
  const record = { table_id: tableId, record_id: recordId }
  // The first page is small, because it is what one waits for.
  const page = (cursor: string | null) => ({ ...record, limit: cursor === null ? FEW_ROWS : ROWS, cursor: cursor ?? '' })
  const pageOf = <Row>({ rows, next_cursor }: { rows: Row[]; next_cursor?: string | null | undefined }) => ({
    rows,
    next: next_cursor ?? null,
  })
  const types = COMMENT_TYPES.filter((type) => kinds.has(type))

  const lists: TimelineLists = {
    comments: createListReader(
      async (cursor) => pageOf(await client.comments.list.query({ ...page(cursor), types })),
      orders.comments,
      () => join(),
    ),
    changes: createListReader(
      async (cursor) => pageOf(await client.records.history.query(page(cursor))),
      orders.changes,
      () => join(),
    ),
    tasks: createListReader(
      async (cursor) => pageOf(await client.tasks.listOnRecord.query({ ...page(cursor), order: 'created' })),
      orders.tasks,
      () => join(),
    ),
  }
  const shown = [
    ...(types.length ? [{ reader: lists.comments, entryOf: commentEntry }] : []),
    ...(kinds.has('task') ? [{ reader: lists.tasks, entryOf: taskEntry }] : []),
    ...(kinds.has('change') ? [{ reader: lists.changes, entryOf: changeEntry }] : []),
  ] as { reader: ListReader<object>; entryOf(row: object): Entry }[]

  function join(): void {
    const known = shown.map(({ reader, entryOf }) => {
      const { rows, next } = reader.list()
      return { entries: rows.map(entryOf), isWhole: next === null }
    })
    const { entries, wanting } = merge(known)
    const problems = shown.flatMap(({ reader }) => reader.problem() ?? [])
    const isWhole = wanting.length === 0
    const isLacking = !isWhole && entries.length < wanted
    state = { entries, isWhole, isLoading: isLacking, problem: problems[0] ?? null }
    for (const listener of listeners) listener()
    if (isLacking && !problems.length) for (const index of wanting) if (!shown[index]?.reader.isReading()) shown[index]?.reader.more()
  }

  return {
    state: () => state,
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    need(count) {
      if (count <= wanted) return
      wanted = count
      join()
    },
    retry() {
      for (const { reader } of shown) if (reader.problem() !== null) reader.more()
    },
    lists,
    end() {
      for (const reader of Object.values(lists)) reader.end()
    },
  }
}

/** The entry of a row. The same row has the same entry, so that it is not shown anew. */
const entries = new WeakMap<object, Entry>()

function entryOfRow(row: object, create: () => Entry): Entry {
  const known = entries.get(row) ?? create()
  entries.set(row, known)
  return known
}

const commentEntry = (row: CommentRow): Entry =>
  entryOfRow(row, () => ({ kind: row.type, key: `comment-${row.id}`, at: row.created_at, row }))
const changeEntry = (row: ChangeRow): Entry => entryOfRow(row, () => ({ kind: 'change', key: `change-${row.version}`, at: row.at, row }))
const taskEntry = (row: TaskRow): Entry => entryOfRow(row, () => ({ kind: 'task', key: `task-${row.id}`, at: row.created_at, row }))
