/** Exports and imports tables of any size as CSV files, for `npm run admin`. Progress goes to standard error. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { exportRecords } from '../src/csv/export.ts'
import { importRecords } from '../src/csv/import.ts'
import { type TableRow, tableOf, tableResource } from '../src/platform/access/resources.ts'
import { type ActingUser, type Context, type Deps, userContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { AppError } from '../src/platform/errors.ts'
import { ScriptError } from './runtime.ts'

/**
 * Writes the file completely or not at all.
 * @returns the number of its records, and its size
 * @throws ScriptError if the file exists already, or cannot be written
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
  const options = { onProgress: (rows: number) => progress.rowsAre(rows) }
  const { text, audit } = await exportRecords(context, await tableRef(context, tableId), { view_id: viewId }, options)
  const unfinished = `${file}.partial`
  const target = await create(unfinished)
  try {
    try {
      await audit()
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

/** Opens a new file. Fails if it exists, so that nothing is overwritten. */
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
 * Imports the file completely or not at all, on behalf of the user.
 * @throws ScriptError if the file cannot be read, or with a line for each refused cell
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

/** The table in the form that a request of the user would pass to services. */
async function tableRef({ db, actor }: Context, tableId: number) {
  const [row] = await db.read<TableRow>(sql`
    select t.* from (select ${actor.userId}::int as p_user_id, ${actor.accountId}::int as p_account_id) p
    join lateral (${tableResource.select({ table_id: tableId }, null)}) t on true`)
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
/** A progress bar is drawn ten times a second; a log gets a line every five seconds. */
const [BAR_EVERY_MS, LINE_EVERY_MS] = [100, 5_000]

/** Shows the progress: as a bar on a terminal, otherwise as a line from time to time. */
class Progress {
  rows = 0
  bytes = 0
  readonly #total: number | undefined
  readonly #isTerminal = process.stderr.isTTY === true
  readonly #startedAt = performance.now()
  #shownAt = performance.now()

  /** @param total in bytes, if known */
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

  /** Leaves the bar as it is, or writes the reason to a log. */
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
    // Returns to the start of the line, and clears the rest of a longer previous text.
    process.stderr.write(`\r${bar}${figures}\u001b[K${end}`)
  }
}
