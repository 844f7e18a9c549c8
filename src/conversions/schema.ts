import { z } from 'zod'
import { FIELD_TYPES } from '../fields/registry.ts'
import { Id } from '../platform/http/schemas.ts'
import { Decimals, Options } from '../tables/schema.ts'

export const TypeChange = z.strictObject({
  type: z.enum(FIELD_TYPES),
  options: Options.nullish().meta({
    description: 'For select and multi_select. By default the options that the field has, or the different values of its cells.',
  }),
  decimals: Decimals.nullish().meta({ description: 'For number.' }),
  table: Id.nullish().meta({
    description: 'For lookup and multi_lookup: a table of the same space. By default the one that it points to.',
  }),
  dry_run: z.boolean().nullish().meta({ description: 'Only says what would convert.' }),
  drop_failing: z.boolean().nullish().meta({ description: 'Empties cells that do not convert.' }),
  force: z
    .boolean()
    .nullish()
    .meta({ description: 'Also deletes views that the new type makes invalid, and drops sorts that it does not have.' }),
})
export type TypeChange = z.infer<typeof TypeChange>

export const TypeChangeReport = z
  .object({
    job_id: Id.nullable().meta({ description: 'For GET /api/job/{job_id}; null for a dry run.' }),
    converts: z.int().meta({ description: 'Cells that have a value of the new type.' }),
    fails: z.array(z.object({ record_id: Id, value: z.string() })).meta({ description: 'The first 100 cells that do not.' }),
    failing: z.int().meta({ description: 'How many do not.' }),
  })
  .meta({ id: 'TypeChangeReport' })
export type TypeChangeReport = z.infer<typeof TypeChangeReport>

export const Job = z
  .object({
    state: z.enum(['queued', 'running', 'done', 'failed']),
    done: z.int().meta({ description: 'Records.' }),
    total: z.int().meta({ description: 'Records, when it began.' }),
    error: z.string().nullable().meta({ description: 'Why it failed; the field is as it was.' }),
  })
  .meta({ id: 'Job', description: 'Work that goes on after its request was answered.' })
export type Job = z.infer<typeof Job>

export const JobPath = z.strictObject({ job_id: Id })
