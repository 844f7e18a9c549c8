import { expect, test } from 'vitest'
import { z } from 'zod'
import { bodyTraits, moveNamedSchemas } from '../../src/platform/http/openapi/named-schemas.ts'
import type { RestProcedure } from '../../src/platform/http/procedures/rest.ts'

const NewNote = z
  .strictObject({ text: z.string(), force: z.boolean().optional() })
  .meta({ id: 'NewNoteOfTest', description: 'A note to write.' })
const Place = z.strictObject({ table_id: z.int() })

const procedureWith = (input: z.ZodType | undefined) =>
  ({ input, meta: { openapi: { method: 'POST', path: '/api/table/{table_id}/notes/create' } } }) as unknown as RestProcedure
const traits = { id: 'NewNoteOfTest', description: 'A note to write.', additionalProperties: false }

test.for<[name: string, input: z.ZodType | undefined, traits: object]>([
  ['the named schema', NewNote, traits],
  ['one with ids of the path', NewNote.extend(Place.shape), traits],
  ['one with rules between its keys', NewNote.extend(Place.shape).superRefine(() => {}), traits],
  ['one that may be absent', NewNote.optional(), traits],
  ['one with a key more', NewNote.extend({ ...Place.shape, title: z.string() }), { additionalProperties: false }],
  ['one with a key less', NewNote.omit({ force: true }), { additionalProperties: false }],
  ['one with the same keys of other types', z.object({ text: z.string(), force: z.boolean() }), {}],
  ['no input', undefined, {}],
])('the body of %s', ([, input, expected]) => {
  expect(bodyTraits(procedureWith(input))).toEqual(expected)
})

const moved = (paths: object, schemas: Record<string, object> = {}) => {
  const document = { paths, components: { schemas } }
  moveNamedSchemas(document)
  return document
}
const note = { type: 'object', properties: { text: { type: 'string' } } }
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

test('moves what has an id to the components, in the order of the names, also from within', () => {
  const list = { id: 'Notes', type: 'array', items: { id: 'Note', ...note } }
  expect(moved({ '/api/notes': { get: { first: list, second: { items: { id: 'Note', ...note } } } } }, { Zoo: note })).toEqual({
    paths: { '/api/notes': { get: { first: ref('Notes'), second: { items: ref('Note') } } } },
    components: { schemas: { Note: note, Notes: { type: 'array', items: ref('Note') }, Zoo: note } },
  })
})

test('leaves values of callers, and properties that are called id', () => {
  const paths = { '/api/notes': { get: { example: { id: 'note' }, properties: { id: { type: 'string', default: { id: 'note' } } } } } }
  expect(moved(paths).paths).toEqual(structuredClone(paths))
})

test('refuses a name for two schemas', () => {
  const paths = { '/api/notes': { get: { first: { id: 'Note', ...note }, second: { id: 'Note', type: 'string' } } } }
  expect(() => moved(paths)).toThrow('Two schemas have the id Note')
})
