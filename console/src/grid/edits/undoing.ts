/** Ctrl+Z and Ctrl+Shift+Z: the service takes a change back, and says what it could not. */
import type { Client } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { TableEdits } from './table-edits.ts'

export interface Undone {
  text: string
  isError: boolean
  /** True if records may have changed. */
  isDone: boolean
}

interface Skip {
  record_id: number
  field: string | null
  reason: string
}

/** What is being undone or deleted in a table. */
const running = new WeakMap<TableEdits, Promise<unknown>>()

/** Runs once what was begun before has ended, so that what a person did last is taken back first, however late the service answers. */
export function inTurn<Result>(table: TableEdits, run: () => Promise<Result>): Promise<Result> {
  const turn = (running.get(table) ?? Promise.resolve()).then(run)
  running.set(
    table,
    turn.catch(() => undefined),
  )
  return turn
}

/** @param again true for a redo @param nameOf the name of a field */
export async function undo(
  client: Client,
  tableId: number,
  table: TableEdits,
  again: boolean,
  nameOf: (field: string) => string,
): Promise<Undone> {
  const { edits } = table
  const withdrawn = again ? undefined : edits.withdrawLast()
  if (withdrawn) return { text: gridTexts.undone(withdrawn.label), isError: false, isDone: false }
  const { trouble, unsaved, reason } = edits.state()
  if (trouble !== 'none') return { text: gridTexts.waiting(unsaved, reason), isError: true, isDone: false }
  return inTurn(table, () => takeBack(client, tableId, table, again, nameOf))
}

async function takeBack(...[client, tableId, { edits, undo: stack }, again, nameOf]: Parameters<typeof undo>): Promise<Undone> {
  await edits.whenIdle()
  const done = stack.take(again)
  if (!done) return { text: again ? gridTexts.nothingToRedo : gridTexts.nothingToUndo, isError: false, isDone: false }
  const undone: number[] = []
  const left: Skip[] = []
  let skipped = 0
  try {
    for (const changeId of [...done.changeIds].reverse()) {
      const answer = await finished(client, await client.records.undo.mutate({ table_id: tableId, change_id: changeId }))
      if (answer.change_id !== null) undone.push(answer.change_id)
      skipped += answer.skipped
      left.push(...answer.skips)
    }
  } catch (error) {
    if (!undone.length) stack.keep(done, !again)
    return { text: messageOf(error), isError: true, isDone: undone.length > 0 }
  }
  stack.keep({ label: done.label, changeIds: undone }, again)
  const words = again ? gridTexts.redone(done.label) : gridTexts.undone(done.label)
  if (!skipped) return { text: words, isError: false, isDone: true }
  const reasons = left.slice(0, 3).map(({ record_id, field, reason }) => gridTexts.left(record_id, field && nameOf(field), reason))
  return { text: `${words} ${gridTexts.leftAsIs(skipped, reasons)}`, isError: true, isDone: true }
}

const POLL_MS = 500

/** An undo of many records is a job: waits for its end. */
async function finished(
  client: Client,
  answer: Awaited<ReturnType<Client['records']['undo']['mutate']>>,
): Promise<{ change_id: number | null; skipped: number; skips: Skip[] }> {
  if (!('job_id' in answer)) return answer
  for (;;) {
    const job = await client.jobs.get.query({ job_id: answer.job_id })
    if (job.state === 'failed' || job.state === 'refused') throw new Error(job.error ?? job.state)
    if (job.state === 'done' || job.state === 'cancelled') {
      return { change_id: answer.change_id, skipped: job.skipped ?? 0, skips: job.skips ?? [] }
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
