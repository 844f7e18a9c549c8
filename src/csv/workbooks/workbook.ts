/** Reads one sheet of an XLSX workbook as CSV, in a process of its own with limits on time and memory. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { accountName } from '../../platform/concurrency/current-account.ts'
import { FairQueue } from '../../platform/concurrency/fair-queue.ts'
import { AppError, badInput, tooBusy } from '../../platform/errors.ts'
import type { SheetColumns } from './sheet-csv.ts'
import type { WorkbookOutcome } from './workbook-process.ts'

/** The most bytes of a workbook, packed and unpacked. */
export const MAX_PACKED_MB = 20
export const MAX_UNPACKED_MB = 200
const MAX_CELLS = 1_000
const MAX_HEAP_MB = 768
const TIMEOUT_MS = 40_000

/** A workbook at the limit takes several hundred megabytes, and a hostile one all of its time: an account gets one of the two slots. */
const readers = new FairQueue({ slots: 2, slotsOfAccount: 1, mostWaiting: 10, waitMs: 30_000 })

const MODULE = new URL('./workbook-process.ts', import.meta.url)

export interface SheetOptions {
  /** The name of the sheet; by default the first that is shown. */
  sheet: string | undefined
  /** Whose turn it is. */
  accountId: number
  signal: AbortSignal
}

/**
 * Yields the sheet as CSV: dates and times in the form that an import reads, a formula as the value it had when the file was saved.
 * @returns what the CSV does not show of its columns
 * @throws AppError 400 for a file that is no workbook or has no such sheet, 413 when it is too large unpacked, 503 while others are read
 */
export async function* sheetAsCsv(bytes: Buffer, { sheet, accountId, signal }: SheetOptions): AsyncGenerator<Buffer, SheetColumns> {
  const slot = await readers.enter(accountName(accountId), { signal, refusal: () => tooBusy({ retryAfterSeconds: 10 }) })
  let child: ChildProcess | undefined
  try {
    child = fork(MODULE, [String(MAX_UNPACKED_MB), String(MAX_CELLS), ...(sheet === undefined ? [] : [sheet])], {
      execArgv: [`--max-old-space-size=${MAX_HEAP_MB}`],
      // It needs none of the service's secrets.
      env: process.env.TZ === undefined ? {} : { TZ: process.env.TZ },
      stdio: ['pipe', 'pipe', 'ignore', 'ipc'],
    })
    return yield* outputOf(child, bytes, sheet, signal)
  } finally {
    child?.kill('SIGKILL')
    readers.leave(slot)
  }
}

async function* outputOf(
  child: ChildProcess,
  bytes: Buffer,
  sheet: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Buffer, SheetColumns> {
  let outcome: WorkbookOutcome | undefined
  child.on('message', (message: WorkbookOutcome) => {
    outcome = message
  })
  const stop = () => child.kill('SIGKILL')
  const timer = setTimeout(stop, TIMEOUT_MS)
  signal.addEventListener('abort', stop, { once: true })
  // The exit comes when the process has ended and its output was read.
  const closed = once(child, 'close')
  closed.catch(() => {})
  child.stdin?.on('error', () => {})
  child.stdin?.end(bytes)
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) yield chunk
    await closed
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
  signal.throwIfAborted()
  if (!outcome?.ok) throw refusalOf(outcome, sheet)
  return outcome
}

function refusalOf(outcome: Exclude<WorkbookOutcome, { ok: true }> | undefined, sheet: string | undefined): AppError {
  if (!outcome) return new AppError('BAD_REQUEST', 'The workbook cannot be read: it takes too long or too much memory')
  if (outcome.problem === 'large') return new AppError('PAYLOAD_TOO_LARGE', `The workbook is larger than ${MAX_UNPACKED_MB} MB unpacked`)
  if (outcome.problem === 'sheet')
    return sheet === undefined ? notAWorkbook('has no sheet') : badInput('sheet', 'is not a sheet of the workbook')
  if (outcome.problem === 'wide')
    return new AppError('BAD_REQUEST', `The sheet has ${outcome.detail} columns; at most ${MAX_CELLS} are read`)
  if (outcome.problem === 'long') return new AppError('BAD_REQUEST', `A sheet has more than ${outcome.detail} rows`)
  return notAWorkbook(outcome.detail)
}

const notAWorkbook = (reason: string) => new AppError('BAD_REQUEST', `The file is not an XLSX workbook: it ${reason}`)
