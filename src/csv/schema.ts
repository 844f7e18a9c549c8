import { z } from 'zod'
import { Name } from '../platform/http/procedures/schemas.ts'
import type { Field } from '../tables/schema.ts'
import { DateForm } from './reading/date-forms.ts'
import { type Encoding, isEncoding } from './reading/encodings.ts'
import type { Separator } from './reading/separators.ts'
import type { ChangedRows } from './reading/widths.ts'

/** Unknown keys of a query string are ignored (contract.md §1). */
const Flag = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true')

/** How the file is read (contract.md §9, Formats). */
const ReadingQuery = z.object({
  encoding: z.string().refine(isEncoding, 'is not the name of an encoding that is known').optional(),
  date_format: z
    .string()
    .refine(
      (form) => DateForm.of(form) !== undefined,
      'must be a day, a month and a year, such as dd.MM.yyyy, perhaps with H:mm or HH:mm:ss',
    )
    .optional(),
})

export const ImportQuery = ReadingQuery.extend({ async: Flag.default(false) })

export const NewTableQuery = ReadingQuery.extend({
  title: Name.optional(),
  sheet: z.string().min(1, 'must not be empty').max(100, 'must have at most 100 characters').optional(),
  dry_run: Flag.default(false),
})

export interface StartedTable {
  table_id: number
  /** For GET /api/job/{job_id}. */
  job_id: number
}

/** What a table would be that a file creates. */
export interface GuessedTable {
  name: string
  /** Rows below the header. */
  rows: number
  fields: Field[]
  /** What separates the cells of a CSV file, and its encoding; a workbook has neither. */
  separator?: Separator
  encoding?: Encoding
  /** The fields whose cells are dates in a form, by the request's `date_format` or if it named this one. */
  formats: { field: string; form: string }[]
  /** Rows that had fewer cells than the header, and rows that had empty cells beyond it. */
  filled: ChangedRows
  cut: ChangedRows
}
