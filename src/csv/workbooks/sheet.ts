/** Reads the cells of a sheet, each as what its type and its format say that it is (ECMA-376 part 1, 18.3.1.4). */
import { type Archive, UnreadableArchive } from './archive.ts'
import { Duration, isoMoment, momentOf, numberOf, type SheetCell } from './cell-values.ts'
import { type Format, formatOf } from './number-format.ts'
import type { Workbook } from './parts.ts'
import { readStrings, TextCollector, unescaped } from './texts.ts'
import { type Attributes, readXml } from './xml.ts'

/** The rows by their number less one, and the cells by their column. Those that have nothing are missing. */
export type SheetRows = SheetCell[][]

/** As many rows as a sheet of Excel has. */
export const MAX_ROWS = 1_048_576

export class LongSheet extends Error {}
export class WideSheet extends Error {
  readonly columns: number

  constructor(columns: number) {
    super()
    this.columns = columns
  }
}

/** @throws LongSheet; WideSheet for cells beyond `maxCells` columns; UnreadableArchive, LargeArchive */
export async function readSheet(archive: Archive, workbook: Workbook, path: string, maxCells: number): Promise<SheetRows> {
  const { is1904, styles, strings } = workbook
  const cells = new CellReader(
    is1904,
    styles === undefined ? [] : await readFormats(archive, styles),
    strings === undefined ? [] : await readStrings(archive, strings),
  )
  const sheet = new SheetReader(cells, maxCells)
  await readXml(archive.read(path), sheet)
  if (sheet.widest > maxCells) throw new WideSheet(sheet.widest)
  return sheet.rows
}

type ShownAs = (value: number) => Format

/** The formats by the style of a cell. */
async function readFormats(archive: Archive, path: string): Promise<ShownAs[]> {
  const written = new Map<number, string>()
  const ids: number[] = []
  let isOfCells = false
  await readXml(archive.read(path), {
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'numFmt') written.set(Number(numFmtId), formatCode)
      else if (name === 'cellXfs') isOfCells = true
      else if (name === 'xf' && isOfCells) ids.push(Number(numFmtId))
    },
    close(name) {
      if (name === 'cellXfs') isOfCells = false
    },
  })
  return ids.map((id) => formatOf(id, written))
}

class CellReader {
  readonly #is1904: boolean
  readonly #formats: readonly ShownAs[]
  readonly #shared: readonly string[]

  constructor(is1904: boolean, formats: readonly ShownAs[], shared: readonly string[]) {
    this.#is1904 = is1904
    this.#formats = formats
    this.#shared = shared
  }

  /** @returns '' for a cell without a value, and for an error */
  cell({ t: type = 'n', s: style = '0' }: Attributes, text: string): SheetCell {
    if (type === 'e' || text === '') return ''
    if (type === 's') return this.#sharedText(text)
    if (type === 'str' || type === 'inlineStr') return unescaped(text)
    if (type === 'b') return /^(1|true)$/i.test(text.trim())
    if (type === 'd') return isoMoment(text)
    const number = numberOf(text.trim())
    if (typeof number !== 'number') return number
    const format = this.#formats[Number(style)]?.(number)
    if (format?.kind === 'duration') return new Duration(format.text(number))
    return format?.kind === 'moment' ? momentOf(number, format.hasDate, this.#is1904) : number
  }

  #sharedText(index: string): string {
    const text = this.#shared[Number(index)]
    if (text === undefined) throw new UnreadableArchive('is damaged')
    return text
  }
}

/** Puts cells into rows. A row or a cell that does not say where it is follows the one before it. */
class SheetReader {
  readonly rows: SheetRows = []
  widest = 0
  readonly #reader: CellReader
  readonly #maxCells: number
  readonly #text = new TextCollector()
  #isInData = false
  #row = -1
  #cells: SheetCell[] = []
  #column = -1
  #attributes: Attributes = {}
  #value = ''

  constructor(reader: CellReader, maxCells: number) {
    this.#reader = reader
    this.#maxCells = maxCells
  }

  open(name: string, attributes: Attributes): void {
    if (name === 'sheetData') this.#isInData = true
    if (!this.#isInData) return
    if (name === 'row') this.#openRow(attributes.r)
    else if (name === 'c') {
      this.#attributes = attributes
      this.#column = columnOf(attributes.r) ?? this.#column + 1
      this.#value = ''
    } else if (name === 'v' || name === 'is') this.#text.begin(attributes, name === 'v')
    else this.#text.open(name, attributes)
  }

  text(text: string): void {
    this.#text.add(text)
  }

  close(name: string): void {
    if (name === 'sheetData') this.#isInData = false
    if (!this.#isInData) return
    if (name === 'v' || name === 'is') this.#value ||= this.#text.end()
    else if (name === 'c') this.#put(this.#reader.cell(this.#attributes, this.#value))
    else this.#text.close(name)
  }

  #openRow(number: string | undefined): void {
    this.#row = number === undefined ? this.#row + 1 : Number(number) - 1
    this.#column = -1
    if (!(Number.isInteger(this.#row) && this.#row >= 0)) throw new UnreadableArchive('is damaged')
    if (this.#row >= MAX_ROWS) throw new LongSheet()
    this.#cells = this.rows[this.#row] ?? []
  }

  #put(cell: SheetCell): void {
    if (cell === '') return
    this.widest = Math.max(this.widest, this.#column + 1)
    // The sheet is refused at its end, with all of its columns counted.
    if (this.#column >= this.#maxCells) return
    if (!this.#cells.length) this.rows[this.#row] = this.#cells
    this.#cells[this.#column] = cell
  }
}

/** @returns undefined if the reference names no column */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/i.exec(reference ?? '')?.[0].toUpperCase()
  if (!letters) return undefined
  let column = 0
  for (const letter of letters) column = 26 * column + letter.charCodeAt(0) - 64
  return column - 1
}
