/** Procedures on jobs, for callers who may create such a job. */

import type { Callers, Resource, Right } from '../platform/access/authorize.ts'
import { checkSpace, roleOf, type SpaceRow, withRule } from '../platform/access/resources.ts'
import type { Actor } from '../platform/actor.ts'
import { sql } from '../platform/database/database.ts'
import { resourceProcedure } from '../platform/http/procedures/trpc.ts'

/** A job, with the right that its creator needs. */
export type JobRow = SpaceRow & { job_id: number; kind: 'conversion' | 'import' | 'change'; needs: Right; user_id: number | null }

const jobResource: Resource<JobRow> = {
  ids: [{ name: 'job_id', thing: 'Job', found: 'job_id' }],
  select: ({ job_id }) => sql`
    select j.job_id, j.kind, j.needs, j.user_id, s.id as space_id, s.name as space_name, s.account_id, m.role as member_role
    from (
      select c.id as job_id, 'conversion' as kind, 'admin' as needs, t.space_id, c.user_id
      from field_conversions c join tables t on t.id = c.table_id and t.deleted_at is null where c.id = ${job_id}
      union all
      select i.id, 'import', case when i.is_new_table then 'admin' else 'write' end, i.space_id, i.user_id
      from record_imports i where i.id = ${job_id}
      union all
      select b.id, 'change', 'write', b.space_id, b.user_id from bulk_changes b where b.id = ${job_id}
    ) j
    join spaces s on s.id = j.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where s.account_id = p.p_account_id`,
  check: (row, actor) => checkSpace(row, actor, row.needs),
}

/** A procedure on the job `job_id`, for callers who may create such a job. */
export const jobProcedure = (allowed: Callers) => resourceProcedure(jobResource, 'read', allowed)

/** Who started the job, and admins of its space (contract.md §10). */
const mayCancel = (row: JobRow, actor: Actor): boolean => row.user_id === actor.userId || roleOf(actor, row.member_role) === 'admin'

/** The same, for callers who may cancel the job. */
export const cancellableJobProcedure = (allowed: Callers) => resourceProcedure(withRule(jobResource, mayCancel), 'write', allowed)
