/** The reference of all operations: the document with code samples, and its areas. Scalar shows it (bundle.ts). */
import type { RestProcedure } from '../platform/http/procedures/rest.ts'
import { type CallKind, type SampledOperation, type SampledParameter, samplesOf } from './samples.ts'

export interface ApiDocument {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Documented>>
  components: { parameters: Record<string, SampledParameter> }
}

interface Documented extends Omit<SampledOperation, 'method' | 'path' | 'parameters'> {
  parameters?: (SampledParameter | { $ref: string })[]
  summary: string
  description: string
  tags: string[]
}

export interface Area {
  name: string
  description: string
  operations: AreaOperation[]
}

export interface AreaOperation {
  method: string
  path: string
  summary: string
  description: string
  /** The part of the reference that shows it. */
  anchor: string
}

/** The areas in the order of the document, each with its operations in the order of their paths. */
export function areasOf({ tags, paths }: ApiDocument): Area[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, ...operation })),
  )
  return tags.map(({ name, description }) => ({
    name,
    description,
    operations: all
      .filter((operation) => operation.tags[0] === name)
      .map(({ method, path, summary, description: text, operationId }) => ({
        method,
        path,
        summary,
        description: text,
        anchor: `tag/${name.toLowerCase()}/${operationId}`,
      })),
  }))
}

/** The document with code samples of each operation, in the form that Scalar reads. */
export function withSamples(document: ApiDocument, procedures: readonly RestProcedure[]): ApiDocument {
  const kinds = new Map(procedures.map(({ name, type }) => [name, type]))
  const shared = document.components.parameters
  const parametersOf = ({ parameters = [] }: Documented) =>
    parameters.map((parameter) => ('$ref' in parameter ? (shared[parameter.$ref.split('/').at(-1) ?? ''] ?? {}) : parameter))
  const paths = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => {
        const sampled = { method, path, ...operation, parameters: parametersOf(operation) }
        return [method, { ...operation, 'x-codeSamples': samplesOf(sampled, kindOf(operation.operationId, kinds)) }]
      }),
    ),
  ])
  return { ...document, paths: Object.fromEntries(paths) }
}

function kindOf(operationId: string, kinds: ReadonlyMap<string, 'query' | 'mutation'>): CallKind {
  if (operationId === 'events.stream') return 'subscription'
  return operationId.endsWith('.put') ? 'upload' : kinds.get(operationId)
}
