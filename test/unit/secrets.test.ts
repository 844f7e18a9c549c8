import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  decrypt,
  encrypt,
  fingerprintOf,
  hashPassword,
  isSigned,
  looksLikeKey,
  newHexToken,
  newKeySecret,
  newToken,
  reencrypt,
  sign,
  tokenHash,
  UnreadableSecret,
  verifyPassword,
} from '../../src/platform/secrets/secrets.ts'

describe('API keys', () => {
  test('show their kind without a query', () => {
    expect(looksLikeKey(newKeySecret('account'))).toBe('account')
    expect(looksLikeKey(newKeySecret('personal'))).toBe('personal')
  })

  test('have a prefix, 32 random bytes and a checksum', () => {
    expect(newKeySecret('account')).toMatch(/^gp_acct_[0-9A-Za-z]{49}$/)
    expect(newKeySecret('personal')).toMatch(/^gp_user_[0-9A-Za-z]{49}$/)
    expect(new Set(Array.from({ length: 1000 }, () => newKeySecret('account'))).size).toBe(1000)
  })

  test('with a character changed, removed, added or under the other prefix are not keys', () => {
    const key = newKeySecret('account')
    for (let at = 8; at < key.length; at += 1) {
      const other = key[at] === 'a' ? 'b' : 'a'
      expect(looksLikeKey(key.slice(0, at) + other + key.slice(at + 1))).toBeNull()
    }
    for (const text of [key.slice(0, -1), `${key}0`, key.replace('acct', 'user'), ` ${key}`, `${key}\n`, '', 'gp_acct_', 'é'.repeat(57)])
      expect(looksLikeKey(text)).toBeNull()
  })
})

describe('tokens', () => {
  test('are random, of the requested length, and stored as a hash', () => {
    expect(newToken()).toMatch(/^[\w-]{43}$/)
    expect(newHexToken(8)).toMatch(/^[0-9a-f]{16}$/)
    expect(tokenHash('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})

const keysOf = (current: Buffer, ...previous: Buffer[]) => ({ current, previous })

describe('secrets at rest', () => {
  const keys = keysOf(randomBytes(32))

  test('are decrypted unchanged, whatever the text', () => {
    for (const text of ['', 'pässwörd', 'x'.repeat(10_000)]) expect(decrypt(keys, encrypt(keys, text, 'smtp:1'), 'smtp:1')).toBe(text)
  })

  test('look different each time', () => {
    expect(encrypt(keys, 'same', 'smtp:1').equals(encrypt(keys, 'same', 'smtp:1'))).toBe(false)
  })

  test('cannot be read for another row, with another key, or after a change', () => {
    const encrypted = encrypt(keys, 'secret', 'smtp:1')
    expect(() => decrypt(keys, encrypted, 'smtp:2')).toThrow(UnreadableSecret)
    expect(() => decrypt(keysOf(randomBytes(32)), encrypted, 'smtp:1')).toThrow(UnreadableSecret)
    for (let at = 0; at < encrypted.length; at += 1) {
      const changed = Buffer.from(encrypted)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => decrypt(keys, changed, 'smtp:1')).toThrow(UnreadableSecret)
    }
    expect(() => decrypt(keys, encrypted.subarray(0, 20), 'smtp:1')).toThrow(UnreadableSecret)
  })

  test('are read with any key, and encrypted again only if a previous one encrypted them', () => {
    const next = keysOf(randomBytes(32), randomBytes(32), keys.current)
    const encrypted = encrypt(keys, 'secret', 'smtp:1')
    expect(decrypt(next, encrypted, 'smtp:1')).toBe('secret')
    const again = reencrypt(next, encrypted, 'smtp:1') as Buffer
    expect(decrypt(keysOf(next.current), again, 'smtp:1')).toBe('secret')
    expect(() => decrypt(keys, again, 'smtp:1')).toThrow(UnreadableSecret)
    expect(reencrypt(next, again, 'smtp:1')).toBeNull()
    expect(() => reencrypt(next, encrypted, 'smtp:2')).toThrow(UnreadableSecret)
  })
})

describe('signatures', () => {
  const keys = keysOf(randomBytes(32))
  const bytes = Buffer.from('12')

  test('hold for their bytes and purpose only, under the current key or a previous one', () => {
    const signature = sign(keys, 'links', bytes)
    const next = keysOf(randomBytes(32), keys.current)
    expect([isSigned(keys, 'links', bytes, signature), isSigned(next, 'links', bytes, signature)]).toEqual([true, true])
    expect(sign(next, 'links', bytes).equals(signature)).toBe(false)
    for (const [of, purpose, text] of [
      [keys, 'cursors', '12'],
      [keys, 'links', '13'],
      [keysOf(next.current), 'links', '12'],
    ] as const)
      expect(isSigned(of, purpose, Buffer.from(text), signature)).toBe(false)
  })

  test('that were cut hold only at the agreed length', () => {
    const signature = sign(keys, 'links', bytes)
    expect(isSigned(keys, 'links', bytes, signature.subarray(0, 16), 16)).toBe(true)
    for (const length of [0, 15, 17, 31]) expect(isSigned(keys, 'links', bytes, signature.subarray(0, length), 16)).toBe(false)
  })
})

test('a fingerprint names its key', () => {
  const key = randomBytes(32)
  expect(fingerprintOf(key)).toMatch(/^[0-9a-f]{8}$/)
  expect([fingerprintOf(Buffer.from(key)), fingerprintOf(randomBytes(32))]).toEqual([
    fingerprintOf(key),
    expect.not.stringMatching(fingerprintOf(key)),
  ])
})

describe('passwords', () => {
  test('are verified against their argon2id hash', async () => {
    const hash = await hashPassword('correct horse')
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/)
    expect(await verifyPassword('correct horse', hash)).toBe(true)
    expect(await verifyPassword('correct horsf', hash)).toBe(false)
  })

  test('match in either composition of an accent', async () => {
    expect(await verifyPassword('cafe\u0301', await hashPassword('caf\u00e9'))).toBe(true)
  })

  test('of an unknown user never match, and cost the same work', async () => {
    expect(await verifyPassword('anything', null)).toBe(false)
    expect(await verifyPassword('', undefined)).toBe(false)
  })

  test('are all verified when many arrive at once', async () => {
    const hash = await hashPassword('p')
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => verifyPassword(i % 2 ? 'p' : 'q', hash)))
    expect(answers).toEqual([false, true, false, true, false, true, false, true])
  })
})
