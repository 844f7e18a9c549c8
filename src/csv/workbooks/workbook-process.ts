/** The process that workbook.ts starts. It reads a workbook from its input, and writes one sheet to its output as CSV. */
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { Archive, LargeArchive, UnreadableArchive } from './archive.ts'
import { chosenSheet, readWorkbook } from './parts.ts'
import { LongSheet, MAX_ROWS, readSheet, WideSheet } from './sheet.ts'
import { columnsOf, csvOf, type SheetColumns } from './sheet-csv.ts'

/** What the parent gets when the sheet has been written, or cannot be. */
export type WorkbookOutcome =
  | ({ ok: true } & SheetColumns)
  | { ok: false; problem: 'large' | 'sheet' | 'wide' | 'long' | 'unreadable'; detail: string }

const [maxMb = '', maxCells = '', name] = process.argv.slice(2)
// A terminal and systemd signal all processes of a service, which still waits for the sheet.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const outcome = await write().catch((error): WorkbookOutcome => refusal(error))
process.send?.(outcome)
process.disconnect()

async function write(): Promise<WorkbookOutcome> {
  const archive = await Archive.open(await buffer(process.stdin), Number(maxMb) * 1_048_576)
  const workbook = await readWorkbook(archive)
  const sheet = chosenSheet(workbook, name)
  if (!sheet) return { ok: false, problem: 'sheet', detail: '' }
  const rows = await readSheet(archive, workbook, sheet.path, Number(maxCells))
  for (const line of csvOf(rows)) if (!process.stdout.write(line)) await once(process.stdout, 'drain')
  await new Promise((resolve) => process.stdout.write('', resolve))
  return { ok: true, ...columnsOf(rows) }
}

function refusal(error: unknown): WorkbookOutcome {
  if (error instanceof LargeArchive) return { ok: false, problem: 'large', detail: '' }
  if (error instanceof WideSheet) return { ok: false, problem: 'wide', detail: String(error.columns) }
  if (error instanceof LongSheet) return { ok: false, problem: 'long', detail: String(MAX_ROWS) }
  return { ok: false, problem: 'unreadable', detail: error instanceof UnreadableArchive ? error.message : 'is damaged' }
}
