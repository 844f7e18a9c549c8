/**
 * Compares the shape of two OpenAPI documents: `node scripts/compare-openapi.ts before.json after.json`.
 * Paths, methods, parameters, schemas, statuses and headers count; texts for readers and the order of keys do not.
 * Prints one line per difference and exits with 1 if there is any.
 */
import { readFileSync } from 'node:fs'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Keys that hold text for readers. */
const WORDING = new Set(['summary', 'description', 'example', 'examples', 'title'])
/** Keys whose value maps names to things, so that a field named `title` in it counts as a name, not as wording. */
const MAPS = new Set(['paths', 'properties', 'patternProperties', '$defs', 'schemas', 'responses', 'headers', 'content', 'securitySchemes'])
/** Lists whose order has no meaning. */
const SETS = new Set(['required', 'enum', 'tags', 'security', 'anyOf', 'oneOf', 'allOf', 'type'])

const [before, after] = process.argv.slice(2)
if (!before || !after) throw new Error('Usage: node scripts/compare-openapi.ts <before.json> <after.json>')

const found = differences(shapeOfFile(before), shapeOfFile(after), [])
for (const line of found) console.log(line)
console.log(found.length ? `${found.length} differences in shape` : 'The shapes are the same.')
process.exitCode = found.length ? 1 : 0

function shapeOfFile(path: string): Json {
  const document = JSON.parse(readFileSync(path, 'utf8')) as { components?: { responses?: Record<string, Json> } }
  const responses = document.components?.responses ?? {}
  return shapeOf(document as Json, '', responses)
}

/** The value without wording, with lists in one order. Shared responses are written out, because an operation may also have its own. */
function shapeOf(value: Json, key: string, responses: Record<string, Json>): Json {
  if (Array.isArray(value)) return arranged(key, value, responses)
  if (value === null || typeof value !== 'object') return value
  const shared = typeof value.$ref === 'string' && /^#\/components\/responses\/(.+)$/.exec(value.$ref)?.[1]
  if (shared) return shapeOf(responses[shared] ?? null, key, responses)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => MAPS.has(key) || !WORDING.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      // The name of a thing says nothing about its value: a field named `properties` is not a map.
      .map(([name, inner]) => [name, shapeOf(inner, MAPS.has(key) ? '' : name, responses)]),
  )
}

/** Parameters become a map by place and name; lists without an order are sorted. */
function arranged(key: string, list: Json[], responses: Record<string, Json>): Json {
  const shapes = list.map((item) => shapeOf(item, '', responses))
  if (key === 'parameters') {
    const named = shapes as { in: string; name: string; [key: string]: Json }[]
    return Object.fromEntries(named.map(({ in: place, name, ...rest }) => [`${place} ${name}`, rest]))
  }
  return SETS.has(key) ? shapes.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : shapes
}

function differences(before: Json | undefined, after: Json | undefined, trail: string[]): string[] {
  const at = trail.join(' › ')
  if (before === undefined) return [`+ ${at}: ${brief(after)}`]
  if (after === undefined) return [`- ${at}: ${brief(before)}`]
  if (!isObject(before) || !isObject(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [`~ ${at}: ${brief(before)} → ${brief(after)}`]
  }
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => differences(before[name], after[name], [...trail, name]))
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
