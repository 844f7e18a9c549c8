/** What changes or deletes the records that meet conditions takes and answers (contract.md §10). */
import { z } from 'zod'
import { Id, TablePath } from '../../platform/http/procedures/schemas.ts'
import { narrowing, throughView, Values } from '../schema.ts'

const asked = {
  ...throughView,
  ...narrowing,
  dry_run: z.boolean().nullish().meta({ description: 'If true, nothing is changed: the answer is how many records match.' }),
  expect: z.int().min(0, 'must be 0 or more').nullish().meta({
    description: 'How many records match, from a dry run. With another number of them nothing is changed, and the answer is 409.',
    example: 7,
  }),
}

export const RecordsUpdateWhere = TablePath.extend({
  ...asked,
  data: Values.meta({ description: 'The values that change in each record, by field id; null empties a field, and others stay.' }),
}).meta({ id: 'RecordsUpdateWhere', description: 'Which records of a table change, and how.' })
export type RecordsUpdateWhere = z.infer<typeof RecordsUpdateWhere>

export const RecordsDeleteWhere = TablePath.extend(asked).meta({
  id: 'RecordsDeleteWhere',
  description: 'Which records of a table are deleted.',
})
export type RecordsDeleteWhere = z.infer<typeof RecordsDeleteWhere>

/** The inputs that both have. */
export type AskedWhere = RecordsDeleteWhere

export const ChangedWhere = z
  .object({
    matched: z.int().meta({ description: 'How many records meet the conditions.' }),
    changed: z.int().optional().meta({ description: 'How many of them were changed or deleted. Absent from a dry run and of a job.' }),
    job_id: Id.optional().meta({ description: 'With more than 1,000 records: the job that changes them, for GET /api/job/{job_id}.' }),
    change_id: z.int().nullable().optional().meta({ description: 'The change; null if nothing was changed. Absent from a dry run.' }),
  })
  .meta({ id: 'ChangedWhere', description: 'What was done with the records that meet conditions.' })
export type ChangedWhere = z.infer<typeof ChangedWhere>
