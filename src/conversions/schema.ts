import { z } from 'zod'
import { FIELD_TYPES } from '../fields/registry.ts'
import { Id } from '../platform/http/procedures/schemas.ts'
import { Decimals, Options } from '../tables/schema.ts'

export const TypeChange = z
  .strictObject({
    type: z.enum(FIELD_TYPES).meta({ description: 'The type that the field is to have; docs/field-types.md lists what becomes what.' }),
    options: Options.nullish().meta({
      description: 'For select and multi_select. By default the options that the field has, or the different values of its cells.',
    }),
    decimals: Decimals.nullish().meta({ description: 'For number.' }),
    table: Id.nullish().meta({
      description: 'For lookup and multi_lookup: a table of the same space. By default the table that the field points to.',
    }),
    dry_run: z.boolean().nullish().meta({ description: 'Only count the cells that can be converted; the field stays as it is.' }),
    drop_failing: z.boolean().nullish().meta({ description: 'Empty the cells that cannot be converted.' }),
    force: z.boolean().nullish().meta({
      description:
        'Delete views that are invalid, or mean something else, with the new type, and drop sorts that the new type does not have.',
    }),
  })
  .meta({ id: 'TypeChange', description: 'Another type for a field.' })
export type TypeChange = z.infer<typeof TypeChange>

export const StartedJob = z
  .object({ job_id: Id.meta({ description: 'For GET /api/job/{job_id}.' }) })
  .meta({ id: 'StartedJob', description: 'A job that continues after the request has been answered.' })
export type StartedJob = z.infer<typeof StartedJob>

/** Rows of a file that had fewer or more cells than its header. */
export const ChangedRows = z
  .object({
    rows: z.int().meta({ description: 'The number of such rows.' }),
    lines: z.array(z.int()).meta({ description: 'The lines of the first ten.' }),
  })
  .meta({ id: 'ChangedRows', description: 'Rows of a file that did not have as many cells as its header.' })

export interface ConversionFigures {
  converts: number
  failing: number
  fails: FailingCell[]
}

export const FailingCell = z.object({
  record_id: Id.meta({ description: 'The record of the cell.' }),
  value: z.string().meta({ description: 'What the cell has, as text.' }),
})
type FailingCell = z.infer<typeof FailingCell>
