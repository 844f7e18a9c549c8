import { z } from 'zod'
import { Name } from '../platform/http/procedures/schemas.ts'
import type { Field } from '../tables/schema.ts'
import type { Encoding } from './reading/encodings.ts'
import type { Separator } from './reading/separators.ts'

/** Unknown keys of a query string are ignored (contract.md §1). */
const Flag = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true')

export const ImportQuery = z.object({ async: Flag.default(false) })

export const NewTableQuery = z.object({
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
}
