/** Receives the file of an import into storage. A file that no job has taken is deleted a day later. */
import { buffer } from 'node:stream/consumers'
import type { Context } from '../../platform/context.ts'
import type { Database } from '../../platform/database/database.ts'
import { AppError, unavailable } from '../../platform/errors.ts'
import { memo } from '../../platform/memo.ts'
import { perProcess } from '../../platform/processes/per-process.ts'
import { type ReceivedBytes, receiveBytes } from '../../platform/stored-files/received-bytes.ts'
import { tooLarge } from '../reading/reader.ts'
import type { SheetColumns } from '../workbooks/sheet-csv.ts'
import { MAX_PACKED_MB, MAX_UNPACKED_MB, sheetAsCsv } from '../workbooks/workbook.ts'

const MB = 1_048_576
/** The first bytes of a ZIP archive, which a workbook is, and of the files that Excel wrote before 2007. */
const ZIP = Buffer.from([0x50, 0x4b, 0x03, 0x04])
const OLD_OFFICE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])

/** The most files that a process receives from one account at once. A slow sender takes minutes. */
const MOST_RECEIVED = perProcess(4)
const receivedOf = memo((_: Database) => new Map<number, number>())

/**
 * Calls `work` with the file in storage, and removes the file afterwards unless it is taken.
 * @param work marks the file as taken when a job has it
 * @throws AppError 413 above `maxBytes`, 503 when the account sends too many files at once
 */
export async function withReceived(
  context: Context,
  accountId: number,
  { source, maxBytes }: { source: AsyncIterable<Uint8Array>; maxBytes: number },
  work: (file: ReceivedBytes) => Promise<object>,
): Promise<object> {
  return inSlot(context.db, accountId, async () => {
    const file = await receiveBytes(context.storage, source, { name: 'import.csv', maxBytes, tooLarge: () => tooLarge(maxBytes) })
    return removeUnlessTaken(context, file, () => work(file))
  })
}

/**
 * Receives a file in one of the slots of the account. A file that is imported while it arrives holds a connection to the database.
 * @throws AppError 503 when the account sends too many files at once
 */
export async function inSlot<T>(db: Database, accountId: number, receive: () => Promise<T>): Promise<T> {
  const leave = enter(db, accountId)
  try {
    return await receive()
  } finally {
    leave()
  }
}

/** Removes the file after `work`, unless a job has taken it, or may have: a commit that failed here can have succeeded in the database. */
export async function removeUnlessTaken(context: Context, file: ReceivedBytes, work: () => Promise<object>): Promise<object> {
  let mayBeTaken = true
  try {
    const result = await work()
    mayBeTaken = file.isTaken
    return result
  } catch (error) {
    mayBeTaken = !(error instanceof AppError)
    throw error
  } finally {
    if (!mayBeTaken) await context.storage.remove(file.key)
  }
}

function enter(db: Database, accountId: number): () => void {
  const counts = receivedOf(db)
  const count = counts.get(accountId) ?? 0
  if (count >= MOST_RECEIVED) throw unavailable(`The account sends ${MOST_RECEIVED} files at once; retry`, 5)
  counts.set(accountId, count + 1)
  return () => {
    const left = (counts.get(accountId) ?? 1) - 1
    if (left) counts.set(accountId, left)
    else counts.delete(accountId)
  }
}

/** True for a workbook, whatever type the request names: programs send one as text/csv, and the other way round. */
export function isWorkbook({ head, size }: ReceivedBytes): boolean {
  if (head.subarray(0, 4).equals(OLD_OFFICE))
    throw new AppError('BAD_REQUEST', 'The file is an old Excel file (.xls) or encrypted; save it as XLSX or CSV')
  const isZip = head.subarray(0, 4).equals(ZIP)
  if (isZip && size > MAX_PACKED_MB * MB) throw tooLarge(MAX_PACKED_MB * MB)
  return isZip
}

export interface StoredSheet {
  csv: ReceivedBytes
  columns: SheetColumns
}

/** Writes the sheet of a workbook in storage as CSV, into storage too. @throws AppError as `sheetAsCsv` */
export async function storeSheet(context: Context, workbook: ReceivedBytes, sheet: string | undefined): Promise<StoredSheet> {
  const { storage, signal } = context
  const stream = await storage.read(workbook.key)
  if (!stream) throw new Error(`${workbook.key} is not in storage any more`)
  const lines = sheetAsCsv(await buffer(stream), { sheet, accountId: context.actor.accountId, signal })
  let columns: SheetColumns = { texts: [], durations: [] }
  async function* csv(): AsyncGenerator<Buffer> {
    columns = yield* lines
  }
  const maxBytes = 2 * MAX_UNPACKED_MB * MB
  const stored = await receiveBytes(storage, csv(), { name: 'sheet.csv', maxBytes, tooLarge: () => tooLarge(maxBytes) })
  return { csv: stored, columns }
}
