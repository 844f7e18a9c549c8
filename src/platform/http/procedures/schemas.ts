/** The basic schemas of the wire that every feature shares (contract.md §1). */
import { z } from 'zod'
import { MAX_ID } from '../../row-ids.ts'
import { instantText, isCalendarDate } from '../../time/time.ts'
import { orWritten } from '../answers/written-json.ts'

/** The id of a row: a positive whole number. */
export const Id = z
  .int({ error: ({ input }) => (input === undefined || input === null ? 'is required' : 'must be a whole number') })
  .min(1, 'must be 1 or more')
  .max(MAX_ID, 'is too large')

/** The version of a row, which its ETag names (contract.md §7, If-Match). */
export const Version = z.int().meta({ description: 'Increases with every change: the number in the ETag, for If-Match.', example: 1 })

/** `YYYY-MM-DD`, a day that exists. It has no time zone and never passes through an instant. */
export const CalendarDate = z
  .string()
  .refine(isCalendarDate, 'must be a date that exists, as YYYY-MM-DD')
  .meta({ format: 'date', example: '2026-03-31' })

/** A time of day in UTC. The input is `HH:MM` or `HH:MM:SS`, the output always `HH:MM:SS`. */
export const Time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/, 'must be a time of day, as HH:MM')
  .meta({ example: '09:30' })

/** `YYYY-MM-DD HH:MM:SS` in UTC, the form of all responses. */
export const Instant = z.string().meta({ description: 'UTC, YYYY-MM-DD HH:MM:SS', example: '2026-03-31 09:30:00' })

/** An instant in a request, as `YYYY-MM-DD HH:MM:SS` in UTC or as ISO 8601 with an offset. It is parsed to the form of `Instant`. */
export const InstantInput = z.string().transform((text, ctx) => {
  const at = instantText(text)
  if (at !== null) return at
  ctx.addIssue({ code: 'custom', message: 'must be an instant, as YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset' })
  return z.NEVER
})

/** The cursor of a list: absent or null for its first page. */
export const Cursor = z.string().max(1_000, 'must have at most 1000 characters').nullish()

const wholeNumber = z.number('must be a whole number').refine(Number.isInteger, 'must be a whole number').meta({ type: 'integer' })

/** The maximum number of rows, clamped to 1..max. A number that is not whole is refused. */
export const limit = (byDefault: number, max: number) =>
  wholeNumber
    .transform((value) => Math.min(Math.max(value, 1), max))
    .nullish()
    .transform((value) => value ?? byDefault)
    .meta({ description: `How many rows; default ${byDefault}, clamped into 1 to ${max}.`, example: byDefault })

/** The same for a list that is whole unless a number is given. */
export const limitIfAny = (max: number) =>
  wholeNumber
    .transform((value) => Math.min(Math.max(value, 1), max))
    .nullish()
    .meta({ description: `How many rows; all by default, clamped into 1 to ${max}.`, example: 20 })

/** The number of rows to skip, for a list that has a cursor as well. A negative number counts as 0. */
export const OffsetIfAny = wholeNumber
  .transform((value) => Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER))
  .nullish()
  .meta({ description: 'How many rows to leave out; default 0.', example: 0 })

/** The same for a list without a cursor. */
export const Offset = OffsetIfAny.transform((value) => value ?? 0).meta({
  description: 'How many rows to leave out; default 0.',
  example: 0,
})

const MAX_NAMES = 20

/**
 * What the rows of an answer have beside their usual keys, by name. A query string lists the names after one another, separated by commas.
 */
export const include = <const Names extends readonly [string, ...string[]]>(...names: Names) =>
  z
    .array(
      z.enum(names, {
        error: ({ input }) => `must be one of ${names.join(', ')}${typeof input === 'string' ? `, not '${short(input)}'` : ''}`,
      }),
    )
    .max(MAX_NAMES, `must have at most ${MAX_NAMES} names`)
    .nullish()
    .transform((asked): ReadonlySet<Names[number]> => new Set(asked))

const short = (text: string): string => text.slice(0, 100).toWellFormed()

/** A text that a person has written, in NFC (contract.md §1). Passwords, tokens and what belongs to mails stay as they were sent. */
export const Text = z.string().normalize('NFC')

/** A name of a space, table, field, view or key: 1 to 100 characters after trimming. */
export const Name = Text.trim().min(1, 'must not be empty').max(100, 'must have at most 100 characters')

/** A user, as records and answers name them. */
export const Person = z
  .object({
    id: Id.meta({ description: 'The id, as in members/list.' }),
    email: z.string().nullable().meta({ description: 'The address with which the user signs in; null for one who was erased.' }),
    name: z.string().meta({ description: 'The name, for people to read.' }),
  })
  .meta({ id: 'Person', description: 'A user of the account.' })

/** A cell or a row of a file that an import refuses. */
export const RefusedCell = z
  .strictObject({
    row: z.int().meta({ description: 'The line of the file where the row begins; the header is row 1.' }),
    column: z.string().nullable().meta({ description: 'The header of the column; null if the row as a whole is refused.' }),
    message: z.string().meta({ description: 'Why it is refused.' }),
  })
  .meta({ id: 'RefusedCell', description: 'A cell or a row of a file that an import refuses.' })

/** An email address, stored in lower case. */
export const EmailAddress = z
  .string()
  .trim()
  .toLowerCase()
  .max(320, 'must have at most 320 characters')
  .pipe(z.email('must be an email address'))

export const Ok = z
  .strictObject({ ok: z.literal(true).meta({ description: 'Always true: a refusal has another status.' }) })
  .meta({ id: 'Ok', description: 'The answer of a change that has nothing else to say.', example: { ok: true } })

/** The output of a list procedure: REST sends `rows` as the body and the other properties as headers. A service may write it as JSON. */
export const listOf = <Row extends z.ZodType>(row: Row) =>
  orWritten(z.object({ rows: z.array(row), total: z.int().optional(), next_cursor: z.string().optional() }))

/** The input of a procedure without parameters: `{}`, or nothing. */
export const NoInput = z.strictObject({}).meta({ id: 'NoInput', description: 'No keys; the body may be left out.' }).optional()

/** The ids in a path that names a space, a table or a record. An input with a body extends it, and stays strict. */
export const SpacePath = z.strictObject({ space_id: Id })
export const TablePath = z.strictObject({ table_id: Id })
export const RecordPath = TablePath.extend({ record_id: Id })
export type RecordPath = z.infer<typeof RecordPath>
