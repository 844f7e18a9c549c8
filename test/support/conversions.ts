import { check } from '../../src/conversions/job/check.ts'
import { convert } from '../../src/conversions/job/convert.ts'
import type { Context } from '../../src/platform/context.ts'

/** Runs both jobs of a conversion, as a worker does: the second does nothing when the first has ended the conversion. */
export async function runConversion(context: Context, id: number): Promise<void> {
  await check(context, { conversion_id: id })
  await convert(context, { conversion_id: id })
}
