/** The process that workbook.ts starts. It reads a workbook from its input, and writes one sheet to its output as CSV. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { readSheet, SheetNotFoundError } from 'read-excel-file/node'
import { csvOf, type SheetCell } from './sheet-csv.ts'
import { LargeArchive, stored, UnreadableArchive, unpack } from './zip.ts'

/** What the parent gets when the sheet has been written, or cannot be. */
export type WorkbookOutcome = { ok: true } | { ok: false; problem: 'large' | 'sheet' | 'wide' | 'long' | 'unreadable'; detail: string }

/** Pictures and other binary parts are not read. */
const isPart = (name: string) => /\.(xml|rels)$/.test(name)

/** As many rows as a sheet of Excel has. The library takes the whole time of a reader for more, even if they are empty. */
const MAX_ROWS = 1_048_576
const ROW = Buffer.from('row')
/** The brackets of `<row>`, and the end of the prefix of a name as in `<x:row>`. */
const [BRACKET, COLON] = [0x3c, 0x3a]

const [maxMb = '', maxCells = '', sheet] = process.argv.slice(2)
// A terminal and systemd signal all processes of a service, which still waits for the sheet.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const outcome = await write().catch((error): WorkbookOutcome => refusal(error))
process.send?.(outcome)
process.disconnect()

async function write(): Promise<WorkbookOutcome> {
  const parts = unpack(await buffer(process.stdin), isPart, Number(maxMb) * 1_048_576)
  if (parts.some(({ bytes }) => hasManyRows(bytes))) return { ok: false, problem: 'long', detail: String(MAX_ROWS) }
  const rows = await rowsOf(parts)
  const widest = rows.reduce((most, row) => Math.max(most, row.length), 0)
  if (widest > Number(maxCells)) return { ok: false, problem: 'wide', detail: String(widest) }
  for (const line of csvOf(rows)) if (!process.stdout.write(line)) await once(process.stdout, 'drain')
  await new Promise((resolve) => process.stdout.write('', resolve))
  return { ok: true }
}

function hasManyRows(xml: Buffer): boolean {
  let count = 0
  for (let at = xml.indexOf(ROW); at >= 0 && count <= MAX_ROWS; at = xml.indexOf(ROW, at + ROW.length)) {
    const before = xml[at - 1]
    // The end of a row, `</row>`, has a slash there.
    if (before === BRACKET || before === COLON) count++
  }
  return count > MAX_ROWS
}

function rowsOf(parts: ReturnType<typeof unpack>): Promise<SheetCell[][]> {
  if (!parts.some(({ name }) => name === 'xl/workbook.xml')) throw new UnreadableArchive('has no xl/workbook.xml')
  return readSheet(Readable.from(stored(parts), { objectMode: false }), sheet ?? 1) as Promise<SheetCell[][]>
}

function refusal(error: unknown): WorkbookOutcome {
  if (error instanceof LargeArchive) return { ok: false, problem: 'large', detail: '' }
  if (error instanceof SheetNotFoundError) return { ok: false, problem: 'sheet', detail: '' }
  return { ok: false, problem: 'unreadable', detail: error instanceof UnreadableArchive ? error.message : 'is damaged' }
}
