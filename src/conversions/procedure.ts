/** Procedures on the job of a conversion, for callers who may create one. */
import type { Callers, Resource } from '../platform/access/authorize.ts'
import { checkSpace, type TableRow } from '../platform/access/resources.ts'
import { sql } from '../platform/database/database.ts'
import { resourceProcedure } from '../platform/http/trpc.ts'

const jobResource: Resource<TableRow & { job_id: number }> = {
  ids: [{ name: 'job_id', thing: 'Job', found: 'job_id' }],
  select: ({ job_id }) => sql`
    select c.id as job_id, s.id as space_id, s.name as space_name, t.account_id, m.role as member_role,
      t.id as table_id, t.name as table_name, t.version as table_version
    from field_conversions c
    join tables t on t.id = c.table_id and t.deleted_at is null
    join spaces s on s.id = t.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where c.id = ${job_id} and t.account_id = p.p_account_id`,
  check: checkSpace,
}

/** A procedure on the job `job_id`, for admins of its table's space. */
export const jobProcedure = (allowed: Callers) => resourceProcedure(jobResource, 'admin', allowed)
