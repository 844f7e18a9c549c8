import { callers } from '../platform/access/authorize.ts'
import { rest, router } from '../platform/http/procedures/trpc.ts'
import { jobDocs } from './docs.ts'
import { cancellableJobProcedure, jobProcedure } from './procedure.ts'
import { jobOf } from './queries.ts'
import { Cancelled, Job, JobPath } from './schema.ts'
import { cancel } from './service.ts'

export const jobsRouter = router({
  get: jobProcedure(callers.any)
    .meta(rest('GET', '/api/job/{job_id}', jobDocs.get))
    .input(JobPath)
    .output(Job)
    .query(({ ctx }) => jobOf(ctx.context, ctx.row)),

  cancel: cancellableJobProcedure(callers.any)
    .meta(rest('POST', '/api/job/{job_id}/cancel', jobDocs.cancel))
    .input(JobPath)
    .output(Cancelled)
    .mutation(({ ctx }) => cancel(ctx.context, ctx.row)),
})
