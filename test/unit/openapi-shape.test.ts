import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Json, shapeDifferences } from '../../scripts/openapi-shape.ts'

/** A document with the schema of a request's body, of the answer, or both, and with further keys of the operation. */
const documentOf = ({ body = {}, answer = {}, operation = {}, schemas = {} }: Record<string, Json> = {}): Json => ({
  openapi: '3.1.0',
  paths: {
    '/api/tasks': {
      post: {
        summary: 'Create a task',
        requestBody: { content: { 'application/json': { schema: body as Json } } },
        responses: { 200: { description: 'Success.', content: { 'application/json': { schema: answer as Json } } } },
        ...(operation as object),
      },
    },
  },
  components: { schemas: schemas as Json },
})

const BODY = 'paths › /api/tasks › post › requestBody › content › application/json › schema'
const ANSWER = 'paths › /api/tasks › post › responses › 200 › content › application/json › schema'

const shortened = (before: Json, after: Json) =>
  shapeDifferences(before, after).map(({ kind, at }) => `${kind} ${at.replace(BODY, 'BODY').replace(ANSWER, 'ANSWER')}`)

const text = { type: 'string' }
const withTitle = { type: 'object', required: ['title'], properties: { title: text } }
const task = { $ref: '#/components/schemas/Task' }
const withNote = (required: string[]) => ({ type: 'object', required, properties: { title: text, note: text } })

test.for<[name: string, before: Json, after: Json]>([
  ['a summary', documentOf(), documentOf({ operation: { summary: 'Make a task', description: 'At once.' } })],
  ['a description of a value', documentOf({ body: text }), documentOf({ body: { ...text, description: 'The title.', example: 'Call' } })],
  [
    'two spellings of a null',
    documentOf({ body: { type: ['string', 'null'], maxLength: 5 } }),
    documentOf({ body: { anyOf: [{ type: 'null' }, { ...text, maxLength: 5 }] } }),
  ],
  ['two orders of an enum', documentOf({ body: { ...text, enum: ['a', 'b'] } }), documentOf({ body: { ...text, enum: ['b', 'a'] } })],
  [
    'the format of an integer',
    documentOf({ body: { type: 'integer' } }),
    documentOf({ body: { type: 'integer', format: 'int64', maximum: Number.MAX_SAFE_INTEGER } }),
  ],
  [
    'a response that is written out',
    {
      ...(documentOf({ operation: { responses: { 404: { $ref: '#/components/responses/Missing' } } } }) as object),
      components: { responses: { Missing: { content: {} } } },
    },
    { ...(documentOf({ operation: { responses: { 404: { description: 'No such task.', content: {} } } } }) as object), components: {} },
  ],
  [
    'a parameter that is written out',
    {
      ...(documentOf({ operation: { parameters: [{ $ref: '#/components/parameters/Limit' }] } }) as object),
      components: { parameters: { Limit: { in: 'query', name: 'limit', schema: text } } },
    },
    { ...(documentOf({ operation: { parameters: [{ in: 'query', name: 'limit', schema: text }] } }) as object), components: {} },
  ],
])('%s is no difference', ([, before, after]) => {
  expect(shortened(before, after)).toEqual([])
})

test.for<[name: string, before: Json, after: Json, differences: string[]]>([
  [
    'a path',
    documentOf(),
    { ...(documentOf() as object), paths: { ...(documentOf() as { paths: object }).paths, '/api/new': {} } } as Json,
    ['added paths › /api/new'],
  ],
  [
    'a property of an answer',
    documentOf({ answer: withTitle }),
    documentOf({ answer: withNote(['title', 'note']) }),
    ['added ANSWER › as object › properties › note'],
  ],
  [
    'an optional property of a request',
    documentOf({ body: withTitle }),
    documentOf({ body: withNote(['title']) }),
    ['added BODY › as object › properties › note'],
  ],
  ['null for a value', documentOf({ body: text }), documentOf({ body: { type: ['string', 'null'] } }), ['added BODY › as null']],
  [
    'a value of an enum',
    documentOf({ answer: { ...text, enum: ['a'] } }),
    documentOf({ answer: { ...text, enum: ['a', 'b'] } }),
    ['added ANSWER › as string › enum › "b"'],
  ],
  [
    'a status',
    documentOf(),
    documentOf({ operation: { responses: { 200: { content: { 'application/json': { schema: {} } } }, 409: {} } } }),
    ['added paths › /api/tasks › post › responses › 409'],
  ],
  [
    'an optional parameter',
    documentOf(),
    documentOf({ operation: { parameters: [{ in: 'query', name: 'limit', schema: { type: 'integer' } }] } }),
    ['added paths › /api/tasks › post › parameters'],
  ],
  [
    'a name for a schema',
    documentOf({ body: withTitle, answer: { type: 'array', items: { anyOf: [withTitle, { type: 'null' }] } } }),
    documentOf({
      body: { ...task, description: 'What to create.' },
      answer: { type: 'array', items: { anyOf: [task, { type: 'null' }] } },
      schemas: { Task: withTitle },
    }),
    ['added components › schemas › Task'],
  ],
])('%s is an addition', ([, before, after, differences]) => {
  expect(shortened(before, after)).toEqual(differences)
  expect(shortened(after, before)).toEqual(differences.map((line) => line.replace('added', 'gone')))
})

