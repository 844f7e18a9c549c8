import { callers } from '../platform/access/authorize.ts'
import { rest, router, tableProcedure } from '../platform/http/trpc.ts'
import { FieldPath } from '../tables/schema.ts'
import { progressOf } from './convert.ts'
import { jobProcedure } from './procedure.ts'
import { Job, JobPath, TypeChange, TypeChangeReport } from './schema.ts'
import { changeType } from './service.ts'

/** Merged into `fields` in router.ts, because callers look for it among the operations of a field. */
export const conversionsRouter = router({
  changeType: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/field/{field_id}/changeType', 'Change the type of a field', {
        description:
          'Starts a job that converts every cell; until it is done the field stays as it is. Cells that do not convert are 409 unless ' +
          '`drop_failing` is true, views that the new type makes invalid unless `force` is. `dry_run` only answers what would convert. ' +
          'Which type becomes which: docs/field-types.md.',
        tags: ['Tables'],
        example: {
          input: { type: 'number', decimals: 2, drop_failing: true },
          output: { job_id: 12, converts: 998, fails: [{ record_id: 17, value: 'about 20' }], failing: 1 },
        },
        errors: { 409: '1 text cells do not convert; send drop_failing: true to empty them' },
      }),
    )
    .input(TypeChange.extend(FieldPath.shape))
    .output(TypeChangeReport)
    .mutation(({ ctx, input: { field_id, ...change } }) => changeType(ctx.context, ctx.table, field_id, change)),
})

export const jobsRouter = router({
  get: jobProcedure(callers.any)
    .meta(
      rest('GET', '/api/job/{job_id}', 'See how far a job is', {
        description: 'A job that a request has started on a table. By an admin of its space.',
        tags: ['Tables'],
        example: { output: { state: 'running', done: 40_000, total: 1_000_000, error: null } },
      }),
    )
    .input(JobPath)
    .output(Job)
    .query(({ ctx }) => progressOf(ctx.context, ctx.row.job_id)),
})
