import { z } from 'zod'
import { Id, TablePath } from '../../platform/http/procedures/schemas.ts'
import { SKIP_REASONS } from './revertible.ts'

/** Any whole number: a change that does not exist is answered with 404 by the service, because no system table has the changes. */
export const ChangePath = TablePath.extend({
  change_id: z.int().meta({ description: 'The `change_id` of an answer, or of an entry of a history.' }),
})
export type ChangePath = z.infer<typeof ChangePath>

const Skipped = z
  .object({
    record_id: Id.meta({ description: 'The record that was left, or that has the field.' }),
    field: z.string().nullable().meta({ description: 'The field that was left as it is; null for a whole record.' }),
    reason: z.enum(SKIP_REASONS).meta({ description: 'Why it was left.' }),
  })
  .meta({ id: 'SkippedUndo', description: 'What an undo has left as it is.' })

const UndoneAtOnce = z
  .object({
    undone: z.int().meta({ description: 'The records on which something was set back, or that were deleted.' }),
    skipped: z.int().meta({ description: 'The fields and whole records that were left as they are.' }),
    skips: z.array(Skipped).meta({ description: 'The first hundred of them.' }),
    change_id: z.int().nullable().meta({ description: 'The change that the undo is itself. Null if nothing was set back.' }),
  })
  .meta({ id: 'UndoneChange', description: 'What an undo has done.' })

const UndoneByJob = z
  .object({
    job_id: Id.meta({ description: 'The job, for GET /api/job/{job_id}, which has the numbers.' }),
    change_id: z.int().meta({ description: 'The change that the undo is itself.' }),
  })
  .meta({ id: 'UndoJob', description: 'An undo of more than 1,000 records.' })

export const Undone = z.union([UndoneAtOnce, UndoneByJob])
export type Undone = z.infer<typeof Undone>
