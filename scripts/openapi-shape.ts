/**
 * The shape of an OpenAPI document, which the code of callers depends on, and the differences between two of them. Texts for readers,
 * examples and the order of keys do not count, nor do two spellings of one schema, such as `type: [string, null]` and `anyOf`, or a schema
 * that one document writes out and the other names.
 */

export type Json = null | boolean | number | string | Json[] | JsonObject
interface JsonObject {
  [key: string]: Json
}

export interface Difference {
  /** added: a caller who knows only the first document is not affected. changed, gone: such a caller may be. */
  kind: 'added' | 'changed' | 'gone'
  /** The keys down to the difference. */
  at: string
  before: Json | undefined
  after: Json | undefined
}

/** Keys that hold text for readers. */
const WORDING = new Set(['summary', 'description', 'example', 'examples', 'title'])
/** Keys whose value maps names to things, so that a name in it is never wording. A further name in one of them is an addition. */
const MAPS = new Set(['paths', 'responses', 'headers', 'content', 'schemas', 'securitySchemes', 'parameters', 'tags', 'properties', 'enum'])
/** Keys that hold a schema, and maps of schemas. */
const SCHEMAS = new Set(['schema', 'items', 'additionalProperties', 'not'])
const SCHEMA_MAPS = new Set(['schemas', 'properties', 'patternProperties'])
/** Keys that refuse nothing which was accepted without them. */
const HARMLESS = new Set(['deprecated', 'default'])
/** Hints for the code of clients. The bounds of an integer say as much, and these bounds are those of any integer in JSON. */
const INTEGER_FORMATS = new Set<Json | undefined>(['int32', 'int64'])
const INTEGER_BOUNDS = new Set<Json | undefined>([Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER])

const METHODS = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options'])
const SCHEMA = '#/components/schemas/'
const REQUIRED = 'is required'

/** What the second document adds to the first, changes in it and lacks of it. */
export function shapeDifferences(before: Json, after: Json): Difference[] {
  const requested = new Set([...schemasOfRequests(before), ...schemasOfRequests(after)])
  const shared = new Set(Object.keys(schemasOf(before)).filter((name) => name in schemasOf(after)))
  const [old, current] = [before, after].map((document) => documentShape(writtenOut(document, shared)))
  return differences(old ?? null, current ?? null, [], requested)
}

const schemasOf = (document: Json): JsonObject => object(object(object(document).components).schemas)

/** The document with a schema in each place that refers to it, but for those that both documents name. */
function writtenOut(document: Json, shared: ReadonlySet<string>): Json {
  const schemas = schemasOf(document)
  const replaced = (value: Json, open: readonly string[]): Json => {
    if (Array.isArray(value)) return value.map((item) => replaced(item, open))
    if (!isObject(value)) return value
    const { $ref, ...rest } = value
    const name = typeof $ref === 'string' && $ref.startsWith(SCHEMA) ? $ref.slice(SCHEMA.length) : undefined
    // A schema that contains itself stays a reference within itself.
    if (name === undefined || !isObject(schemas[name]) || shared.has(name) || open.includes(name))
      return mapped(value, (inner) => replaced(inner, open))
    return replaced({ ...object(schemas[name]), ...rest }, [...open, name])
  }
  return replaced(document, [])
}

// ── the shape ───────────────────────────────────────────────────────────────

function documentShape(document: Json): Json {
  const { components, info: _, ...rest } = object(document)
  const { responses, parameters, ...kept } = object(components)
  return shapeOf({ ...rest, components: kept }, '', new Map([...referred('responses', responses), ...referred('parameters', parameters)]))
}

/** What a section of the components has, by the references to it. */
const referred = (section: string, components: Json | undefined): [string, Json][] =>
  Object.entries(object(components)).map(([name, component]) => [`#/components/${section}/${name}`, component])

type Shared = ReadonlyMap<Json | undefined, Json>

/** @param shared the answers and parameters that operations refer to: they are written out, because an operation may also have its own */
function shapeOf(value: Json, key: string, shared: Shared): Json {
  if (key === 'parameters' && Array.isArray(value)) return shapeOf(byName(value, shared), key, shared)
  if (key === 'tags' && Array.isArray(value)) return Object.fromEntries(value.map((tag) => [String(object(tag).name ?? tag), true]))
  if (Array.isArray(value)) return value.map((item) => shapeOf(item, '', shared))
  if (!isObject(value)) return value
  const component = shared.get(value.$ref)
  if (component !== undefined) return shapeOf(component, '', shared)
  if (SCHEMA_MAPS.has(key)) return mapped(value, schemaShape)
  return mapped(MAPS.has(key) ? value : withoutWording(value), (inner, innerKey) =>
    SCHEMAS.has(innerKey) && !MAPS.has(key) ? schemaShape(inner) : shapeOf(inner, MAPS.has(key) ? '' : innerKey, shared),
  )
}

function byName(parameters: Json[], shared: Shared): JsonObject {
  return Object.fromEntries(
    parameters.map((parameter) => {
      const { in: place, name, required = false, ...rest } = object(shared.get(object(parameter).$ref) ?? parameter)
      return [`${place} ${name}`, { [REQUIRED]: required, ...rest }]
    }),
  )
}

