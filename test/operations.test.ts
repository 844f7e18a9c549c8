import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { TAGS } from '../src/platform/http/procedures/operation-docs.ts'
import { apiDocument, appRouter } from '../src/router.ts'
import { testApp } from './support/app.ts'
import { callerFor, callRest, callRpc, type Ids, idsFor, idsOf, operations } from './support/operations.ts'

const app = await testApp()
const account = await app.account()
const known = await idsOf(app, account)
const document = (await apiDocument()) as {
  paths: Record<string, Record<string, DocumentedOperation>>
  tags: { name: string }[]
  components: { schemas: object; parameters: Record<string, Parameter> }
}

interface Parameter {
  name: string
  description?: string
}

interface DocumentedOperation {
  summary: string
  description: string
  tags: string[]
  security: object[]
  requestBody?: { content: { 'application/json': { example: unknown } } }
  parameters?: (Parameter | { $ref: string })[]
  responses: Record<string, { description?: string; $ref?: string; headers?: object; content?: Record<string, { example?: unknown }> }>
}

test('has a section of the document for every tag, and no other', () => {
  const used = Object.values(document.paths).flatMap((path) => Object.values(path).flatMap(({ tags }) => tags))
  expect([...new Set(used)].sort()).toEqual(Object.keys(TAGS).sort())
  expect(document.tags.map(({ name }) => name)).toEqual(Object.keys(TAGS))
})

test('has a REST path for every procedure', () => {
  // The one subscription has a plain route: GET /api/events.
  const all = Object.keys(appRouter._def.procedures).filter((name) => name !== 'events')
  expect(all.filter((name) => !operations.some((operation) => operation.name === name))).toEqual([])
})

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  const { openapi, example, isList, status = 200 } = operation.meta
  const documented = document.paths[operation.path]?.[operation.method.toLowerCase()]
  const parameters = (documented?.parameters ?? []).map((one) =>
    '$ref' in one ? (document.components.parameters[one.$ref.replace('#/components/parameters/', '')] as Parameter) : one,
  )
  const { inputs, output } = (
    appRouter._def.procedures as unknown as Record<string, { _def: { inputs: z.ZodObject[]; output?: z.ZodType } }>
  )[operation.name]?._def ?? { inputs: [] }

  test('is documented with a summary, description, tag, callers, an example and every error', () => {
    expect(openapi.summary).toMatch(/^[A-Z]/)
    expect(documented?.description.length).toBeGreaterThan(10)
    expect(documented?.tags).toHaveLength(1)
    expect(documented?.security.length === 0).toBe(operation.isPublic)
    expect(documented?.responses[String(status)]?.content?.['application/json']?.example).toBeDefined()
    for (const code of ['400', '429', '500', '503']) expect(documented?.responses).toHaveProperty(code)
    if (!operation.isPublic) for (const code of ['401', '403']) expect(documented?.responses).toHaveProperty(code)
    if (operation.pathIds.length && operation.meta.access.resource) expect(documented?.responses).toHaveProperty('404')
  })

  test('says of each parameter what it is', () => {
    const described = parameters.filter(({ name, description = name }) => description !== name)
    expect(described.map(({ name }) => name)).toEqual(parameters.map(({ name }) => name))
  })

  test('sends an ETag and checks If-Match exactly where the document says so', async () => {
    const sendsETag = Object.hasOwn(documented?.responses[String(status)]?.headers ?? {}, 'ETag')
    const checksIfMatch = parameters.some(({ name }) => name === 'If-Match')
    expect([sendsETag, checksIfMatch]).toEqual([operation.meta.etag !== undefined, operation.meta.etag === 'answered and heeded'])
    if (checksIfMatch) expect(documented?.responses).toHaveProperty('409')
    if (operation.type === 'mutation' || operation.isPublic) return
    const answer = await callRest(app.as(callerFor(operation, account)), operation, idsFor(operation, known))
    if (answer.status === 200) expect(answer.headers.has('etag')).toBe(sendsETag)
  })

  test('has examples that match its own schemas', () => {
    const ids = idsFor(operation, known)
    const path = Object.fromEntries(operation.pathIds.map((id) => [id, ids[id]]))
    const given = inputs[0]?.safeParse({ ...path, ...(example?.input as object) })
    expect(given?.error?.issues ?? []).toEqual([])
    expect(output).toBeDefined()
    expect(output?.safeParse(example?.output).error?.issues ?? []).toEqual([])
    if (isList) expect(example?.output).toHaveProperty('rows')
  })

  const all = idsFor(operation, known)
  const ids = Object.fromEntries([...operation.pathIds, ...operation.bodyIds].map((id) => [id, all[id] ?? 0]))
  const unknownIds = Object.fromEntries(
    Object.entries(ids).map(([id, own]) => [id, typeof own === 'string' ? '2000000000' : 2_000_000_000]),
  )
  // A successful call that changes something must not be sent twice, on REST and on RPC.
  const takesMore = Object.keys(inputs[0]?.shape ?? {}).some((key) => !operation.pathIds.includes(key))
  const isRefused = takesMore && !inputs[0]?.safeParse(ids).success
  const mayBeSentTwice = !operation.meta.isRepeatable && (operation.type === 'query' || isRefused)
  const sameAnswers: [title: string, applies: boolean, ids: Ids, input: Record<string, unknown>][] = [
    ['an unknown key', operation.method !== 'GET', ids, { no_such_key: 1 }],
    ['unknown ids', operation.pathIds.length > 0, unknownIds, {}],
    ['only the ids', mayBeSentTwice, ids, {}],
  ]

  test('answers the same on REST and RPC', async () => {
    const as = app.as(callerFor(operation, account))
    for (const [title, applies, given, input] of sameAnswers) {
      if (!applies) continue
      const rest = await callRest(as, operation, given, input)
      const rpc = await callRpc(as, operation, given, input)
      expect(rpc.status, `${title}: ${JSON.stringify(rest.body)}`).toBe(rest.status === 202 ? 200 : rest.status)
      expect({ ...rpc.body, request_id: '' }).toEqual({ ...rest.body, request_id: '' })
      expect(rest.headers.get('x-api-version')).toBe('1')
    }
  })
})

describe('a call without credentials gets 401, on REST and RPC', () => {
  const secured = operations.filter(({ isPublic }) => !isPublic)
  test.each(secured.map((operation) => [operation.name, operation] as const))('by %s', async (_, operation) => {
    const ids = idsFor(operation, known)
    for (const answer of [await callRest(app.as(null), operation, ids), await callRpc(app.as(null), operation, ids)]) {
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(answer.body).toMatchObject({ code: 'UNAUTHORIZED', request_id: expect.stringMatching(/^req-/) })
    }
  })
})
