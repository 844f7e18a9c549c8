import { z } from 'zod'
import { ChangedRows, FailingCell } from '../conversions/schema.ts'
import { Id, RefusedCell } from '../platform/http/procedures/schemas.ts'
import { LostView } from '../tables/schema.ts'

const SkippedRecord = z
  .object({
    record_id: Id.meta({ description: 'The record.' }),
    field: z.string().nullable().meta({ description: 'The field that was left; null for the whole record.' }),
    reason: z.string().meta({ description: 'Why: `changed since`, `deleted`, or a reason of an undo.' }),
  })
  .meta({ id: 'SkippedRecord', description: 'A record that a change of many records has left as it is.' })

export const Job = z
  .object({
    state: z.enum(['checking', 'running', 'done', 'refused', 'failed', 'cancelled']).meta({
      description:
        'checking: the cells are counted. running: they are converted, the rows imported, or records changed. done: the field has the ' +
        'new type, the records exist or are changed, or the dry run has ended. refused: cells or views do not allow it. failed: the job ' +
        'gave up. cancelled: somebody has cancelled it, or the field or its table was deleted. What a job has changed in records stays; ' +
        'otherwise only done changes anything.',
    }),
    done: z.int().meta({
      description:
        'Records that were counted (checking) or converted (running) so far; rows of a file that were checked; matching records that ' +
        'were looked at again.',
    }),
    total: z.int().meta({
      description:
        'Records of the table when the job was created; rows of the file, as far as they were counted; records that matched at the start.',
    }),
    error: z.string().nullable().meta({ description: 'Why the job was refused, failed or was cancelled.' }),
    converts: z
      .int()
      .optional()
      .meta({ description: 'Cells that can be converted. Absent until all cells are counted, as are the next two.' }),
    failing: z.int().optional().meta({ description: 'Cells that cannot.' }),
    fails: z.array(FailingCell).optional().meta({ description: 'The first 100 cells that cannot, by record id.' }),
    deleted_views: z
      .array(LostView)
      .optional()
      .meta({ description: 'With force: views that the new type has made invalid or has changed.' }),
    dropped_sorts: z.array(LostView).optional().meta({ description: 'With force: views that were sorted by the field.' }),
    created: z.int().optional().meta({ description: 'Records that an import has created.' }),
    change_id: z.int().optional().meta({ description: 'The id of the change in which it creates or changes records.', example: 5012 }),
    filled: ChangedRows.optional().meta({
      description: 'Rows of the file that had fewer cells than its header, which were filled. Absent if none.',
    }),
    cut: ChangedRows.optional().meta({ description: 'Rows that had empty cells beyond the header, which were cut off. Absent if none.' }),
    matched: z
      .int()
      .optional()
      .meta({ description: 'Records that met the conditions when the job was created, or that the change has which is undone.' }),
    changed: z.int().optional().meta({ description: 'Those of them that it has changed or deleted so far.' }),
    skipped: z.int().optional().meta({
      description: 'Those that it has left as they are, because they no longer met the conditions; of an undo, fields and records.',
    }),
    skips: z.array(SkippedRecord).optional().meta({ description: 'The first 100 of these.' }),
    issues: z.array(RefusedCell).optional().meta({ description: 'The first 100 cells that an import has refused.' }),
  })
  .meta({ id: 'Job', description: 'The change of a field to another type, an import, or a change of many records.' })
export type Job = z.infer<typeof Job>

export const JobPath = z.strictObject({ job_id: Id })

export const Cancelled = z
  .object({ ok: z.boolean().meta({ description: 'False if the job was over.' }) })
  .meta({ id: 'CancelledJob', description: 'Whether a job was cancelled.' })
