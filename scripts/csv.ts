/** A table as a CSV file and back, of any size, for `npm run admin`. Progress goes to standard error. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { exportRecords } from '../src/csv/export.ts'
import { importRecords } from '../src/csv/import.ts'
import { type TableRow, tableOf, tableResource } from '../src/platform/access/resources.ts'
import { type ActingUser, type Context, type Deps, userContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { AppError } from '../src/platform/http/errors.ts'
import { ScriptError } from './runtime.ts'

/**
 * Writes the file, whole or not at all.
 * @returns how many records are in it, and its size
 * @throws ScriptError when the file exists already, or cannot be written
 */
export async function exportTable(
  deps: Deps,
  actor: ActingUser,
  tableId: number,
  viewId: number | undefined,
  file: string,
): Promise<{ exported: number; bytes: number }> {
  if (existsSync(file)) throw new ScriptError(`${file} exists already: name another file`)
  const context = userContext(deps, actor)
  const progress = new Progress()
  const { text } = await exportRecords(context, await tableRef(context, tableId), viewId, (rows) => progress.rowsAre(rows))
  const unfinished = `${file}.partial`
  const target = await create(unfinished)
  try {
    try {
      for await (const part of text) {
        const { bytesWritten } = await target.write(part)
        progress.add(bytesWritten)
      }
      await target.sync()
    } finally {
      await target.close()
    }
    renameSync(unfinished, file)
    progress.end()
  } catch (error) {
    progress.breakOff()
    throw error
  } finally {
    rmSync(unfinished, { force: true })
  }
  return { exported: progress.rows, bytes: progress.bytes }
}

/** Opens a file that was not there before, so that nothing is overwritten. */
async function create(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw new ScriptError(`${file} exists already: another export writes it, or one was broken off; remove it or name another file`)
    }
    throw new ScriptError(`${file.replace(/\.partial$/, '')} cannot be written: ${code === 'ENOENT' ? 'there is no such folder' : message}`)
  }
}

/**
 * Imports the file, whole or not at all, in the name of the user.
 * @throws ScriptError when the file cannot be read; with a line for each cell that is refused
 */
export async function importTable(
  deps: Deps,
  actor: ActingUser,
  tableId: number,
  file: string,
): Promise<{ created: number; ignored: readonly string[] }> {
  const source = await openFile(file)
  const context = userContext(deps, actor)
  const progress = new Progress((await source.stat()).size)
  try {
    const bytes = counted(source.createReadStream(), progress)
    const options = { maxBytes: Number.POSITIVE_INFINITY, onProgress: (rows: number) => progress.rowsAre(rows) }
    const { value, ignored = [] } = await importRecords(context, await tableRef(context, tableId), bytes, options)
    progress.end()
    return { ...value, ignored }
  } catch (error) {
    progress.breakOff()
    if (!(error instanceof AppError) || !error.cellIssues) throw error
    const lines = error.cellIssues.map(({ row, column, message }) => `row ${row}${column === null ? '' : `, ${column}`}: ${message}`)
    throw new ScriptError(`Nothing was imported\n${lines.join('\n')}`)
  } finally {
    await source.close()
  }
}

async function openFile(file: string): Promise<FileHandle> {
  let opened: FileHandle | undefined
  try {
    opened = await open(file)
    if ((await opened.stat()).isDirectory()) throw new Error('it is a folder')
    return opened
  } catch (error) {
    await opened?.close()
    const { code, message } = error as NodeJS.ErrnoException
    throw new ScriptError(code === 'ENOENT' ? `There is no file ${file}` : `${file} cannot be read: ${message}`)
  }
}

/** The table as a request by the user would get it. */
async function tableRef({ db, actor }: Context, tableId: number) {
  const [row] = await db.query<TableRow>(sql`
    select t.* from (select ${actor.userId}::int as p_user_id, ${actor.accountId}::int as p_account_id) p
    join lateral (${tableResource.select({ table_id: tableId })}) t on true`)
  if (!row) throw new ScriptError(`There is no table ${tableId}`)
  return tableOf(row, actor)
}

async function* counted(bytes: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    progress.add(chunk.length)
    yield chunk
  }
}

const MB = 1_048_576
const WIDTH = 30
/** A bar is drawn ten times a second, a line of a log written every five. */
const [BAR_EVERY_MS, LINE_EVERY_MS] = [100, 5_000]

/** How far it is: a bar that is drawn over itself on a terminal, else a line now and then. */
class Progress {
  rows = 0
  bytes = 0
  readonly #total: number | undefined
  readonly #isTerminal = process.stderr.isTTY === true
  readonly #startedAt = performance.now()
  #shownAt = performance.now()

  /** @param total bytes, where that is known */
  constructor(total?: number) {
    this.#total = total
  }

  add(bytes: number): void {
    this.bytes += bytes
    this.#show()
  }

  rowsAre(rows: number): void {
    this.rows = rows
    this.#show()
  }

  end(): void {
    this.#write(this.#isTerminal ? '\n' : '')
  }

  /** The bar is left as it stands; a log is told the reason only. */
  breakOff(): void {
    if (this.#isTerminal) this.end()
  }

  #show(): void {
    if (performance.now() - this.#shownAt < (this.#isTerminal ? BAR_EVERY_MS : LINE_EVERY_MS)) return
    this.#write('')
  }

  #write(end: string): void {
    this.#shownAt = performance.now()
    const seconds = Math.max(0.001, (this.#shownAt - this.#startedAt) / 1000)
    const figures = `${this.rows} ${this.rows === 1 ? 'row' : 'rows'}, ${Math.round(this.rows / seconds)} rows/s, ${(this.bytes / MB).toFixed(1)} MB`
    if (!this.#isTerminal) {
      process.stderr.write(`${figures}\n`)
      return
    }
    const part = this.#total ? this.bytes / this.#total : 0
    const bar = this.#total ? `[${'#'.repeat(Math.round(part * WIDTH)).padEnd(WIDTH, '-')}] ${Math.round(part * 100)} % ` : ''
    // Back to the start of the line, and clear what is longer from before.
    process.stderr.write(`\r${bar}${figures}\u001b[K${end}`)
  }
}
