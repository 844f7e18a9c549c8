/** Cancels jobs. Each feature ends its own. */
import { cancelConversion } from '../conversions/service.ts'
import { cancelImport } from '../csv/imports/run-import.ts'
import type { Context } from '../platform/context.ts'
import { cancelBulkChange } from '../records/where/run-job.ts'
import type { JobRow } from './procedure.ts'

const CANCELS = { conversion: cancelConversion, import: cancelImport, change: cancelBulkChange }

/** Cancels the job; records that it has changed stay so. `ok` is false if it is over: of two calls at once, one wins. */
export async function cancel(context: Context, { job_id, kind }: Pick<JobRow, 'job_id' | 'kind'>): Promise<{ ok: boolean }> {
  return { ok: await CANCELS[kind](context, job_id) }
}
