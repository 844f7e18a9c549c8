import { z } from 'zod'
import { Instant, Version } from '../platform/http/procedures/schemas.ts'

const PreferenceName = z
  .string()
  .regex(/^[a-z0-9._-]{1,100}$/, 'must have 1 to 100 characters of a-z, 0-9, dot, _ and -')
  .meta({ description: 'The name, which the program chooses: 1 to 100 of `a-z`, `0-9`, dot, `_` and `-`.', example: 'draft.mail.4.12' })

const MAX_VALUE_BYTES = 256 * 1024

const ANY_JSON = 'Any JSON value: what a program keeps, such as a draft.'

export const Preference = z
  .strictObject({
    name: z.string().meta({ description: 'The name, which the program has chosen.' }),
    value: z.unknown().meta({ description: `${ANY_JSON} Null once it was deleted.` }),
    version: Version,
    updated_at: Instant.nullable().meta({ description: 'The last change: UTC, YYYY-MM-DD HH:MM:SS. Null if there was none.' }),
  })
  .meta({ id: 'Preference', description: 'A value that a program keeps for its user under a name.' })
export type Preference = z.infer<typeof Preference>

export const PreferenceList = z.strictObject({
  prefix: z
    .string()
    .max(100, 'must have at most 100 characters')
    .nullish()
    .meta({ description: 'Only names that begin with it; all of them without it.', example: 'draft.' }),
})
export type PreferenceList = z.infer<typeof PreferenceList>

/** The value as compact JSON, which is what is stored and counted; null, which deletes, stays null. */
const Value = z
  .unknown()
  .transform((value, ctx): string | null => {
    const refuse = (message: string) => {
      ctx.addIssue({ code: 'custom', message })
      return z.NEVER
    }
    if (value === undefined) return refuse('is required')
    if (value === null) return null
    const text = jsonOf(value)
    if (text === undefined) return refuse('must not have numbers beyond ±1.8e308')
    return Buffer.byteLength(text) > MAX_VALUE_BYTES ? refuse('must have at most 256 KB of JSON') : text
  })
  .meta({ description: `${ANY_JSON} At most 256 KB; null deletes.` })

/** @returns undefined for a number that JSON.parse takes for infinite, and that JSON.stringify would turn into null */
function jsonOf(value: unknown): string | undefined {
  let isExact = true
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part)) isExact = false
    return part
  })
  return isExact ? text : undefined
}

export const PreferenceUpdate = z
  .strictObject({ name: PreferenceName, value: Value })
  .meta({ id: 'PreferenceUpdate', description: 'What is kept under the name from now on.' })
export type PreferenceUpdate = z.infer<typeof PreferenceUpdate>
