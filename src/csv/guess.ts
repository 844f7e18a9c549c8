/**
 * Guesses the fields of a new table from a file of comma-separated values. A type is guessed only if an import reads every cell of the
 * column as this type without losing a character that matters: a zero in front, the 17th digit of an id, the order of day and month.
 */
import { CALC_FIELDS, canBeTitle, KEY_FIELD } from '../fields/definition.ts'
import { type FieldType, TYPES } from '../fields/registry.ts'
import type { CellIssue } from '../platform/errors.ts'
import { unshielded } from '../platform/writers/csv-format.ts'
import type { NewField } from '../tables/schema.ts'
import { type CellReading, dateText, hasDecimalComma, isAmbiguous, withDecimalPoint } from './cells.ts'
import { DateFormFinder } from './reading/date-forms.ts'
import type { Row } from './reading/rows.ts'
import { RowWidths } from './reading/widths.ts'
import type { SheetColumns } from './workbooks/sheet-csv.ts'

/** A column that is left out has no field: it has neither a name nor a value. */
export type GuessedColumn = NewField | null

const MAX_NAME = 100
/** A select has at most this many options of at most this length, and at least this many cells with a value. */
const MAX_OPTIONS = 20
const MAX_OPTION = 50
const FEWEST_SELECTED = 4
const MAX_ISSUES = 100
const MAX_SAMPLE = 100

/** The types that are recognised by their cells, the first that fits all of them. */
const FORMS: readonly [FieldType, RegExp][] = [
  ['checkbox', /^(true|false|yes|no)$/i],
  // Eleven digits: a number with more is an id or a phone number, and a zero in front belongs to a code.
  ['number', /^-?(0|[1-9]\d{0,10})(\.\d{1,8})?$/],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['datetime', /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d/],
  ['time', /^\d\d:\d\d(:\d\d)?$/],
  // The parts between the dots have none, so that a long text of dots is examined in linear time.
  ['email', /^[^\s@,;<>]+@[^\s@,;<>.]+(\.[^\s@,;<>.]+)+$/],
  ['url', /^https?:\/\/\S+$/i],
]

/** Words in a header that mark the numbers below as codes, with which nobody calculates. */
const CODES = new Set(
  'phone mobile cell tel telephone telefon handy fax zip zipcode postcode postal plz iban bic sku isbn ean gtin vat ssn barcode'.split(' '),
)

/** Stands for the field in parsers of types that have no settings. */
const PLAIN = { ...KEY_FIELD, key: false, decimals: null }

/** The length of the longest link. A longer text is not a value of any of these types. */
const MAX_FORM = TYPES.url.maxLength ?? 0
const KEEPS_BLANKS: ReadonlySet<FieldType> = new Set(['email', 'url'])
/** Types for which the form is enough: an import reads every text of this form. Texts of the other types are also parsed. */
const EXACT: ReadonlySet<FieldType> = new Set(['checkbox', 'number'])

/** True if an import reads the text as a value of the type. */
function isReadAs(type: FieldType, text: string): boolean {
  if (EXACT.has(type)) return true
  const read = TYPES[type].csv.read(text, PLAIN, undefined)
  return 'value' in read && TYPES[type].parse(read.value, PLAIN, 0).kind === 'cell'
}

const isDateType = (type: FieldType) => TYPES[type].csv.dates !== undefined

/** How a file is read to guess its fields, and how many of their cells are shown. */
export interface GuessReading extends CellReading {
  samples?: number | undefined
}

class ColumnGuess {
  readonly header: string
  readonly #isCode: boolean
  readonly #reading: GuessReading
  readonly #excluded: readonly FieldType[]
  #forms = FORMS
  /** Cells with a value. */
  filled = 0
  #longest = 0
  /** The fewest and the most decimals of its numbers, and whether one of them ends with a zero. */
  #fewestDecimals = Number.POSITIVE_INFINITY
  #decimals = 0
  #hasLastZero = false
  readonly #decimalMarks = new Set<',' | '.'>()
  #hasLines = false
  readonly #dates = new DateFormFinder()
  /** Cells that the form which the request names reads as dates. */
  #formedDates = 0
  /** The different values, null once they are too many or too long for options. */
  #values: Set<string> | null = new Set()
  /** The first different values, cut. */
  readonly samples: string[] = []

