/** Starts the change of a field to another type. The jobs do the rest (job/check.ts, job/convert.ts). */
import { z } from 'zod'
import { audit, requesterOf } from '../audit/log.ts'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { isUniqueViolation } from '../platform/database/database-errors.ts'
import { conflict } from '../platform/errors.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { formatInstant } from '../platform/time/time.ts'
import { changeTable } from '../tables/alter-table.ts'
import { tableDefinition } from '../tables/definition-cache.ts'
import { ownField } from '../tables/fields/alter-fields.ts'
import { totalOfAll } from '../tables/row-counts.ts'
import { auditPlaceOf } from '../tables/service.ts'
import { requireNotConverting } from './field-guard.ts'
import { checkConversion } from './job/check.ts'
import type { Target } from './job/conversion-row.ts'
import { convertField, giveUp } from './job/convert.ts'
import { jobCancelled } from './job/outcome.ts'
import { firstTurn, priorityOf, requireFewDryRuns } from './job/turns.ts'
import type { StartedJob, TypeChange } from './schema.ts'
import { requireValidViews, targetOf } from './target.ts'

/**
 * Creates the job that counts the cells that can be converted and, unless it is a dry run, converts them. Until the job is done
 * the field stays as it is. All checks that do not read the cells happen here.
 * @throws AppError 400 for a type that the field cannot be converted to, and for a setting that the new type does not have; 409 while the
 * cells are cleaned up or a field of the table is converted, if views would be invalid without `force`, and for too many dry runs
 */
export async function changeType(context: Context, table: TableRef, fieldId: string, input: TypeChange): Promise<StartedJob> {
  // A dry run changes nothing, so it needs neither the lock nor a new version of the table.
  if (!input.dry_run) return changeTable(context, table, (definition) => start(context, definition, fieldId, input))
  const definition = await tableDefinition(context.db, table)
  return context.transaction(() => start(context, definition, fieldId, input))
}

async function start(context: Context, table: TableDef, fieldId: string, input: TypeChange): Promise<StartedJob> {
  const field = ownField(table, fieldId)
  if (field.removed_options.length) throw conflict('Removed options are still being cleared from the cells; retry later')
  if (field.is_rounding) throw conflict('The cells are still being rounded; retry later')
  const target = await targetOf(context, table, field, input)
  await requireNotConverting(context, table.id, fieldId)
  if (!input.dry_run && !input.force) await requireValidViews(context, table, { ...field, ...target })
  if (input.dry_run) await requireFewDryRuns(context.db, table.id, field.id)
  const jobId = await enqueue(context, table, field, target, input)
  // A dry run changes nothing.
  if (!input.dry_run) {
    const detail = { from: field.type, to: target.type, job_id: jobId }
    await audit(context, 'field.conversion_started', { ...auditPlaceOf(table), id: field.id, name: field.name, detail })
  }
  return { job_id: jobId }
}

/** A unique index permits only one conversion of a table at a time, besides dry runs. */
async function enqueue(context: Context, table: TableDef, field: FieldDef, target: Target, input: TypeChange): Promise<number> {
  const { db, actor, now, jobs } = context
  const { keyId, ip } = requesterOf(context)
  const at = formatInstant(now)
  try {
    const total = await totalOfAll(db, [table.id])
    const [conversion] = await db.write<{ id: number }>(sql`
      insert into field_conversions
        (account_id, table_id, field_id, target, user_id, api_key_id, ip, time_zone,
         state, exact_state, dry_run, drop_failing, force, total,
         created_at, updated_at, checked_at)
      select ${table.account_id}, ${table.id}, ${field.id}, ${JSON.stringify(target)}::jsonb,
        ${actor.userId || null}::int, ${keyId}::int, ${ip}::text, ${actor.timeZone},
        'queued', 'checking', ${input.dry_run ?? false}, ${input.drop_failing ?? false}, ${input.force ?? false}, ${total},
        ${at}::timestamp, 'infinity', ${at}::timestamp
      returning id`)
    const id = conversion?.id ?? 0
    await jobs.send(checkConversion, { conversion_id: id }, priorityOf(await firstTurn(db, 'check', { id })))
    return id
  } catch (error) {
    if (isUniqueViolation(error)) throw conflict('Another field of the table is being converted')
    throw error
  }
}

/** Ends the conversion; the field stays as it is. @returns false if it is over */
export async function cancelConversion(context: Context, id: number): Promise<boolean> {
  const [conversion] = await context.db.read<{ id: number; table_id: number }>(
    sql`select id, table_id from field_conversions where id = ${id}`,
  )
  return conversion ? giveUp(context, conversion, jobCancelled()) : false
}

export const resumeConversions = defineQueue({ name: 'tables.resume-conversions', schema: z.object({}) })

const KEPT_DAYS = 30
/** A job without progress for this long is lost, because a running job stores its progress far more often. */
const IDLE_MINUTES = 10

/** On a schedule: continues conversions whose job was lost, and deletes those that ended long ago. */
export async function resumeAll({ db, jobs, now }: Context): Promise<void> {
  const before = formatInstant(new Date(now.getTime() - KEPT_DAYS * 86_400_000))
  await db.write(sql`
    delete from field_conversions where state not in ('queued', 'running') and updated_at < ${before}::timestamp`)
  const idleSince = formatInstant(new Date(now.getTime() - IDLE_MINUTES * 60_000))
  const idle = await db.read<{ id: number; checked_at: Date | null }>(sql`
    select id, checked_at from field_conversions
    where state in ('queued', 'running') and coalesce(checked_at, updated_at) < ${idleSince}::timestamp`)
  for (const { id, checked_at } of idle) await jobs.send(checked_at ? checkConversion : convertField, { conversion_id: id })
}
