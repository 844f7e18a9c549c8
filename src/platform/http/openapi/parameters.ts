/** The parameters in the OpenAPI document that no input of a procedure has, and those that operations share. */
import type { Operation, Parameter } from './errors.ts'

export const ENVELOPE: Parameter = {
  name: 'envelope',
  in: 'query',
  required: false,
  description: 'True answers `{rows, total?, next_cursor?}`, as over RPC, in place of the bare list. The headers stay.',
  schema: { type: 'boolean', default: false },
}

export const IDEMPOTENCY_KEY: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A repeated request with the same key and body gets the first answer again for 24 hours, with `Idempotent-Replayed: true` and ' +
    'without an ETag, because the row may have changed since.',
  schema: { type: 'string', maxLength: 255 },
}

export const POSITION: Parameter = {
  name: 'X-Position',
  in: 'header',
  required: false,
  description:
    'The last `X-Position` that this key or session got, or several, comma-separated; browsers send it as a cookie. Only a replica that ' +
    'has what was written until then answers. Without it the answer shows all that was committed before the request.',
  schema: { type: 'string' },
}

export const IF_MATCH: Parameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of the row that was read, or several, comma-separated. If the row has another version by now, the answer is 409 with the ' +
    'current row in `current`.',
  schema: { type: 'string' },
  example: '"3"',
}

/**
 * Moves parameters that several operations write out to the components, under their own names. Of different ones with one name the most
 * frequent has it, and the others stay where they are.
 */
export function shareParameters(paths: Record<string, Record<string, Operation>>, shared: Record<string, object>): void {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const alike = Map.groupBy(
    operations.flatMap(({ parameters = [] }) => parameters),
    (parameter) => JSON.stringify(parameter),
  )
  const refs = new Map<string, { $ref: string }>()
  for (const [text, all] of [...alike].sort(([, a], [, b]) => b.length - a.length)) {
    const [first] = all
    if (!first || all.length < 2 || first.name in shared) continue
    shared[first.name] = first
    refs.set(text, { $ref: `#/components/parameters/${first.name}` })
  }
  for (const operation of operations)
    if (operation.parameters)
      operation.parameters = operation.parameters.map((parameter) => (refs.get(JSON.stringify(parameter)) ?? parameter) as Parameter)
}
