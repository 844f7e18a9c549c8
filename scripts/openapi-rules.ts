/**
 * The rules for openapi.json that no linter has: clients that are generated from it have one type for each object, with a
 * name, and every property says what it is. `npm run openapi` and `npm run check` print the findings.
 */
import type { Json } from './openapi-shape.ts'

/** A parameter, or a reference to one. */
interface Parameter {
  name?: string
  schema?: Json
}

interface Operation {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema?: Json }> }
  responses: Record<string, { content?: Record<string, { schema?: Json }> }>
}

export interface RuledDocument {
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas?: Record<string, Json>
    responses?: Record<string, { content?: Record<string, { schema?: Json }> }>
    parameters?: Record<string, Parameter>
  }
}

interface Schema {
  /** Its operation or component, and the keys down to it. */
  at: string
  schema: { [key: string]: Json }
  isComponent: boolean
}

/** Keys that hold a schema, a list of schemas, and a map of them. */
const SINGLE = ['items', 'additionalProperties', 'not']
const LISTS = ['anyOf', 'oneOf', 'allOf']
const WORDING = new Set(['description', 'title', 'example', 'examples'])

/** What is against the rules, each with what to do. */
export function ruleBreaches(document: RuledDocument): string[] {
  const schemas = [...schemasOf(document)]
  return [...repeatedObjects(schemas), ...undescribedProperties(schemas), ...withoutRefusal(document)]
}

function repeatedObjects(schemas: readonly Schema[]): string[] {
  const alike = new Map<string, Schema[]>()
  for (const schema of schemas) if (isObject(schema.schema)) alike.set(meaningOf(schema), [...(alike.get(meaningOf(schema)) ?? []), schema])
  // Two components may be alike, because a name may say what the other does not.
  const repeated = [...alike.values()].filter((all) => all.length > 1 && all.some(({ isComponent }) => !isComponent))
  const inOthers = new Set(repeated.flat().map(({ at }) => at))
  const isInner = ({ at }: Schema) => [...inOthers].some((other) => at.startsWith(`${other} `))
  return repeated
    .filter((all) => !all.every(isInner))
    .map((all) => {
      const places = all.map(({ at, isComponent }) => (isComponent ? `the component ${at}` : at)).join(', ')
      return (
        `The same object is written ${all.length} times: ${places}. Give its schema of Zod a name, .meta({ id: 'Name', description: '…' }), and use ` +
        'that schema in each place; a part that is written as JSON takes an id, too.'
      )
    })
}

/** Objects with properties are alike if they differ in their texts alone; others, such as maps of anything, if their texts are equal, too. */
function meaningOf({ schema }: Schema): string {
  return JSON.stringify(sorted(schema, schema.properties !== undefined))
}

function sorted(value: Json, isBare: boolean, key = ''): Json {
  if (Array.isArray(value)) return value.map((inner) => sorted(inner, isBare))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !(isBare && key !== 'properties' && WORDING.has(name)))
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, sorted(inner, isBare, name)]))
}

const isObject = ({ type, properties }: Schema['schema']) => [type].flat().includes('object') || properties !== undefined

function undescribedProperties(schemas: readonly Schema[]): string[] {
  return schemas.flatMap(({ at, schema }) =>
    Object.entries((schema.properties ?? {}) as Record<string, { description?: string }>)
      .filter(([, { description }]) => !description)
      .map(([name]) => `${at} .${name} has no description. Say what its name and type do not: .meta({ description: '…' }).`),
  )
}

function withoutRefusal({ paths }: RuledDocument): string[] {
  return operationsOf(paths)
    .filter(({ responses }) => !Object.keys(responses).some((status) => status.startsWith('4')))
    .map(({ operationId }) => `${operationId} answers no 4XX. Name the statuses in errors, in docs.ts of its feature.`)
}

const operationsOf = (paths: RuledDocument['paths']) => Object.values(paths).flatMap((methods) => Object.values(methods))

function* schemasOf({ paths, components }: RuledDocument): Generator<Schema> {
  for (const [name, schema] of Object.entries(components.schemas ?? {})) yield* within(name, schema, true)
  for (const [name, { content }] of Object.entries(components.responses ?? {})) yield* inContent(name, content)
  for (const [name, { schema }] of Object.entries(components.parameters ?? {})) yield* within(`parameter ${name}`, schema ?? true, false)
  for (const { operationId, parameters = [], requestBody, responses } of operationsOf(paths)) {
    for (const { name, schema } of parameters) yield* within(`${operationId} parameter ${name}`, schema ?? true, false)
    yield* inContent(`${operationId} body`, requestBody?.content)
    for (const [status, { content }] of Object.entries(responses)) yield* inContent(`${operationId} ${status}`, content)
  }
}

function* inContent(at: string, content: Record<string, { schema?: Json }> = {}): Generator<Schema> {
  for (const [type, { schema }] of Object.entries(content)) yield* within(`${at} ${type}`, schema ?? true, false)
}

/** The schema and all that it contains. */
function* within(at: string, schema: Json, isComponent: boolean): Generator<Schema> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return
  yield { at, schema, isComponent }
  for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, Json>))
    yield* within(`${at} .${name}`, inner, false)
  for (const key of SINGLE) yield* within(`${at} ${key}`, schema[key] ?? true, false)
  for (const key of LISTS) for (const inner of (schema[key] ?? []) as Json[]) yield* within(`${at} ${key}`, inner, false)
}
