import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { openStorage } from '../src/platform/storage/open-storage.ts'
import type { Storage } from '../src/platform/storage/storage.ts'
import { startBucket } from './support/bucket.ts'

const folder = await mkdtemp(join(tmpdir(), 'gridpost-storage-'))
const bucket = await startBucket()
const settings = { folder: join(folder, 'files'), bucket: bucket.setting }
afterAll(() => rm(folder, { recursive: true, force: true }))

const read = async (storage: Storage, path: string, range?: { start: number; end: number }) => {
  const stream = await storage.read(path, range)
  return stream && buffer(stream)
}

async function all(paths: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const path of paths) found.push(path)
  return found
}

describe.each(['folder', 'bucket'] as const)('a %s', (kind) => {
  const open = () => openStorage(settings[kind])

  test('returns the stored bytes, whole or in part', async () => {
    const bytes = randomBytes(100_000)
    await open().write('1-2-whole.bin', bytes)
    expect(await read(open(), '1-2-whole.bin')).toEqual(bytes)
    expect(await read(open(), '1-2-whole.bin', { start: 10, end: 19 })).toEqual(bytes.subarray(10, 20))
    expect(await read(open(), '1-2-whole.bin', { start: 99_999, end: 99_999 })).toEqual(bytes.subarray(99_999))
  })

  test('returns the same bytes to quick and to slow readers', async () => {
    const bytes = randomBytes(3_000_001)
    await open().write('1-2-long.bin', bytes)
    for (const range of [undefined, { start: 65_536, end: 2_999_999 }, { start: 1_000_001, end: 1_200_000 }]) {
      const slowly = await open().read('1-2-long.bin', range)
      const chunks: Buffer[] = []
      for await (const chunk of slowly as AsyncIterable<Buffer>) {
        if (chunks.length % 4 === 3) await sleep(30)
        chunks.push(chunk)
      }
      const expected = range ? bytes.subarray(range.start, range.end + 1) : bytes
      expect(Buffer.concat(chunks).equals(expected)).toBe(true)
      expect((await read(open(), '1-2-long.bin', range))?.equals(expected)).toBe(true)
    }
  })

  test('stores streams that are short, empty or longer than a part', async () => {
    for (const size of [0, 10, 8 * 1_048_576, 20 * 1_048_576 + 7]) {
      const bytes = randomBytes(size)
      await open().write(`1-2-stream-${size}`, Readable.from(chunksOf(bytes), { objectMode: false }))
      const kept = await read(open(), `1-2-stream-${size}`)
      expect(kept?.equals(bytes)).toBe(true)
    }
  })

  test('stores nothing of a stream that breaks', async () => {
    let isBegun = false
    // It breaks while it is read: an error that nobody listens to yet would be one of the process.
    const broken = new Readable({
      read() {
        if (isBegun) setTimeout(() => this.destroy(new Error('the line went dead')), 50)
        else this.push(Buffer.alloc(9 * 1_048_576))
        isBegun = true
      },
    })
    await expect(open().write('1-2-broken', broken)).rejects.toThrow('the line went dead')
    expect(await open().read('1-2-broken')).toBeNull()
  })

  test('moves bytes to another path', async () => {
    const bytes = randomBytes(1_000)
    await open().write('staged-moved', bytes)
    expect(await open().move('staged-moved', '1-2-moved')).toBe(true)
    expect(await read(open(), '1-2-moved')).toEqual(bytes)
    expect(await open().read('staged-moved')).toBeNull()
    expect(await open().move('staged-moved', '1-2-moved')).toBe(false)
    expect(await open().move('staged-never', '1-2-moved')).toBe(false)
    expect(await open().size('1-2-moved')).toBe(1_000)
    expect(await open().size('staged-moved')).toBeNull()
  })

  test('finds no path that was never written or was removed', async () => {
    await open().write('1-2-short-lived', Buffer.from('x'))
    await open().remove('1-2-short-lived')
    await open().remove('1-2-short-lived')
    expect(await open().read('1-2-short-lived')).toBeNull()
    expect(await open().read('1-2-never')).toBeNull()
  })

  test('lists the paths with a prefix that were written before an instant', async () => {
    const names = ['staged-1', 'staged-2', '1-2-other']
    for (const name of names) await open().write(name, Buffer.from('x'))
    const list = (prefix: string, before: number) => all(open().list(prefix, new Date(before)))
    expect((await list('staged-', Date.now() + 5_000)).toSorted()).toEqual(['staged-1', 'staged-2'])
    expect(await list('', Date.now() + 5_000)).toEqual(expect.arrayContaining(names))
    expect(await list('', Date.now() - 60_000)).toEqual([])
  })

  test.each(['../secret', '/etc/passwd', 'a/b', '..', '.hidden', '', 'a\0b', 'a\\b', `a${'b'.repeat(200)}`])(
    'refuses the path %j',
    async (path) => {
      await expect(open().write(path, Buffer.from('x'))).rejects.toThrow('A path in storage')
      await expect(open().read(path)).rejects.toThrow('A path in storage')
      await expect(open().remove(path)).rejects.toThrow('A path in storage')
    },
  )
})

