/** Bytes that are received to storage before a row names them. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { openStorage } from '../src/platform/storage/open-storage.ts'
import { receiveBytes } from '../src/platform/stored-files/received-bytes.ts'

const folder = await mkdtemp(join(tmpdir(), 'gridpost-received-'))
const storage = openStorage(folder)
afterAll(() => rm(folder, { recursive: true, force: true }))

const options = { name: 'Größe 1.bin', maxBytes: 10_000, tooLarge: () => new Error('too large') }

async function* inChunks(bytes: Buffer, size: number, end?: Error) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  if (end) throw end
}

const files = async () => (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())

test.each([1, 7, 4_099, 4_100, 10_000])('are stored, counted and hashed in chunks of %s', async (size) => {
  const bytes = randomBytes(10_000)
  const received = await receiveBytes(storage, inChunks(bytes, size), options)
  expect(received).toMatchObject({ size: bytes.length, isTaken: false, key: expect.stringMatching(/^staged-[\w-]{16}-Gro_e_1\.bin$/) })
  expect(received.sha256).toEqual(createHash('sha256').update(bytes).digest())
  expect(received.head).toEqual(bytes.subarray(0, 4_100))
  const stream = await storage.read(received.key)
  expect(stream && (await buffer(stream)).equals(bytes)).toBe(true)
  await storage.remove(received.key)
})

test('may be none', async () => {
  const received = await receiveBytes(storage, inChunks(Buffer.alloc(0), 1), options)
  expect(received.size).toBe(0)
  await storage.remove(received.key)
})

test('leave nothing behind if their source breaks, or with one byte too many', async () => {
  await expect(receiveBytes(storage, inChunks(randomBytes(9_000), 1_000, new Error('hung up')), options)).rejects.toThrow('hung up')
  await expect(receiveBytes(storage, inChunks(randomBytes(10_001), 1_000), options)).rejects.toThrow('too large')
  expect(await files()).toEqual([])
})
