import { z } from 'zod'
import { FIELD_TYPES } from '../fields/registry.ts'
import { Id } from '../platform/http/procedures/schemas.ts'
import { Decimals, LostView, Options } from '../tables/schema.ts'

export const TypeChange = z.strictObject({
  type: z.enum(FIELD_TYPES),
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
export type TypeChange = z.infer<typeof TypeChange>

export const StartedJob = z
  .object({ job_id: Id.meta({ description: 'For GET /api/job/{job_id}.' }) })
  .meta({ id: 'StartedJob', description: 'A job that continues after the request has been answered.' })
export type StartedJob = z.infer<typeof StartedJob>

const ChangedRows = z.object({ rows: z.int(), lines: z.array(z.int()).meta({ description: 'The lines of the first ten.' }) })

export const Job = z
  .object({
    state: z.enum(['checking', 'running', 'done', 'refused', 'failed', 'cancelled']).meta({
      description:
        'checking: the cells are counted. running: they are converted, or the rows imported. done: the field has the new type, the ' +
        'records exist, or the dry run has ended. refused: cells or views do not allow it. failed: the job gave up. cancelled: the ' +
        'field or its table was deleted. Only done changes anything.',
    }),
    done: z
      .int()
      .meta({ description: 'Records that were counted (checking) or converted (running) so far; rows of a file that were checked.' }),
    total: z.int().meta({ description: 'Records of the table when the job was created; rows of the file, as far as they were counted.' }),
    error: z.string().nullable().meta({ description: 'Why the job was refused, failed or was cancelled.' }),
    converts: z
      .int()
      .optional()
      .meta({ description: 'Cells that can be converted. Absent until all cells are counted, as are the next two.' }),
    failing: z.int().optional().meta({ description: 'Cells that cannot.' }),
    fails: z
      .array(z.object({ record_id: Id, value: z.string() }))
      .optional()
      .meta({ description: 'The first 100 cells that cannot, by record id.' }),
    deleted_views: z
      .array(LostView)
      .optional()
      .meta({ description: 'With force: views that the new type has made invalid or has changed.' }),
    dropped_sorts: z.array(LostView).optional().meta({ description: 'With force: views that were sorted by the field.' }),
    created: z.int().optional().meta({ description: 'Records that an import has created.' }),
    filled: ChangedRows.optional().meta({
      description: 'Rows of the file that had fewer cells than its header, which were filled. Absent if none.',
    }),
    cut: ChangedRows.optional().meta({ description: 'Rows that had empty cells beyond the header, which were cut off. Absent if none.' }),
    issues: z
      .array(z.object({ row: z.int(), column: z.string().nullable(), message: z.string() }))
      .optional()
      .meta({ description: 'The first 100 cells that an import has refused. `row` is the line of the file where the row begins.' }),
  })
  .meta({ id: 'Job', description: 'The change of a field to another type, or an import.' })
export type Job = z.infer<typeof Job>
export interface ConversionFigures {
  converts: number
  failing: number
  fails: NonNullable<Job['fails']>
}

export const JobPath = z.strictObject({ job_id: Id })