test('a folder frees the chunks of a stream as they are written, but neither parts of a buffer nor bytes that are given whole', async () => {
  const [own, whole, outer] = [randomBytes(65_536), randomBytes(65_536), randomBytes(65_536)]
  const part = outer.subarray(100, 60_100)
  const expected = Buffer.concat([own, part])
  await openStorage(settings.folder).write('1-2-freed', Readable.from([own, part], { objectMode: false }))
  expect([own.length, part.length]).toEqual([0, 60_000])
  expect(await read(openStorage(settings.folder), '1-2-freed')).toEqual(expected)
  await openStorage(settings.folder).write('1-2-given', whole)
  expect(await read(openStorage(settings.folder), '1-2-given')).toEqual(whole)
})

test('a folder holds no unfinished files', async () => {
  const names = await readdir(settings.folder, { recursive: true })
  expect(names.filter((name) => name.endsWith('~'))).toEqual([])
})

test('a folder removes the unfinished files of a killed process, but not those of a running one', async () => {
  const place = join(folder, 'killed')
  const writing = spawn('node_modules/.bin/node', ['--input-type=module', '-e', WRITER, place], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(writing.stdout, 'data')
  writing.kill('SIGKILL')
  await once(writing, 'exit')
  // They are in different folders, which systems list in different orders.
  const names = async () =>
    (await readdir(place, { recursive: true }))
      .map((name) => basename(name))
      .filter((name) => name.startsWith('1-2-'))
      .toSorted()
  expect(await names()).toEqual([expect.stringMatching(/^1-2-half\..*~$/), '1-2-whole'])

  const storage = openStorage(place)
  await storage.removeUnfinished(new Date(Date.now() - 60_000), () => true)
  expect(await names()).toHaveLength(2)
  expect(await all(storage.list('', new Date(Date.now() + 5_000)))).toEqual(['1-2-whole'])
  await storage.removeUnfinished(new Date(Date.now() + 5_000), () => true)
  expect(await names()).toEqual(['1-2-whole'])
})

/** Stores a file, and another whose bytes never end. Says when some of them are written. */
const WRITER = `
  import { Readable } from 'node:stream'
  import { openStorage } from '${new URL('../src/platform/storage/open-storage.ts', import.meta.url)}'
  const storage = openStorage(process.argv[1])
  await storage.write('1-2-whole', Buffer.from('whole'))
  async function* endless() {
    yield Buffer.alloc(100_000)
    yield Buffer.alloc(100_000)
    console.log('written')
    await new Promise(() => setInterval(() => {}, 1000))
  }
  await storage.write('1-2-half', Readable.from(endless()))`

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += 65_536) yield bytes.subarray(start, start + 65_536)
}
