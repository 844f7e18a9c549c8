import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type AppError, badShape } from '../../src/platform/errors.ts'
import { EmailAddress, Id, limit, Name } from '../../src/platform/http/procedures/schemas.ts'
import { changesOf } from '../../src/platform/validation-messages.ts'

function refusal(schema: z.ZodType, input: unknown): AppError['issues'] {
  const { error } = schema.safeParse(input)
  return error && badShape(error).issues
}

describe('the text of a validation error', () => {
  test.each([
    ['text', z.string(), 5, 'must be text'],
    ['a whole number', z.int(), '10', 'must be a whole number'],
    ['a whole number with decimals', z.int(), 1.5, 'must be a whole number'],
    ['an id', Id, '10', 'must be a whole number'],
    ['a limit', limit(50, 200), '10', 'must be a whole number'],
    ['a number', z.number(), '1', 'must be a number'],
    ['a flag', z.boolean(), 'yes', 'must be true or false'],
    ['an optional flag', z.boolean().optional(), 'yes', 'must be true or false'],
    ['a list', z.array(z.string()), 'id', 'must be a list'],
    ['an object', z.strictObject({}), [], 'must be an object'],
    ['a choice', z.enum(['A', 'D']), 'B', 'must be one of A, D'],
    ['the only choice', z.literal(true), false, 'must be true'],
    ['long text', z.string().max(3), 'abcd', 'must have at most 3 characters'],
    ['a short list', z.array(z.string()).min(2), [], 'must have at least 2 entries'],
    ['a large number', z.number().max(3), 4, 'is too large'],
    ['a small number', z.number().min(3), 2, 'is too small'],
    ['one of two kinds', z.union([z.string(), z.number()]), true, 'must be text or a number'],
    ['text of a pattern', z.string().regex(/a/), 'b', 'is not valid'],
    ['absent text', z.string(), undefined, 'is required'],
    ['null for text', z.string(), null, 'is required'],
    ['null for an id', Id, null, 'is required'],
    ['an absent choice', z.enum(['A', 'D']), undefined, 'is required'],
    ['null for a choice', z.enum(['A', 'D']), null, 'is required'],
    ['a schema with its own text', z.string('must be a colour'), 5, 'must be a colour'],
  ])('of %s', (_, schema, input, message) => {
    expect(refusal(z.strictObject({ key: schema }), { key: input })).toEqual([{ path: ['key'], message }])
  })

  test('reports null in a list, and as the whole, as a wrong value', () => {
    expect(refusal(z.array(z.string()), [null])).toEqual([{ path: [0], message: 'must be text' }])
    expect(refusal(z.strictObject({}), null)).toEqual([{ path: [], message: 'must be an object' }])
  })

  test('describes the expected shape', () => {
    const either = z.array(z.union([z.string(), z.strictObject({ title: z.string() })]))
    expect(refusal(either, [{ title: 5 }])).toEqual([{ path: [0, 'title'], message: 'must be text' }])
    expect(refusal(either, [{ title: 'a', more: 1 }])).toEqual([{ path: [0, 'more'], message: 'is not a known key' }])
    expect(refusal(either, [5])).toEqual([{ path: [0], message: 'must be text or an object' }])
  })
})

describe('an update', () => {
  const whole = z.strictObject({ name: Name, note: z.string().nullish(), user_id: Id, email: EmailAddress })

  test('requires no key, and accepts null where a value can be empty', () => {
    expect(changesOf(whole).parse({})).toEqual({})
    expect(changesOf(whole).parse({ note: null })).toEqual({ note: null })
  })

  test.each(['name', 'user_id', 'email'])('takes null for %s as absent, or refuses it', (key) => {
    expect(changesOf(whole).parse({ [key]: null })).toEqual({ [key]: undefined })
    expect(refusal(changesOf(whole, [key as 'name']), { [key]: null })).toEqual([{ path: [key], message: 'must not be null' }])
    expect(refusal(whole, { name: 'a', user_id: 1, email: 'a@b.example', [key]: null })).toEqual([{ path: [key], message: 'is required' }])
  })

  test('refuses everything else that a create refuses', () => {
    const given = { name: '', user_id: 'a', email: 'a' }
    expect(refusal(changesOf(whole), given)).toEqual(refusal(whole, given))
  })

  test('keeps the descriptions', () => {
    const described = changesOf(z.strictObject({ name: Name.meta({ description: 'What it is called.' }) }))
    const { properties } = z.toJSONSchema(described, { io: 'input' }) as unknown as { properties: { name: object } }
    expect(JSON.stringify(properties.name)).toContain('"description":"What it is called."')
  })
})
