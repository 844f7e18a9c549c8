import { z } from 'zod'
import { ChangedRows } from '../conversions/schema.ts'
import { FIELD_TYPES, type FieldType, TYPES } from '../fields/registry.ts'
import { Id, Name } from '../platform/http/procedures/schemas.ts'
import { ChangeId, narrowing, ordering } from '../records/schema.ts'
import { Field } from '../tables/schema.ts'
import { DateForm } from './reading/date-forms.ts'
import { isEncoding } from './reading/encodings.ts'

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

/** Conditions and an order as a query of records takes them. */
const ExportConditions = z.strictObject({ ...narrowing, ...ordering })

const JsonText = z
  .string()
  .max(16_000, 'is too long')
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown
    } catch {
      context.addIssue({ code: 'custom', message: 'must be JSON' })
      return z.NEVER
    }
  })

export const ExportQuery = z.object({
  view_id: z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .optional(),
  conditions: JsonText.pipe(ExportConditions).optional(),
})
export type ExportQuery = z.infer<typeof ExportQuery>

export const ImportQuery = ReadingQuery.extend({ async: Flag.default(false) })

/** A link needs a table, and the paths of files are those of another table. */
const takesNoReference = (type: FieldType) => TYPES[type].takes !== 'table' && TYPES[type].fromText !== null

/** What a field is to be instead of what was guessed. */
const Correction = z.strictObject({
  field: z.string(),
  name: Name.optional(),
  type: z.enum(FIELD_TYPES.filter(takesNoReference)).optional(),
  leave_out: z.boolean().optional(),
})
export type Correction = z.infer<typeof Correction>

export const NewTableQuery = ReadingQuery.extend({
  title: Name.optional(),
  sheet: z.string().min(1, 'must not be empty').max(100, 'must have at most 100 characters').optional(),
  dry_run: Flag.default(false),
  fields: JsonText.pipe(z.array(Correction)).optional(),
  samples: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1, 'must be 1 or more').max(10, 'must be at most 10'))
    .optional(),
})

export const StartedTable = z
  .object({
    table_id: Id.meta({ description: 'The new table.' }),
    job_id: Id.meta({ description: 'For GET /api/job/{job_id}.' }),
  })
  .meta({ id: 'StartedTable', description: 'A table that was created, and the job that imports its rows.' })
export type StartedTable = z.infer<typeof StartedTable>

export const Imported = z
  .object({
    created: z.int().meta({ description: 'The number of new records.' }),
    change_id: ChangeId,
    filled: ChangedRows.optional().meta({ description: 'Rows that had fewer cells than the header, which were filled. Absent if none.' }),
    cut: ChangedRows.optional().meta({ description: 'Rows that had empty cells beyond the header, which were cut off. Absent if none.' }),
  })
  .meta({ id: 'ImportedRecords', description: 'What an import has done.' })

export const GuessedTable = z
  .object({
    name: z.string().meta({ description: 'The name that the table would have.' }),
    rows: z.int().meta({ description: 'Rows below the header.' }),
    fields: z.array(Field).meta({ description: 'The fields that the table would have.' }),
    separator: z.string().optional().meta({ description: 'What separates the cells of a CSV file; a workbook has none.', example: ';' }),
    encoding: z
      .string()
      .optional()
      .meta({ description: 'The encoding of a CSV file: UTF-8, UTF-16, or a label such as windows-1252.', example: 'UTF-8' }),
    formats: z
      .array(
        z.object({
          field: z.string().meta({ description: 'The id of the field.' }),
          form: z.string().meta({ description: 'A `date_format` for the import.', example: 'dd.MM.yyyy' }),
        }),
      )
      .meta({ description: 'Fields whose cells are dates in a form that date_format names, or may name.' }),
    samples: z
      .array(
        z.object({
          field: z.string().meta({ description: 'The id of the field.' }),
          values: z.array(z.string()).meta({ description: 'Cells as the file has them, cut to 100 characters.' }),
        }),
      )
      .optional()
      .meta({ description: 'The first different cells of each field. Absent unless `samples` asks for them.' }),
    filled: ChangedRows.meta({ description: 'Rows that have fewer cells than the header, which are filled with empty ones.' }),
    cut: ChangedRows.meta({ description: 'Rows that have empty cells beyond the header, which are cut off.' }),
  })
  .meta({ id: 'GuessedTable', description: 'A table that a file would create.' })
export type GuessedTable = z.infer<typeof GuessedTable>
