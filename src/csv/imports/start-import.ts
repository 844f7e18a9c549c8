/** Starts imports that a job does: into a table, or into a new one whose fields are guessed from the file. */
import { requesterOf } from '../../audit/log.ts'
import type { StartedJob } from '../../conversions/schema.ts'
import { type FieldDef, ownFields, type TableDef } from '../../fields/definition.ts'
import type { SpaceRef, TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { AppError, badCells, badInput, conflict } from '../../platform/errors.ts'
import type { ReceivedBytes } from '../../platform/stored-files/received-bytes.ts'
import { type Field, fieldOf, MAX_FIELDS } from '../../tables/schema.ts'
import { create } from '../../tables/service.ts'
import { freeName, Guess, type GuessedColumn } from '../guess.ts'
import type { Encoding } from '../reading/encodings.ts'
import { type ReadFile, readFile } from '../reading/reader.ts'
import { dateFormOf, type Reading } from '../reading/reading.ts'
import type { Correction, GuessedTable, StartedTable } from '../schema.ts'
import type { SheetColumns } from '../workbooks/sheet-csv.ts'
import { checkCorrected, correctedColumns, fieldsOfColumns } from './corrections.ts'
import { insertImport, type NewImport, requireFewImports } from './import-row.ts'
import { runImport } from './run-import.ts'

/** The name of a table for which neither the request nor a sheet has one. */
const UNNAMED = 'Import'

export interface NamedFile {
  /** A file of comma-separated values in storage. It is taken when a job has it. */
  csv: ReceivedBytes
  /** What is known of its columns if the values were the sheet of a workbook. */
  sheetColumns: SheetColumns | undefined
  reading: Reading
  /** The name that the request gives the table. It must be free. */
  title: string | undefined
  /** What the request says of single fields. */
  corrections: readonly Correction[]
  /** How many cells of each field a dry run shows. */
  samples: number | undefined
}

/** Sends a job that imports the file in storage. @throws AppError 409 when the account has too many unfinished imports */
export async function importLater(context: Context, table: TableRef, csv: ReceivedBytes, reading: Reading): Promise<StartedJob> {
  const job = { key: csv.key, role: table.role, columns: null, reading, total: null }
  await csv.keep(context.storage)
  const started = await context.transaction(async () => ({ job_id: await send(context, table, job) }))
  csv.isTaken = true
  return started
}

interface ImportJob extends Pick<NewImport, 'role' | 'columns' | 'reading' | 'total'> {
  key: string
}

async function send(context: Context, table: Pick<TableRef, 'id' | 'space_id' | 'account_id'>, { key, columns, ...job }: ImportJob) {
  const { account_id, space_id, id: table_id } = table
  await requireFewImports(context, account_id)
  const { keyId, ip } = requesterOf(context)
  const jobId = await insertImport(context, {
    ...{ account_id, space_id, table_id, storage_key: key, is_new_table: columns !== null, columns, ...job },
    ...{ user_id: context.actor.userId || null, api_key_id: keyId, ip },
  })
  await context.jobs.send(runImport, { import_id: jobId })
  return jobId
}

/**
 * Creates a table with the fields that the file seems to have, and sends the job that imports it. All rows are read before, so that a
 * file with a wrong one creates no table.
 * @throws AppError 400 for a file that an import would refuse, or without rows; 409 for a title that is taken
 */
export async function importTable(context: Context, space: SpaceRef, file: NamedFile): Promise<StartedTable> {
  const { columns, rows, separator } = await guess(context, space, file)
  const reading = { ...file.reading, separator }
  const fields = columns.filter((field) => field !== null)
  await file.csv.keep(context.storage)
  const started = await context.transaction(async () => {
    const name = file.title ?? (await freeTitle(context, space))
    const table = await create(context, space, { name, fields })
    const ids = table.fields.filter(({ key, calc }) => !key && !calc).map(({ id }) => id)
    const byColumn = columns.map((field) => (field ? (ids.shift() ?? null) : null))
    const place = { id: table.id, space_id: space.id, account_id: space.account_id }
    return {
      table_id: table.id,
      job_id: await send(context, place, { key: file.csv.key, role: space.role, columns: byColumn, reading, total: rows }),
    }
  })
  file.csv.isTaken = true
  return started
}

/** What `importTable` would create. @throws AppError as `importTable` */
export async function guessTable(context: Context, space: SpaceRef, file: NamedFile): Promise<GuessedTable> {
  const { columns, dateForms, rows, separator, encoding, widths, samples } = await guess(context, space, file)
  const fields = fieldsOfColumns(columns)
  const name = file.title ?? (await freeTitle(context, space))
  const present = await takenTitles(context, space)
  if (present.has(name.toLowerCase())) throw conflict('This name is taken')
  const own = ownFields({ fields } as TableDef).map(proposed)
  const ofFields = <T>(ofColumns: readonly T[]) => ofColumns.filter((_, index) => columns[index])
  const used = ofFields(dateForms)
  const formats = own.flatMap(({ id }, index) => (used[index] === undefined ? [] : { field: id, form: used[index] }))
  const values = ofFields(samples)
  const shown = file.samples === undefined ? {} : { samples: own.map(({ id }, index) => ({ field: id, values: values[index] ?? [] })) }
  const guessed = { name, rows, fields: own, formats, ...shown, filled: widths.filled, cut: widths.cut }
  return file.sheetColumns ? guessed : { ...guessed, separator, encoding }
}

/** A field that does not exist yet, as `tables/create` takes it. */
function proposed(field: FieldDef): Field {
  const { version: _, ...properties } = fieldOf(field)
  return properties
}

/** What is guessed of the file, with the corrections of the request. @throws AppError 400 for one that the cells do not fit */
async function guess(context: Context, space: SpaceRef, file: NamedFile): Promise<GuessedFile> {
  const guessed = await readGuess(context, file)
  const corrected = correctedColumns(guessed.columns, file.corrections)
  const count = corrected.filter((field) => field !== null).length
  if (count > MAX_FIELDS) throw new AppError('BAD_REQUEST', `The file has ${count} columns; a table has at most ${MAX_FIELDS} fields`)
  if (!corrected.some((field, at) => field && field.type !== guessed.columns[at]?.type)) return { ...guessed, columns: corrected }
  const bytes = await stored(context, file)
  try {
    const { separator } = guessed
    const { rows } = await readFile(bytes, { ...file.reading, separator, maxBytes: Number.POSITIVE_INFINITY })
    const read = { rows, separator, dateForm: dateFormOf(file.reading), guessed: guessed.columns }
    return { ...guessed, columns: await checkCorrected(context, space, corrected, read) }
  } finally {
    bytes.destroy()
  }
}

async function stored({ storage }: Context, { csv }: NamedFile) {
  const bytes = await storage.read(csv.key)
  if (!bytes) throw new Error(`${csv.key} is not in storage any more`)
  return bytes
}

/** Reads the whole file, because a later row may show that a column has other values than the first ones. */
async function readGuess(context: Context, file: NamedFile): Promise<GuessedFile> {
  const { sheetColumns, reading, samples } = file
  const bytes = await stored(context, file)
  let found: Guess | undefined
  try {
    const { rows: chunks, separator, encoding } = await readFile(bytes, { ...reading, maxBytes: Number.POSITIVE_INFINITY })
    const dateForm = dateFormOf(reading)
    // The dates of a sheet come in the form of the API, which this form would swap.
    if (sheetColumns && dateForm?.read('2026-01-02') === '2026-02-01')
      throw badInput('date_format', 'cannot be told from the dates of a workbook')
    for await (const rows of chunks) {
      context.signal.throwIfAborted()
      found ??= new Guess(headerOf(rows.shift()?.cells ?? []), { separator, dateForm, samples }, sheetColumns)
      found.add(rows)
    }
    if (!found) throw new AppError('BAD_REQUEST', 'The file is empty: its first row must name the fields')
    return { ...judged(found), separator, encoding: encoding() }
  } finally {
    bytes.destroy()
  }
}

interface GuessedFile extends Pick<ReadFile, 'separator'>, Pick<Guess, 'rows' | 'widths'> {
  encoding: Encoding
  columns: GuessedColumn[]
  /** The forms of dates by column. */
  dateForms: (string | undefined)[]
  /** The first different cells by column. */
  samples: string[][]
}

/** @throws AppError 400 for a header in which no import would find columns */
function headerOf(header: string[]): string[] {
  const [only = ''] = header
  if (/^\s*<(!doctype|html|\?xml)/i.test(only)) throw new AppError('BAD_REQUEST', 'The file is a page of the web, not CSV')
  if (header.some((cell) => cell.includes('\0'))) throw badCells([{ row: 1, column: null, message: 'must not contain NUL' }])
  return header
}

function judged(found: Guess): Pick<GuessedFile, 'columns' | 'dateForms' | 'rows' | 'widths' | 'samples'> {
  if (found.issues.length) throw badCells(found.issues)
  const columns = found.columns()
  if (!columns.some((field) => field)) throw new AppError('BAD_REQUEST', 'The file is empty: its first row must name the fields')
  if (!found.rows)
    throw new AppError('BAD_REQUEST', 'The file has a header and no rows, from which the types of its fields could be guessed')
  return { columns, dateForms: found.dateForms(), rows: found.rows, widths: found.widths, samples: found.samples() }
}

const freeTitle = async (context: Context, space: SpaceRef) => freeName(UNNAMED, await takenTitles(context, space))

async function takenTitles({ db }: Context, space: SpaceRef): Promise<Set<string>> {
  const rows = await db.read<{ name: string }>(sql`select name from tables where space_id = ${space.id} and deleted_at is null`)
  return new Set(rows.map(({ name }) => name.toLowerCase()))
}
