/**
 * Imports and exports of the typed client. The file runs in browsers and in Node, so it imports nothing of the server;
 * test/client-transfers.test.ts compares its types with the schemas.
 */
import { type DownloadOptions, download, type Transport } from '../files/client/rest-call.ts'
import { type Content, type FileContent, sendBytes, type TransferOptions, typeOf } from '../files/client/upload-request.ts'

/** A file of comma-separated values: its text, or its bytes, such as the `File` of a browser's file input. */
export type CsvFile = string | FileContent | Content
/** As `CsvFile`, or a workbook, which is known by its type or its name. */
export type TableFile = CsvFile | (Content & { name?: string })

/** How the file is read. */
interface Reading {
  /** A label of the Encoding Standard, such as `windows-1251`. */
  encoding?: string | null
  /** The form of dates that are not written as in JSON, such as `dd.MM.yyyy`. */
  date_format?: string | null
}

export interface CsvImport extends Reading {
  table_id: number
  /** If true, a job imports the file. */
  async?: boolean | null
}

export interface TableImport extends Reading {
  space_id: number
  /** The name of the table. */
  title?: string | null
  /** The name of a sheet of the workbook. */
  sheet?: string | null
  /** If true, nothing is created, and the answer describes the table that would be. */
  dry_run?: boolean | null
  /** Other names and types for fields, by their ids in a dry run. */
  fields?: readonly FieldCorrection[] | null
  /** How many cells of each field a dry run shows, at most ten. */
  samples?: number | null
}

/** What is not said stays as it was guessed. */
export interface FieldCorrection {
  field: string
  name?: string
  /** Any type but those of links and files. */
  type?: string
  leave_out?: boolean
}

export interface CsvExport<Conditions = object> {
  table_id: number
  /** A view of the table, whose records and columns are exported. */
  view_id?: number | null
  /** Conditions and an order, as `records.query` takes them, beside those of the view. */
  conditions?: Conditions | null
}

/** How many rows of a file had fewer or more cells than its header, and the lines of the first ten. */
export interface ChangedRows {
  rows: number
  lines: number[]
}

export interface ImportedRecords {
  created: number
  /** The id of the change; null if the file has no rows. */
  change_id: number | null
  /** Rows that were filled with empty cells. */
  filled?: ChangedRows | undefined
  /** Rows whose empty cells at the end were cut off. */
  cut?: ChangedRows | undefined
}

/** For `client.jobs.get`. */
export interface StartedImport {
  job_id: number
}

export interface StartedTable extends StartedImport {
  table_id: number
}

export interface GuessedTable<Field> {
  name: string
  /** Rows below the header. */
  rows: number
  fields: Field[]
  separator?: string | undefined
  encoding?: string | undefined
  /** Fields whose cells are dates, with a `date_format` for the import. */
  formats: { field: string; form: string }[]
  /** The first different cells of each field, if `samples` asks for them. */
  samples?: { field: string; values: string[] }[] | undefined
  filled: ChangedRows
  cut: ChangedRows
}

export interface ImportCsv {
  /**
   * Imports all rows of a file into a table, or none: `client.importCsv({ table_id: 4 }, file)`. With `async: true` a job does.
   * @throws TRPCClientError as every call; `data.issues` has the first hundred cells that were refused
   */
  (input: CsvImport & { async: true }, file: CsvFile, options?: TransferOptions): Promise<StartedImport>
  (input: CsvImport & { async?: false | null }, file: CsvFile, options?: TransferOptions): Promise<ImportedRecords>
  (input: CsvImport, file: CsvFile, options?: TransferOptions): Promise<ImportedRecords | StartedImport>
}

export interface ImportTable<Field> {
  /**
   * Creates a table from a CSV file or a workbook, and a job that imports its rows: `client.importTable({ space_id: 1 }, file)`. With
   * `dry_run: true` it describes the table instead.
   * @throws TRPCClientError as every call
   */
  (input: TableImport & { dry_run: true }, file: TableFile, options?: TransferOptions): Promise<GuessedTable<Field>>
  (input: TableImport & { dry_run?: false | null }, file: TableFile, options?: TransferOptions): Promise<StartedTable>
  (input: TableImport, file: TableFile, options?: TransferOptions): Promise<StartedTable | GuessedTable<Field>>
}

const CSV = 'text/csv'
const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

export const importCsv = (transport: Transport, input: CsvImport, file: CsvFile, options: TransferOptions = {}): Promise<unknown> =>
  sendFile(transport, '/api/table/{table_id}/import', input, file, options)

export const importTable = (
  transport: Transport,
  { fields, ...input }: TableImport,
  file: TableFile,
  options: TransferOptions = {},
): Promise<unknown> =>
  sendFile(transport, '/api/space/{space_id}/tables/import', { ...input, ...(fields && { fields: JSON.stringify(fields) }) }, file, options)

/** Asks for the records as CSV, with the file name in Content-Disposition. */
export const exportCsv = (transport: Transport, { conditions, ...input }: CsvExport, options?: DownloadOptions): Promise<Response> =>
  download(
    transport,
    '/api/table/{table_id}/export.csv',
    { ...input, ...(conditions && { conditions: JSON.stringify(conditions) }) },
    options,
  )

function sendFile(transport: Transport, path: string, input: object, file: TableFile, options: TransferOptions): Promise<unknown> {
  const bytes = typeof file === 'string' ? new Blob([file]) : file
  return sendBytes(transport, { method: 'POST', path, input }, bytes, options, () => ({ 'content-type': mediaTypeOf(bytes) }))
}

/** Browsers name CSV files by the programs that open them, so any other type than that of a workbook stands for CSV. */
function mediaTypeOf(file: FileContent | (Content & { name?: string })): string {
  const type = typeOf(file)
  const isWorkbook = type.startsWith(WORKBOOK) || ('name' in file && /\.xlsx$/i.test(file.name ?? ''))
  return isWorkbook ? WORKBOOK : /^text\/csv\s*(;|$)/i.test(type) ? type : CSV
}
