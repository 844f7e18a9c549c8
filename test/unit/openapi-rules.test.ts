import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type RuledDocument, ruleBreaches } from '../../scripts/openapi-rules.ts'
import type { Json } from '../../scripts/openapi-shape.ts'

const text = (description: string) => ({ type: 'string', description })
const task = { type: 'object', properties: { title: text('What is to be done.') }, description: 'A task.' }
const json = (schema: Json) => ({ content: { 'application/json': { schema } } })
const refused = { 400: { content: {} } }

/** A document with two operations, whose answers have these schemas. */
const documentOf = (first: Json, second: Json, schemas: Record<string, Json> = {}): RuledDocument => ({
  paths: {
    '/api/first': { get: { operationId: 'first', responses: { 200: json(first), ...refused } } },
    '/api/second': { post: { operationId: 'second', requestBody: json(second), responses: refused } },
  },
  components: { schemas },
})

test('openapi.json keeps the rules', () => {
  const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as RuledDocument
  expect(ruleBreaches(document)).toEqual([])
})

test.for<[name: string, first: Json, second: Json, schemas?: Record<string, Json>]>([
  ['two objects with other properties', task, { type: 'object', properties: { name: text('The name.') } }],
  ['two references', { $ref: '#/components/schemas/Task' }, { $ref: '#/components/schemas/Task' }, { Task: task }],
  [
    'two components that are alike',
    { $ref: '#/components/schemas/Task' },
    { $ref: '#/components/schemas/Deed' },
    { Task: task, Deed: task },
  ],
  ['two maps of anything, each with its own text', { type: 'object', description: 'A.' }, { type: 'object', description: 'B.' }],
  ['a property that is called description', { type: 'object', properties: { description: text('What it is about.') } }, text('Another.')],
])('%s are allowed', ([, first, second, schemas]) => {
  expect(ruleBreaches(documentOf(first, second, schemas))).toEqual([])
})

test.for<[name: string, first: Json, second: Json, message: string, schemas?: Record<string, Json>]>([
  ['an object that is written twice', task, task, 'first 200 application/json, second body application/json'],
  ['one with another text', task, { ...task, description: 'A task to create.' }, 'The same object is written 2 times'],
  [
    'one with texts of its properties alone different',
    task,
    { ...task, properties: { title: text('Its name.') } },
    'The same object is written',
  ],
  ['one with its keys in another order', task, Object.fromEntries(Object.entries(task).reverse()), 'The same object is written'],
  ['one in a list and in a union', { type: 'array', items: task }, { anyOf: [task, { type: 'null' }] }, 'first 200 application/json items'],
  ['one that a component has', task, text('None.'), 'the component Task', { Task: task }],
  [
    'a map of anything with the same text',
    { type: 'object' },
    { type: ['null', 'object'] },
    'second body',
    { Map: { type: ['null', 'object'] } },
  ],
])('%s is a breach', ([, first, second, message, schemas]) => {
  const breaches = ruleBreaches(documentOf(first, second, schemas))
  expect(breaches).toHaveLength(1)
  expect(breaches[0]).toContain(message)
})

test('of objects that are alike only the outermost are named', () => {
  const list = { type: 'object', properties: { tasks: { type: 'array', items: task, description: 'The tasks.' } } }
  expect(ruleBreaches(documentOf(list, list))).toEqual([expect.stringMatching(/2 times: first 200 application\/json, second body/)])
})

test('a property without a description is a breach, also of a reference and within a union', () => {
  const first = { anyOf: [{ type: 'object', properties: { a: { type: 'string' }, b: { $ref: '#/components/schemas/Task' } } }] }
  expect(ruleBreaches(documentOf(first, text('None.'), { Task: task })).map((breach) => breach.slice(0, 50))).toEqual([
    expect.stringContaining('first 200 application/json anyOf .a has no'),
    expect.stringContaining('first 200 application/json anyOf .b has no'),
  ])
})

test('an operation without a 4XX is a breach', () => {
  const document = documentOf(text('One.'), text('Two.'))
  Object.assign(document.paths['/api/first']?.get as object, { responses: { 200: json(text('One.')), 500: { content: {} } } })
  expect(ruleBreaches(document)).toEqual([expect.stringContaining('first answers no 4XX')])
})