/** The alternatives of a schema by their type, so that it does not matter how they are spelled. */
function schemaShape(schema: Json): Json {
  if (!isObject(schema)) return schema
  const { default: value, ...rest } = withoutWording(schema)
  const shape: JsonObject = value === undefined ? {} : { default: value }
  for (const alternative of alternativesOf(rest)) {
    const name = alternativeName(alternative)
    let unique = name
    for (let count = 2; unique in shape; count++) unique = `${name} (${count})`
    shape[unique] = alternativeShape(alternative)
  }
  return shape
}

function alternativesOf({ anyOf, oneOf, ...rest }: JsonObject): JsonObject[] {
  const listed = anyOf ?? oneOf
  if (Array.isArray(listed)) {
    const further = Object.keys(rest).length ? alternativesOf(rest) : []
    return [...further, ...listed.flatMap((branch) => alternativesOf(withoutWording(object(branch))))]
  }
  const { type, enum: values, ...constraints } = rest
  if (!Array.isArray(type)) return [rest]
  return type.map((one) => {
    if (one === 'null') return { type: one }
    return { ...constraints, type: one, ...(Array.isArray(values) && { enum: values.filter((value) => value !== null) }) }
  })
}

function alternativeName({ $ref, type }: JsonObject): string {
  return `as ${typeof $ref === 'string' ? $ref.replace(SCHEMA, '') : (type ?? 'any')}`
}

function alternativeShape({ $ref: _, type, enum: values, format, properties, required, ...rest }: JsonObject): Json {
  const shape = object(shapeOf(rest, '', new Map()))
  for (const bound of ['minimum', 'maximum']) if (INTEGER_BOUNDS.has(shape[bound])) delete shape[bound]
  if (format !== undefined && !(type === 'integer' && INTEGER_FORMATS.has(format))) shape.format = format
  if (Array.isArray(values)) shape.enum = Object.fromEntries(values.map((value) => [JSON.stringify(value), true]))
  const needed = new Set(Array.isArray(required) ? required : [])
  const known = object(properties)
  if (properties) shape.properties = mapped(known, (inner, name) => ({ [REQUIRED]: needed.has(name), ...object(schemaShape(inner)) }))
  const others = [...needed].filter((name) => !Object.hasOwn(known, String(name)))
  if (others.length) shape.required = others.map(String).sort()
  return shape
}

// ── the differences ─────────────────────────────────────────────────────────

function differences(before: Json, after: Json, trail: readonly string[], requested: ReadonlySet<string>): Difference[] {
  const at = trail.join(' › ')
  if (!isObject(before) || !isObject(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ kind: 'changed', at, before, after }]
  }
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort().flatMap((key): Difference[] => {
    const [old, current] = [before[key], after[key]]
    const path = [...trail, key]
    if (current === undefined) return [{ kind: 'gone', at: path.join(' › '), before: old, after: current }]
    if (old !== undefined) return differences(old, current, path, requested)
    const kind = isAddition(path, current, requested) ? 'added' : 'changed'
    return [{ kind, at: path.join(' › '), before: old, after: current }]
  })
}

/** True if callers who do not know of it need not care: a name in a map, such as a path or a property, or another alternative of a value. */
function isAddition(path: readonly string[], added: Json, requested: ReadonlySet<string>): boolean {
  const key = path.at(-1) ?? ''
  const isRequired = key === 'requestBody' ? object(added).required === true : object(added)[REQUIRED] === true
  if (isRequired && isOfRequest(path, requested)) return false
  const isNamed = MAPS.has(path.at(-2) ?? '') || (path.at(-3) === 'paths' && METHODS.has(key))
  return isNamed || MAPS.has(key) || key === 'requestBody' || key.startsWith('as ') || HARMLESS.has(key)
}

const isOfRequest = (path: readonly string[], requested: ReadonlySet<string>): boolean =>
  path.includes('requestBody') || path.includes('parameters') || (path[1] === 'schemas' && requested.has(path[2] ?? ''))

/** The names of the schemas that requests refer to, also through other schemas. */
function schemasOfRequests(document: Json): Set<string> {
  const { paths, components } = object(document)
  const schemas = object(object(components).schemas)
  const found = new Set<string>()
  const open = Object.values(object(paths)).flatMap((item) =>
    Object.values(object(item)).flatMap((operation) => [object(operation).requestBody, object(operation).parameters]),
  )
  while (open.length) {
    for (const [, name = ''] of JSON.stringify(open.pop() ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (!found.has(name)) open.push(schemas[name])
      found.add(name)
    }
  }
  return found
}

// ── JSON ────────────────────────────────────────────────────────────────────

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A copy of the object; empty for anything else. */
const object = (value: Json | undefined): JsonObject => (isObject(value) ? { ...value } : {})

const withoutWording = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !WORDING.has(key) && !key.startsWith('x-')))

const mapped = (value: JsonObject, fn: (inner: Json, key: string) => Json): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fn(inner, key)]))
