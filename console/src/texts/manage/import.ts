/** What the import of a file as a new table says. */

const number = (count: number) => count.toLocaleString('en')
const rows = (count: number) => (count === 1 ? '1 row' : `${number(count)} rows`)
const lines = (of: { rows: number; lines: readonly number[] }) =>
  `line ${of.lines.join(', ')}${of.rows > of.lines.length ? ` and ${number(of.rows - of.lines.length)} more` : ''}`

export const importTexts = {
  title: (space: string) => `Import a file into ${space}`,
  open: 'Import a file',
  choose: 'Choose a file',
  chooseHint: 'CSV or Excel (XLSX), its first row with the names of the columns. Or drop it here.',
  other: 'Choose another file',
  reading: (file: string) => `Reading ${file} …`,
  name: 'Name of the table',
  sheet: 'Sheet',
  sheetHint: 'Empty: the first sheet that is not hidden.',
  encoding: 'Encoding',
  automatic: (found: string | undefined) => (found ? `Automatic (${found})` : 'Automatic'),
  dates: 'Dates',
  noDates: 'Only dates such as 2026-03-31',
  datesAs: (form: string, columns: readonly string[]) =>
    columns.length ? `Also dates such as ${form}, as in ${columns.join(', ')}` : `Also dates such as ${form}`,
  datesConcern: (columns: readonly string[]) =>
    columns.length ? `One form counts for all columns with dates, here: ${columns.join(', ')}.` : 'No column has dates of this form.',
  datesPlain: (columns: readonly string[]) => (columns.length ? `${columns.join(', ')} would not be read as dates.` : undefined),
  fields: 'Fields',
  guess: (count: number) => `The file has ${rows(count)}. These fields will be made of its columns; names and types can be changed:`,
  importField: (name: string) => `Import ${name}`,
  nameOf: (name: string) => `Name of ${name}`,
  typeOf: (name: string) => `Type of ${name}`,
  examples: (values: readonly string[]) => values.join(' \u00b7 '),
  noExamples: 'No values',
  options: (titles: readonly string[]) => `(options: ${titles.join(', ')})`,
  optionsOfValues: '(each different value becomes an option)',
  fieldNameMissing: 'The field needs a name.',
  fieldNameTwice: (name: string) => `There are two fields "${name}".`,
  filled: (of: { rows: number; lines: readonly number[] }) =>
    `${rows(of.rows)} with fewer cells than the header are filled with empty ones (${lines(of)}).`,
  cut: (of: { rows: number; lines: readonly number[] }) => `Empty cells beyond the header are cut off (${lines(of)}).`,
  start: 'Import',
  again: 'Read again',
  importing: (done: number, total: number) => (total ? `${number(done)} of ${number(total)} rows` : 'The import begins …'),
  imported: (name: string, count: number) => `${name}: ${rows(count)} imported`,
  goesOn: 'The import goes on if you close this.',
  refused: (reason: string | null | undefined) => `Nothing was imported, and there is no new table. ${reason ?? ''}`,
  cellsDoNotFit: 'Nothing was imported: cells do not fit the types of their fields.',
  // The service names a hundred at most.
  moreCells: (count: number) => (count < 95 ? `and ${count} more` : 'and more'),
  issue: (row: number, column: string | null, reason: string) =>
    column === null ? `Line ${row}: ${reason}` : `Line ${row}, ${column}: ${reason}`,
}
