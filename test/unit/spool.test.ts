import { randomBytes } from 'node:crypto'
import { readSync } from 'node:fs'
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Spool, SpoolMemory } from '../../src/platform/bytes/spool.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'gridpost-spool-'))
afterAll(() => rm(dataDir, { recursive: true }))

const KB = 1_024

/** The temporary files that are open; their names have been removed. */
async function openFiles(): Promise<number> {
  const targets = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(join(dataDir, 'tmp'))).length
}

async function filled(memory: SpoolMemory, address: string, bytes: number) {
  const spool = new Spool(dataDir, memory, address)
  const content = randomBytes(bytes)
  await spool.add(content)
  return { spool, isWhole: async () => spool.bytes === bytes && (await spool.whole()).equals(content) }
}

/** The bytes of its pieces, each of which overwrites the one before. */
async function inPieces(spool: Spool): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of spool.pieces()) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

test.each([0, 1, 4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 200_000])(
  'gives %i bytes back as they came, in pieces of any size',
  async (bytes) => {
    const content = randomBytes(bytes)
    for (const piece of [1, 1_000, 65_536, 300_000]) {
      const spool = new Spool(dataDir, new SpoolMemory(KB * KB, KB * KB), 'ann')
      for (let at = 0; at < bytes; at += piece) await spool.add(content.subarray(at, at + piece))
      expect(spool.bytes).toBe(bytes)
      expect((await spool.whole()).equals(content)).toBe(true)
      expect((await inPieces(spool)).equals(content)).toBe(true)
      for (const start of [0, 1_000, 65_537, 300_000]) expect((await spool.start(start)).equals(content.subarray(0, start))).toBe(true)
      expect(await openFiles()).toBe(bytes > 65_536 ? 1 : 0)
      await spool.close()
      expect(await openFiles()).toBe(0)
    }
  },
)

test('an address that has used up its share writes to files, and the others still have room', async () => {
  // Each spool takes 60 KB of the shared memory beyond the 4 KB that are its own.
  const memory = new SpoolMemory(240 * KB, 120 * KB)
  const spools = [await filled(memory, 'flood', 60_000), await filled(memory, 'flood', 60_000)]
  expect(await openFiles()).toBe(0)
  spools.push(await filled(memory, 'flood', 60_000), await filled(memory, 'flood', 60_000))
  expect(await openFiles()).toBe(2)
  spools.push(await filled(memory, 'ann', 60_000), await filled(memory, 'bob', 60_000))
  expect(await openFiles()).toBe(2)
  spools.push(await filled(memory, 'cleo', 60_000), await filled(memory, 'cleo', 4_096))
  expect(await openFiles()).toBe(3)
  for (const { isWhole } of spools) expect(await isWhole()).toBe(true)
  await Promise.all(spools.map(({ spool }) => spool.close()))
  expect(await openFiles()).toBe(0)
  // What was given back can be taken again, and giving it back twice gives nothing more.
  await spools[0]?.spool.close()
  const again = await filled(memory, 'flood', 60_000)
  expect(await openFiles()).toBe(0)
  expect(memory.take('flood', 61 * KB)).toBe(false)
  await again.spool.close()
})

test.each([0, 1_000, 65_536, 200_000])('has its %i bytes in a file for who can only read one, and takes more afterwards', async (bytes) => {
  const content = randomBytes(bytes + 1_000)
  const spool = new Spool(dataDir, new SpoolMemory(KB * KB, KB * KB), 'ann')
  await spool.add(content.subarray(0, bytes))
  const descriptor = await spool.file()
  const read = Buffer.alloc(bytes + 1)
  expect(readSync(descriptor, read, 0, bytes + 1, 0)).toBe(bytes)
  expect(read.subarray(0, bytes).equals(content.subarray(0, bytes))).toBe(true)
  await spool.add(content.subarray(bytes))
  expect((await inPieces(spool)).equals(content)).toBe(true)
  expect((await spool.whole()).equals(content)).toBe(true)
  await spool.close()
  expect(await openFiles()).toBe(0)
})
