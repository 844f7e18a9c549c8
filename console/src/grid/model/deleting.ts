/** Marked records, and how they are deleted: with their number first. */

import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import { inTurn } from '../edits/undoing.ts'
import { rangeOf } from '../selection/selection.ts'
import { type GridModel, rowCount, say, storedRow } from './grid-model.ts'
import { refreshRows } from './leaving.ts'
import { dropNewRow } from './new-rows.ts'
import { loadedRows } from './reading.ts'

export function markRow(grid: GridModel, id: number, isMarked: boolean): void {
  const marked = new Set(grid.state.marked)
  if (isMarked) marked.add(id)
  else marked.delete(id)
  grid.update({ marked, isAllMarked: false })
}

/** Marks the rows of the range, or takes the marks off if all have one. */
export function markRange(grid: GridModel): void {
  const { top, bottom } = rangeOf(grid.state.selection)
  const ids = (loadedRows(grid, { top, bottom }) ?? []).map(({ id }) => id)
  const { marked } = grid.state
  const areMarked = ids.every((id) => marked.has(id))
  grid.update({
    marked: areMarked ? new Set([...marked].filter((id) => !ids.includes(id))) : new Set([...marked, ...ids]),
    isAllMarked: false,
  })
}

export const markAll = (grid: GridModel, isMarked: boolean): void => grid.update({ marked: new Set(), isAllMarked: isMarked })

export const isMarked = ({ state }: GridModel, id: number): boolean => state.isAllMarked || state.marked.has(id)

export const markedCount = (grid: GridModel): number => (grid.state.isAllMarked ? rowCount(grid) : grid.state.marked.size)

/** Asks with the number of records; all of a view are counted by the service. */
export async function askDelete(grid: GridModel): Promise<void> {
  const { marked, isAllMarked } = grid.state
  for (const id of marked) if (id < 0) dropNewRow(grid, id)
  const ids = [...marked].filter((id) => id > 0)
  if (!isAllMarked) return ids.length ? grid.update({ dialog: { ask: 'delete', count: ids.length, ids } }) : markAll(grid, false)
  try {
    const { matched } = await grid.options.client.records.deleteWhere.mutate({ ...whereInput(grid), dry_run: true })
    grid.update({ dialog: { ask: 'delete', count: matched, ids: null } })
  } catch (error) {
    say(grid, messageOf(error), true)
  }
}

type WhereInput = Parameters<GridModel['options']['client']['records']['deleteWhere']['mutate']>[0]

/** Without any condition, all records have to be asked for by name. */
function whereInput({ source }: GridModel): WhereInput {
  const { order: _, ...conditions } = source.narrowing
  const hasConditions = Object.keys(conditions).some((key) => key !== 'table_id' && key !== 'view_id')
  const all = { filter: { all: [] }, ...(conditions.view_id !== undefined && { append_filters: true }) }
  return (hasConditions ? conditions : { ...conditions, ...all }) as WhereInput
}

const BATCH = 1_000
const POLL_MS = 500

/** Deletes what was asked about. @param ids null: all records of the view, `count` of them */
export function deleteRecords(grid: GridModel, ids: readonly number[] | null, count: number): Promise<void> {
  grid.update({ dialog: null })
  say(grid, gridTexts.deleting(count))
  // The rows may go before the answer comes, and whoever sees that may undo it at once.
  return inTurn(grid.table, () => deleteNow(grid, ids, count))
}

async function deleteNow(grid: GridModel, ids: readonly number[] | null, count: number): Promise<void> {
  const changeIds: number[] = []
  let deleted = 0
  try {
    if (ids) {
      for (let from = 0; from < ids.length; from += BATCH) {
        const answer = await grid.options.client.records.deleteBatch.mutate({
          table_id: grid.options.tableId,
          record_ids: ids.slice(from, from + BATCH),
        })
        deleted += answer.deleted
        if (answer.change_id !== null) changeIds.push(answer.change_id)
      }
    } else {
      const answer = await grid.options.client.records.deleteWhere.mutate({ ...whereInput(grid), expect: count })
      if ('change_id' in answer && answer.change_id) changeIds.push(answer.change_id)
      deleted = 'job_id' in answer && answer.job_id ? await deletedByJob(grid, answer.job_id) : count
    }
    say(grid, gridTexts.deleted(deleted))
  } catch (error) {
    say(grid, messageOf(error), true)
  }
  grid.table.undo.push({ label: gridTexts.deletion, changeIds })
  markAll(grid, false)
  refreshRows(grid)
}

async function deletedByJob(grid: GridModel, jobId: number): Promise<number> {
  for (;;) {
    const job = await grid.options.client.jobs.get.query({ job_id: jobId })
    if (job.state === 'failed') throw new Error(job.error ?? job.state)
    if (job.state === 'done' || job.state === 'cancelled') return job.changed ?? 0
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The record of the active cell; undefined if it is not loaded or not stored. */
export function activeRecord(grid: GridModel): number | undefined {
  const row = storedRow(grid, grid.state.selection.active.row)
  return row && row.id > 0 ? row.id : undefined
}