const Task = (properties: Json, required: string[] = []) => ({ Task: { type: 'object', required, properties } })
const ref = { $ref: '#/components/schemas/Task' }

test.for<[name: string, before: Json, after: Json, differences: string[]]>([
  [
    'another type',
    documentOf({ answer: text }),
    documentOf({ answer: { type: 'integer' } }),
    ['added ANSWER › as integer', 'gone ANSWER › as string'],
  ],
  [
    'a property that a request needs',
    documentOf({ body: withTitle }),
    documentOf({ body: withNote(['title', 'note']) }),
    ['changed BODY › as object › properties › note'],
  ],
  [
    'a property that becomes required',
    documentOf({ body: withNote(['title']) }),
    documentOf({ body: withNote(['title', 'note']) }),
    ['changed BODY › as object › properties › note › is required'],
  ],
  [
    'a property that may be absent from an answer',
    documentOf({ answer: withNote(['title', 'note']) }),
    documentOf({ answer: withNote(['title']) }),
    ['changed ANSWER › as object › properties › note › is required'],
  ],
  ['a limit', documentOf({ body: text }), documentOf({ body: { ...text, maxLength: 5 } }), ['changed BODY › as string › maxLength']],
  [
    'a wider limit',
    documentOf({ body: { ...text, maxLength: 5 } }),
    documentOf({ body: { ...text, maxLength: 9 } }),
    ['changed BODY › as string › maxLength'],
  ],
  [
    'a property named like wording',
    documentOf({ answer: { type: 'object', properties: { title: text, description: text } } }),
    documentOf({ answer: { type: 'object', properties: { title: text } } }),
    ['gone ANSWER › as object › properties › description'],
  ],
  [
    'items of a list',
    documentOf({ answer: { type: 'array', items: text } }),
    documentOf({ answer: { type: 'array', items: { type: 'integer' } } }),
    ['added ANSWER › as array › items › as integer', 'gone ANSWER › as array › items › as string'],
  ],
  ['another schema', documentOf({ answer: ref }), documentOf({ answer: text }), ['gone ANSWER › as Task', 'added ANSWER › as string']],
  [
    'a required parameter',
    documentOf({ operation: { parameters: [] } }),
    documentOf({ operation: { parameters: [{ in: 'query', name: 'limit', required: true, schema: {} }] } }),
    ['changed paths › /api/tasks › post › parameters › query limit'],
  ],
  ['credentials', documentOf(), documentOf({ operation: { security: [{ key: [] }] } }), ['changed paths › /api/tasks › post › security']],
  [
    'a property that a named schema of requests needs',
    documentOf({ body: ref, schemas: Task({}) }),
    documentOf({ body: ref, schemas: Task({ note: text }, ['note']) }),
    ['changed components › schemas › Task › as object › properties › note'],
  ],
])('%s is a change', ([, before, after, differences]) => {
  expect(shortened(before, after)).toEqual(differences)
})

test('a property that a named schema of answers gains is an addition', () => {
  const before = documentOf({ answer: ref, schemas: Task({}) })
  expect(shortened(before, documentOf({ answer: ref, schemas: Task({ note: text }, ['note']) }))).toEqual([
    'added components › schemas › Task › as object › properties › note',
  ])
})

const root = new URL('../..', import.meta.url).pathname

test('the command lists the differences, and fails unless all are additions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gridpost-shape-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const document = readFileSync(join(root, 'openapi.json'), 'utf8')
  const [path, smaller] = [join(root, 'openapi.json'), join(folder, 'smaller.json')]
  const parsed = JSON.parse(document) as { paths: Record<string, unknown> }
  delete parsed.paths['/api/spaces/list']
  writeFileSync(smaller, JSON.stringify(parsed))

  const args = (before: string, after: string) => ['scripts/compare-openapi.ts', before, after]
  const added = execFileSync(process.execPath, args(smaller, path), { cwd: root, encoding: 'utf8' })
  expect(added.split('\n')).toEqual([expect.stringMatching(/^\+ paths › \/api\/spaces\/list: \{/), '0 changed or gone, 1 added', ''])
  const gone = spawnSync(process.execPath, args(path, smaller), { cwd: root, encoding: 'utf8' })
  expect([gone.status, gone.stdout.split('\n')]).toEqual([
    1,
    [expect.stringMatching(/^- paths › \/api\/spaces\/list: \{/), '1 changed or gone, 0 added', ''],
  ])
})
