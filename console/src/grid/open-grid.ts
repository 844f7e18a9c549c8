/** Puts the parts of a grid together: its records, its edits, its columns. */

import { gridTexts } from '../texts/grid.ts'
import type { ColumnLayout } from './columns/column.ts'
import { isForNow, retryAfterMs } from './edits/failures.ts'
import { editsOfTable } from './edits/table-edits.ts'
import { leaveEdit } from './model/editing.ts'
import { columnsFor, createGridModel, type GridModel, type GridOptions, say } from './model/grid-model.ts'
import { refreshRows } from './model/leaving.ts'
import { applySaved } from './model/live.ts'
import { settleNewRows } from './model/new-rows.ts'
import { resize, shiftRows } from './model/scrolling.ts'
import { createPages, retryDelay } from './pages/pages.ts'
import { type Conditions, createSource, type RecordSource } from './pages/record-source.ts'
import { createPace } from './pages/request-pace.ts'

/** Five page requests a second are enough for a person, and bearable for the service. */
const MOST_REQUESTS = 5
const pace = createPace(MOST_REQUESTS, 1_000)

export interface OpenGrid {
  grid: GridModel
  close(): void
}

export function openGrid(options: GridOptions, viewId: number, conditions: Conditions): OpenGrid {
  const { client, tableId } = options
  const source = sourceOf(options, viewId, conditions)
  const table = editsOfTable(client, tableId)
  let frame = 0
  const grid = createGridModel(options, {
    source,
    table,
    pages: (model) =>
      createPages({
        read: (place, signal) => model.source.page(place, signal),
        pace,
        now: () => performance.now(),
        later(ms, run) {
          const timer = setTimeout(run, ms)
          return () => clearTimeout(timer)
        },
        changed() {
          // Several pages and the count may come at once.
          frame ||= requestAnimationFrame(() => {
            frame = 0
            resize(model, model.state.viewport)
          })
        },
        held: () => model.state.selection.active.row,
        shifted: (by, heldBy) => shiftRows(model, by, heldBy),
        retryAfter: (error, attempt) => (isForNow(error) ? (retryAfterMs(error) ?? retryDelay(attempt)) : null),
      }),
  })
  /** Drafts of a grid before this one may have been created already, so that their records are among those that are read. */
  let mayBeStored = table.drafts.length > 0
  const stopListening = table.listen({
    changed: () => grid.update({}),
    saved: (rows) => {
      applySaved(grid, rows).catch(() => refreshRows(grid))
    },
    refused: (message) => say(grid, message, true),
    restored(rows) {
      mayBeStored = true
      grid.update({ newRows: [...grid.state.newRows, ...rows] })
    },
    created(count, drafts) {
      settleNewRows(grid, drafts)
      if (count > drafts.size || mayBeStored) refreshRows(grid)
      say(grid, gridTexts.created(count))
    },
  })
  return {
    grid,
    close() {
      leaveEdit(grid)
      stopListening()
      cancelAnimationFrame(frame)
      grid.pages.end()
    },
  }
}

/** Rows have all fields that the layout could show, so that a column that comes back is there at once. */
export function sourceOf(options: GridOptions, viewId: number, conditions: Conditions): RecordSource {
  const { client, tableId, layout } = options
  return createSource({ client, tableId, viewId, conditions, fields: fieldsOf(options, layout) })
}

/** The fields that rows are asked for: those that are shown, and all own ones of a table of ordinary size. */
function fieldsOf(options: GridOptions, layout: ColumnLayout & GridOptions['layout']): string[] {
  const shown = columnsFor(options, layout, 1_280).map(({ id }) => id)
  const own = options.fields.length <= MOST_OWN ? options.fields.filter(({ always_hidden }) => !always_hidden).map(({ id }) => id) : []
  return [...new Set([...shown, ...own])]
}

const MOST_OWN = 60
