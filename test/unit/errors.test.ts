import { TRPCError } from '@trpc/server'
import { describe, expect, it } from 'vitest'
import { errorAnswer } from '../../src/platform/http/errors.ts'

describe('an unexpected error', () => {
  it.each([
    ['in a procedure', new RangeError('Invalid time value')],
    ['in a schema that fails on an input', new TRPCError({ code: 'BAD_REQUEST', cause: new RangeError('Invalid time value') })],
    [
      'in a schema that reads a property of null',
      new TRPCError({ code: 'BAD_REQUEST', cause: new TypeError('Cannot read properties of null') }),
    ],
  ])('%s is a 500, and keeps its text', (_, thrown) => {
    const { status, body, isFault } = errorAnswer(thrown, 'req-1')
    expect([status, isFault, body]).toEqual([
      500,
      true,
      { message: 'Something went wrong on our side', code: 'INTERNAL_SERVER_ERROR', request_id: 'req-1' },
    ])
  })

  it('does not include the caller’s broken JSON', () => {
    const thrown = new TRPCError({ code: 'BAD_REQUEST', cause: new SyntaxError('Unexpected token') })
    expect(errorAnswer(thrown, 'req-1')).toMatchObject({ status: 400, isFault: false, body: { message: 'The body is not valid JSON' } })
  })
})
