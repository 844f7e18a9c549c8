import { expect, test } from 'vitest'
import { keyOf } from '../../src/platform/access/bearer-key.ts'
import { newKeySecret, tokenHash } from '../../src/platform/secrets/secrets.ts'

const [first, second] = [newKeySecret('account'), newKeySecret('personal')]
const keyWith = (secret: string) => ({ kind: 'key', tokenHash: tokenHash(secret) })

test('is remembered for its connection, and read again where another was sent', () => {
  const socket = {}
  const credentials = keyOf(socket, `Bearer ${first}`)
  expect(credentials).toEqual(keyWith(first))
  expect(keyOf(socket, `Bearer ${first}`)).toBe(credentials)
  expect(keyOf({}, `Bearer ${first}`)).not.toBe(credentials)
  expect(keyOf(socket, `Bearer ${second}`)).toEqual(keyWith(second))
  expect(keyOf(socket, `Bearer ${first}`)).toEqual(keyWith(first))
})

test('is not remembered from a header that is longer than any key', () => {
  const socket = {}
  for (const [header, credentials] of [
    [`Bearer ${' '.repeat(15_000)}${first}`, keyWith(first)],
    [`Bearer ${'x'.repeat(15_000)}`, { kind: 'invalid' }],
  ] as const) {
    const read = keyOf(socket, header)
    expect(read).toEqual(credentials)
    expect(keyOf(socket, header)).not.toBe(read)
  }
})