  /** @param excluded types that the cells have not, whatever they look like */
  constructor(header: string, reading: GuessReading, excluded: readonly FieldType[]) {
    this.header = header
    this.#reading = reading
    this.#excluded = excluded
    this.#isCode = header
      .toLowerCase()
      .split(/[^\p{L}\d]+/u)
      .some((word) => CODES.has(word))
  }

  add(cell: string): void {
    if (cell === '') return
    // A cell of blanks has no value, but the column is not one of numbers either.
    if (cell.trim() !== '') this.filled++
    const text = unshielded(cell)
    this.#longest = Math.max(this.#longest, text.length)
    this.#hasLines ||= /[\r\n]/.test(text)
    if (text !== cell || text.length > MAX_FORM) this.#forms = []
    if (this.#forms.length) this.#narrow(text)
    this.#remember(text)
    if (cell.trim() === '') return
    if (this.samples.length < (this.#reading.samples ?? 0)) this.#show(cut(text, MAX_SAMPLE))
    this.#dates.add(text.trim())
    if (typeof this.#reading.dateForm?.read(text) === 'string') this.#formedDates++
  }

  /** Keeps the types that the text fits as well. */
  #narrow(text: string): void {
    // An import ignores blanks around these values, but not around an address or a link.
    const value = text.trim()
    const { separator, dateForm } = this.#reading
    const hasComma = hasDecimalComma(value, separator)
    const number = hasComma ? withDecimalPoint(value) : value
    const decimals = number.length - (number.indexOf('.') + 1 || number.length)
    if (decimals) this.#decimalMarks.add(hasComma ? ',' : '.')
    this.#decimals = Math.max(this.#decimals, decimals)
    this.#fewestDecimals = Math.min(this.#fewestDecimals, decimals)
    this.#hasLastZero ||= decimals > 0 && number.endsWith('0')
    // A column with both marks has numbers of two countries, and nobody can say which points group thousands.
    const isUnclear = isAmbiguous(value, separator) || this.#decimalMarks.size > 1
    this.#forms = this.#forms.filter(([type, form]) => {
      const { hasDecimalPoint } = TYPES[type].csv
      const read = hasDecimalPoint ? number : dateText(type, KEEPS_BLANKS.has(type) ? text : value, dateForm)
      return read !== null && !(hasDecimalPoint && isUnclear) && form.test(read) && isReadAs(type, read)
    })
  }

  #remember(text: string): void {
    if (!this.#values) return
    this.#values.add(text)
    if (this.#values.size > MAX_OPTIONS || text.length > MAX_OPTION || text.trim() !== text) this.#values = null
  }

  #show(text: string): void {
    if (!this.samples.includes(text)) this.samples.push(text)
  }

  /** The first type that fits all cells, if they are known by their form. */
  #form(): FieldType | undefined {
    const forms = this.filled ? this.#forms.filter(([type]) => !this.#excluded.includes(type)) : []
    // Digits can be a number as well as a date without separators: what the request says decides.
    const form = (this.#formedDates === this.filled && forms.find(([type]) => isDateType(type))) || forms[0]
    return form && TYPES[form[0]].csv.hasDecimalPoint && (this.#isCode || this.#hasVersions) ? undefined : form?.[0]
  }

  /** In 1.9 and 1.10 the zero counts: numbers with different decimals, of which none is whole and one ends with a zero, are versions. */
  get #hasVersions(): boolean {
    return this.#fewestDecimals > 0 && this.#fewestDecimals < this.#decimals && this.#hasLastZero
  }

  /** The form by which the cells are dates, or would be if the request named it. */
  dateForm(): string | undefined {
    const type = this.#form()
    if (type === undefined) return this.filled ? this.#dates.form() : undefined
    return this.#formedDates && isDateType(type) ? this.#reading.dateForm?.form : undefined
  }

  /** @param name of the field */
  field(name: string): NewField {
    const type = this.#form()
    if (type) return { name, type, ...(TYPES[type].csv.hasDecimalPoint && { decimals: this.#decimals }) }
    if (this.#longest > (TYPES.text.maxLength ?? 0) || this.#hasLines) return { name, type: 'long_text' }
    const options = this.#isCode || this.#excluded.includes('select') ? undefined : this.#options()
    return options ? { name, type: 'select', options } : { name, type: 'text' }
  }

  /** The values in the order of the file, if each occurs twice on average and none differs from another in nothing but case. */
  #options(): string[] | undefined {
    const options = [...(this.#values ?? [])]
    if (options.length < 2 || this.filled < FEWEST_SELECTED || 2 * options.length > this.filled) return undefined
    return new Set(options.map((option) => option.toLowerCase())).size === options.length ? options : undefined
  }
}

/** Collects the rows of a file, in memory that depends on the number of columns alone. */
export class Guess {
  readonly #columns: ColumnGuess[]
  /** Rows below the header. */
  rows = 0
  /** Rows that an import would refuse, at most a hundred. */
  readonly issues: CellIssue[] = []
  readonly widths: RowWidths

  /** @param sheet what is known of the columns of a sheet */
  constructor(header: readonly string[], reading: GuessReading, sheet?: SheetColumns) {
    this.#columns = header.map((cell, index) => new ColumnGuess(nameOf(unshielded(cell)), reading, excludedFrom(index, sheet)))
    this.widths = new RowWidths(header.length)
  }

  add(rows: readonly Row[]): void {
    this.widths.fit(rows)
    for (const { number, cells } of rows) {
      this.rows++
      if (cells.length === this.#columns.length)
        for (const [index, column] of this.#columns.entries()) this.#addCell(column, cells[index] ?? '', number)
      else this.#refuse(number, null, `has ${cells.length} cells, the header has ${this.#columns.length}`)
    }
  }

  #addCell(column: ColumnGuess, cell: string, row: number): void {
    if (cell.includes('\0')) this.#refuse(row, column.header, 'must not contain NUL')
    else if (cell.length > MAX_TEXT && unshielded(cell).length > MAX_TEXT)
      this.#refuse(row, column.header, `must have at most ${MAX_TEXT} characters`)
    else column.add(cell)
  }

  #refuse(row: number, column: string | null, message: string): void {
    if (this.issues.length < MAX_ISSUES) this.issues.push({ row, column, message })
  }

  /** The forms of dates by column. */
  dateForms(): (string | undefined)[] {
    return this.#columns.map((column) => column.dateForm())
  }

  /** The first different cells by column. */
  samples(): string[][] {
    return this.#columns.map((column) => column.samples)
  }

  /** The fields by column. Their names differ from each other and from the names of the fields that every table has. */
  columns(): GuessedColumn[] {
    const taken = new Set([KEY_FIELD, ...CALC_FIELDS].map(({ name }) => name.toLowerCase()))
    const guessed = this.#columns.map((column, index): GuessedColumn => {
      if (column.header === '' && !column.filled) return null
      const name = freeName(column.header || `Column ${index + 1}`, taken)
      taken.add(name.toLowerCase())
      return column.field(name)
    })
    return withTitle(guessed)
  }
}

/** A text of a sheet is no number, and a duration is a text. */
function excludedFrom(column: number, sheet: SheetColumns | undefined): FieldType[] {
  if (sheet?.durations.includes(column)) return ['number', 'time', 'select']
  return sheet?.texts.includes(column) ? ['number'] : []
}

const MAX_TEXT = TYPES.long_text.maxLength ?? 0

/** The text field is the title of a record. Without one the first select becomes a text field. */
function withTitle(columns: GuessedColumn[]): GuessedColumn[] {
  if (columns.some((field) => field && canBeTitle(field))) return columns
  const first = columns.findIndex((field) => field?.options)
  return columns.map((field, index) => (field && index === first ? { name: field.name, type: 'text' } : field))
}

/** The header as the name of a field: without line breaks, and not longer than a name may be. */
const nameOf = (header: string) => cut(header.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim(), MAX_NAME)

/** Cuts a text, but not between the two UTF-16 units of a character. */
const cut = (text: string, length: number) =>
  text.length <= length
    ? text
    : text
        .slice(0, length)
        .replace(/[\uD800-\uDBFF]$/, '')
        .trim()

/** The name, or the name with the first number that makes it free: `Amount 2`. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : ` ${number}`
    const free = `${cut(name, MAX_NAME - suffix.length)}${suffix}`
    if (!taken.has(free.toLowerCase())) return free
  }
}
