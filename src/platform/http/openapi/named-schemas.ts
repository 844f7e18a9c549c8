/**
 * Names for the schemas of the OpenAPI document. A schema of Zod with an `id` is a component of the document, and so is a part that is
 * written as JSON and has an `id`; everything else refers to it, and generated clients have one type for it, with that name.
 */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { pathIdsOf, type RestProcedure } from '../procedures/rest.ts'

interface Document {
  paths: object
  components: { schemas: Record<string, object> }
}

/** Keys that hold values of callers, in which an `id` is no name of a schema. */
const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const'])

/**
 * What the generator does not know of the body of a procedure. Its name and description are those of the named schema whose properties
 * it has: the input is such a schema extended by the ids of the path (`NewTask.extend(RecordPath.shape)`), which copies neither.
 * And a schema with rules between its keys refuses unknown keys as any other does.
 */
export function bodyTraits(procedure: RestProcedure): { id?: string; description?: string; additionalProperties?: false } {
  const input: z.ZodType | undefined = procedure.input
  const body = input instanceof z.ZodOptional ? input.unwrap() : input
  if (!(body instanceof z.ZodObject)) return {}
  const pathIds = pathIdsOf(procedure)
  const keys = bodyKeys(body, pathIds)
  const strict = body.def.catchall instanceof z.ZodNever ? { additionalProperties: false as const } : {}
  for (const [id, schema] of z.globalRegistry._idmap) {
    if (!(schema instanceof z.ZodObject) || bodyKeys(schema, pathIds).length !== keys.length) continue
    if (!keys.every((key) => schema.shape[key] === body.shape[key])) continue
    return { ...strict, id, ...(schema.description !== undefined && { description: schema.description }) }
  }
  return strict
}

const bodyKeys = ({ shape }: z.ZodObject, pathIds: readonly string[]) => Object.keys(shape).filter((key) => !pathIds.includes(key))

/** Moves every part with an `id` to the components. @throws Error if two different schemas have one name */
export function moveNamedSchemas({ paths, components }: Document): void {
  const { schemas } = components
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved)
    if (value === null || typeof value !== 'object') return value
    const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, VALUES.has(key) ? inner : moved(inner)]))
    if (typeof copy.id !== 'string') return copy
    const { id, ...schema } = copy
    add(id, schema)
    return { $ref: `#/components/schemas/${id}` }
  }
  const add = (id: string, schema: object) => {
    const known = schemas[id]
    if (known && !isDeepStrictEqual(known, schema)) {
      throw new Error(`Two schemas have the id ${id}; give one of them another: ${JSON.stringify(known)}, ${JSON.stringify(schema)}`)
    }
    schemas[id] = schema
  }
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = moved(schema) as object
  for (const [path, methods] of Object.entries(paths)) Object.assign(paths, { [path]: moved(methods) })
  components.schemas = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
}
