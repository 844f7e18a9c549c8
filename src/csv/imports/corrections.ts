/** What the sender of a file knows better than the guess: names and types of fields, and columns that are left out. */
import { CALC_FIELDS, type FieldDef, isSelect, KEY_FIELD, type TableDef } from '../../fields/definition.ts'
import type { SpaceRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, badCells, badInput, badInputs, type CellIssue } from '../../platform/errors.ts'
import { nfc } from '../../platform/normal-forms.ts'
import { MAX_ISSUES } from '../../records/drafts.ts'
import { newFields } from '../../tables/fields/new-fields.ts'
import { MAX_OPTIONS, type NewField } from '../../tables/schema.ts'
import { type CellReading, readCell } from '../cells.ts'
import type { GuessedColumn } from '../guess.ts'
import type { FileColumn } from '../header.ts'
import { judgeRows } from '../import.ts'
import type { Row } from '../reading/rows.ts'
import { RowWidths } from '../reading/widths.ts'
import type { Correction } from '../schema.ts'

/** The fields of the columns that have one, in their order. */
export const fieldsOfColumns = (columns: readonly GuessedColumn[]): FieldDef[] =>
  newFields(
    columns.filter((field): field is NewField => field !== null),
    new Set(),
  ).fields

/**
 * The columns with the names and types of the corrections. A field that gets another type loses what belongs to the guessed one.
 * @throws AppError 400 for a field that the file has not, and for a name that is taken
 */
export function correctedColumns(columns: readonly GuessedColumn[], corrections: readonly Correction[]): GuessedColumn[] {
  const ids = fieldsOfColumns(columns).map(({ id }) => id)
  const places = new Map(columns.flatMap((field, at) => (field ? [[ids.shift(), at] as const] : [])))
  const corrected = [...columns]
  const seen = new Set<string>()
  for (const [index, correction] of corrections.entries()) {
    const { field } = correction
    const at = places.get(field)
    const before = at === undefined ? undefined : columns[at]
    if (at === undefined || !before) throw badInput(['fields', index, 'field'], 'is no field of the file')
    if (seen.has(field)) throw badInput(['fields', index, 'field'], 'is listed twice')
    seen.add(field)
    corrected[at] = correctedField(before, correction)
  }
  if (!corrected.some((field) => field)) throw badInput('fields', 'leave at least one field of the file')
  requireFreeNames(corrected, corrections, places)
  return corrected
}

function correctedField(guessed: NewField, { name = guessed.name, type = guessed.type, leave_out }: Correction): GuessedColumn {
  if (leave_out) return null
  return type === guessed.type ? { ...guessed, name } : { name, type }
}

/** Names of fields differ from each other, in any case, and from those that every table has. */
function requireFreeNames(
  columns: readonly GuessedColumn[],
  corrections: readonly Correction[],
  places: ReadonlyMap<string | undefined, number>,
): void {
  const comparable = (name: string) => nfc(name).toLowerCase()
  const names = [KEY_FIELD, ...CALC_FIELDS, ...columns.filter((field) => field !== null)].map(({ name }) => comparable(name))
  const issues = corrections.flatMap(({ field, name }, index) => {
    const isTaken = name !== undefined && columns[places.get(field) ?? -1] && names.filter((other) => other === comparable(name)).length > 1
    return isTaken ? [{ path: ['fields', index, 'name'], message: 'another field has this name' }] : []
  })
  if (issues.length) throw badInputs(issues)
}

/** A file that is read once more, by what was found out when it was read first. */
interface FileToCheck extends CellReading {
  /** The rows, the header first. */
  rows: AsyncIterable<Row[]>
  /** The columns as they were guessed. */
  guessed: readonly GuessedColumn[]
}

/**
 * Checks the cells of the fields that have another type than the guessed one, and finds the options of those that are selects now.
 * @returns the columns with these options
 * @throws AppError 400 with the first hundred cells that do not fit
 */
export async function checkCorrected(
  context: Context,
  space: SpaceRef,
  corrected: readonly GuessedColumn[],
  { rows: chunks, guessed, ...reading }: FileToCheck,
): Promise<GuessedColumn[]> {
  const fields = fieldsOfColumns(corrected)
  const table = { ...{ id: 0, space_id: space.id, account_id: space.account_id, name: '', version: 0 }, hasHistory: false }
  const definition: TableDef = { ...table, isConverting: false, fields }
  const remaining = [...fields]
  const changed = corrected.map((column, at) => {
    const field = column ? remaining.shift() : undefined
    return field && field.type !== guessed[at]?.type ? field : null
  })
  const options = new Map(changed.flatMap((field) => (field && isSelect(field.type) ? [[field, new OptionTitles(field)] as const] : [])))
  const rules = { role: 'admin' as const, members: new Map(), named: new Map(), ...reading }
  const issues: CellIssue[] = []
  let columns: FileColumn[] | undefined
  const widths = new RowWidths(corrected.length)
  for await (const rows of chunks) {
    context.signal.throwIfAborted()
    // No chunk is empty, and the first one starts with the header.
    columns ??= columnsOf(rows.shift()?.cells ?? [], changed, options)
    widths.fit(rows)
    const judged = await judgeRows(context, definition, rules, columns, rows)
    const refused = changed.flatMap((field, at) => {
      const titles = field && options.get(field)
      return titles ? titles.addColumn(rows, at, reading) : []
    })
    issues.push(...[...judged.issues, ...refused].sort((a, b) => a.row - b.row))
    if (issues.length >= MAX_ISSUES) break
  }
  if (issues.length) throw badCells(issues.slice(0, MAX_ISSUES))
  return corrected.map((column, at) => {
    const titles = options.get(changed[at] as FieldDef)
    return column && titles ? { ...column, options: titles.all() } : column
  })
}

/** The columns whose cells are judged one by one. Any text can become an option. */
const columnsOf = (header: readonly string[], changed: readonly (FieldDef | null)[], options: ReadonlyMap<FieldDef, OptionTitles>) =>
  changed.map((field, at): FileColumn => ({ header: header[at] ?? '', field: field && !options.has(field) ? field : null }))

const LONGEST_OPTION = 500

/** Collects the different titles of a column in their order. */
class OptionTitles {
  readonly #titles = new Set<string>()
  readonly #field: FieldDef

  constructor(field: FieldDef) {
    this.#field = field
  }

  /** @returns the cells that cannot be options. @throws AppError 400 for more titles than a field has options */
  addColumn(rows: readonly Row[], column: number, reading: CellReading): CellIssue[] {
    return rows.flatMap(({ number: row, cells }) => {
      const message = this.#add(readCell(this.#field, cells[column] ?? '', { ...reading, named: undefined }))
      return message === undefined ? [] : { row, column: this.#field.name, message }
    })
  }

  #add(read: ReturnType<typeof readCell>): string | undefined {
    if ('reason' in read) return read.reason
    for (const value of Array.isArray(read.value) ? read.value : [read.value]) {
      if (typeof value !== 'string') continue
      if (value.length > LONGEST_OPTION) return `must have at most ${LONGEST_OPTION} characters`
      this.#titles.add(nfc(value))
      if (this.#titles.size > MAX_OPTIONS)
        throw new AppError('BAD_REQUEST', `${this.#field.name} has more than ${MAX_OPTIONS} different values, which is the most options`)
    }
    return undefined
  }

  all(): string[] {
    return [...this.#titles]
  }
}
