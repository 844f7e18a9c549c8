/**
 * The messages for inputs that a schema refuses, in the terms of the wire. A schema defines only the messages that are particular to it.
 * Importing this file sets them for all schemas of the process; without it callers would get the library's messages.
 */
import { z } from 'zod'

type RawIssue = z.core.$ZodRawIssue

const KINDS: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
const UNITS: Record<string, string> = { string: ' characters', array: ' entries', set: ' entries' }

z.config({ customError: messageOf })

/** The message of an issue for which the schema defines none. */
function messageOf(issue: RawIssue): string {
  if (isMissing(issue)) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kindOf(issue)}`
    case 'invalid_value':
      return issue.values.length === 1 ? `must be ${String(issue.values[0])}` : `must be one of ${issue.values.join(', ')}`
    case 'too_big':
      return UNITS[issue.origin] ? `must have at most ${issue.maximum}${UNITS[issue.origin]}` : 'is too large'
    case 'too_small':
      return UNITS[issue.origin] ? `must have at least ${issue.minimum}${UNITS[issue.origin]}` : 'is too small'
    case 'invalid_union':
      return unionText(issue.errors)
    default:
      return 'is not valid'
  }
}

/** A null for a required key counts as absent (contract.md §1). In a list, null is a value of the wrong type. */
const isMissing = ({ input, path }: RawIssue) => input === undefined || (input === null && typeof path?.at(-1) === 'string')

function kindOf({ expected, inst }: Extract<RawIssue, { code: 'invalid_type' }>): string {
  const isWhole = expected === 'number' && (inst?._zod.def as { format?: string } | undefined)?.format === 'safeint'
  return KINDS[isWhole ? 'int' : expected] ?? `a valid ${expected}`
}

const unionText = (branches: z.core.$ZodIssue[][]) =>
  branches
    .flatMap(([first]) => first?.message ?? [])
    .map((text, index) => (index ? text.replace(/^must be /, '') : text))
    .join(' or ') || 'is not valid'

/**
 * The schema of an update: the value of an absent key stays. Null clears a value that may be empty, and counts as absent for other keys.
 * @param neverNull keys for which null is refused, because the caller means to clear a value that cannot be empty
 */
export function changesOf<Shape extends z.core.$ZodLooseShape>(
  whole: z.ZodObject<Shape, z.core.$strict>,
  neverNull: readonly (keyof Shape)[] = [],
) {
  const shape = Object.entries(whole.shape as Record<string, z.ZodType>).map(([key, schema]) => {
    if (neverNull.includes(key)) return [key, refusingNull(schema)]
    return [key, schema.safeParse(null).success ? schema : absentOr(schema)]
  })
  return z.strictObject(Object.fromEntries(shape) as Shape).partial()
}

/** The schema of a key that may be absent, with the description of the value. Null counts as absent (contract.md §1). */
export function absentOr<Schema extends z.ZodType>(schema: Schema) {
  const { description } = schema
  const absent = schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional()
  return description === undefined ? absent : absent.meta({ description })
}

/** The schema of a key with a default, which replaces null as well. */
export const orDefault = <Schema extends z.ZodType, Value extends z.output<Schema>>(schema: Schema, byDefault: Value) =>
  schema.nullish().transform((value) => value ?? byDefault)

function refusingNull(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod as unknown as { def: z.core.$ZodTypeDef & { in?: z.core.$ZodType; innerType?: z.core.$ZodType } }
  // The innermost schema that parses the input first refuses null. `parent` keeps the description.
  const changed: object = def.in
    ? { in: refusingNull(def.in) }
    : def.innerType
      ? { innerType: refusingNull(def.innerType) }
      : { error: (issue: RawIssue) => (issue.input === null ? 'must not be null' : def.error?.(issue as never)) }
  return z.core.clone(schema, { ...def, ...changed }, { parent: true } as never)
}
