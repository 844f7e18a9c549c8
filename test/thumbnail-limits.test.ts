/** What reaches others when an image, a caller or the storage is bad: thumbnails on a storage that does what a test says. */
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import S3rver from 's3rver'
import sharp from 'sharp'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ReadableFile } from '../src/files/queries.ts'
import { thumbnailKey } from '../src/files/thumbnails/thumbnail-keys.ts'
import { openThumbnails, type ThumbnailLimits } from '../src/files/thumbnails/thumbnails.ts'
import { openMetrics } from '../src/platform/metrics/metrics.ts'
import { openStorage } from '../src/platform/storage/open-storage.ts'
import type { Storage } from '../src/platform/storage/storage.ts'

const png = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#ff0000' } })
  .png()
  .toBuffer()
const LIMITS: ThumbnailLimits = { decodeMs: 20_000, bytesMs: 20_000, idleMs: 10_000 }

const fileOf = (path: string, size = png.length, type = 'image/png'): ReadableFile => ({
  ...{
    name: 'a',
    path,
    size,
    type,
    detected_type: type,
    host: 'local',
    storage_key: null,
    dropped_at: null,
    was_held: true,
    is_shared: false,
  },
  ...{ table_id: 1, space_id: 1, task_id: null, member_role: null, is_on_task: false, is_of_deleted: false },
})

/** Thumbnails of files whose bytes the test gives. A file that it does not name is a small image. */
function thumbnailsOf(
  files: Record<string, () => Readable>,
  { limits = {}, ...fakes }: { limits?: Partial<ThumbnailLimits> } & Partial<Storage> = {},
) {
  const kept = new Map<string, Uint8Array>()
  const reads: string[] = []
  const storage: Storage = {
    ...({} as Storage),
    read: async (path) => {
      reads.push(path)
      if (!path.startsWith('thumb-')) return files[path]?.() ?? Readable.from([png])
      const bytes = kept.get(path)
      return bytes ? Readable.from([bytes]) : null
    },
    write: async (path, bytes) => void kept.set(path, bytes as Uint8Array),
    ...fakes,
  }
  const log = { info: () => {}, warn: () => {} } as never
  const applied = { ...LIMITS, ...limits }
  const thumbnails = openThumbnails({ storage, metrics: openMetrics([]), log }, applied)
  onTestFinished(() => thumbnails.close())
  const never = new AbortController().signal
  const ask = (path: string, { accountId = 1, signal = never, file = fileOf(path) } = {}) =>
    thumbnails.read(file, 160, { accountId, signal })
  return { ask, kept, reads, limits: applied }
}

const isWebp = (bytes: Buffer) => bytes.subarray(8, 12).toString() === 'WEBP'
const away = { code: 'SERVICE_UNAVAILABLE', message: 'The file storage is not available', retryAfterSeconds: 5 }
const refused = { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'No thumbnail of image/png' }
/** Bytes that begin and never end. */
const hanging = () => new Readable({ read: () => {} })

/** The processes that are started during the test. */
function startedProcesses(): ChildProcess[] {
  const started: ChildProcess[] = []
  const note = (message: unknown) => void started.push((message as { process: ChildProcess }).process)
  subscribe('child_process', note)
  onTestFinished(() => void unsubscribe('child_process', note))
  return started
}

describe('an image', () => {
  test('that takes too long is refused, its process killed, and the next one made', async () => {
    const started = startedProcesses()
    const hasty = thumbnailsOf({}, { limits: { decodeMs: 1 } })
    await expect(hasty.ask('slow')).rejects.toMatchObject(refused)
    await expect.poll(() => started[0]?.signalCode).toBe('SIGKILL')
    expect(hasty.kept.size).toBe(0)
  })

  test('that was refused is not read again', async () => {
    const { ask, reads } = thumbnailsOf({ broken: () => Readable.from([Buffer.alloc(png.length, 'x')]) })
    await expect(ask('broken')).rejects.toMatchObject(refused)
    const before = reads.length
    await expect(ask('broken')).rejects.toMatchObject(refused)
    expect(reads).toHaveLength(before)
    expect(isWebp(await ask('good'))).toBe(true)
  })

  test('is not to blame when its process is ended from outside before it works', async () => {
    const started = startedProcesses()
    const { ask } = thumbnailsOf({})
    const first = ask('one')
    // Before its code has run, it cannot ignore the signal.
    await expect.poll(() => started.length).toBe(1)
    started[0]?.kill('SIGTERM')
    await expect(first).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: 'Thumbnails cannot be made at the moment' })
    expect(isWebp(await ask('one'))).toBe(true)
  })
})

test('an image that crashes its process is refused, and the next one made', async () => {
  const started = startedProcesses()
  const { ask } = thumbnailsOf({})
  await ask('one')
  const [process] = started as [ChildProcess]
  const send = process.send.bind(process) as (message: object) => boolean
  // The signal of a decoder that has accessed memory which is not its own.
  Object.assign(process, {
    send: (message: object, ...rest: []) => send(message, ...rest) && (!('work' in message) || process.kill('SIGSEGV')),
  })
  await expect(ask('crash')).rejects.toMatchObject(refused)
  expect(started).toHaveLength(1)
  expect(isWebp(await ask('two'))).toBe(true)
  expect(started).toHaveLength(2)
})

describe('an account', () => {
  test('whose images hang delays no other account', async () => {
    const slow = Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`slow${index}`, hanging]))
    const { ask, reads } = thumbnailsOf(slow)
    const stop = new AbortController()
    const [first, ...waiting] = Object.keys(slow).map((path) => ask(path, { signal: stop.signal }))
    // It ends with the test.
    first?.catch(() => {})
    await expect.poll(() => reads.filter((path) => path.startsWith('slow'))).toHaveLength(1)
    for (const path of ['one', 'two', 'three']) expect(isWebp(await ask(path, { accountId: 2 }))).toBe(true)
    expect(reads.filter((path) => path.startsWith('slow'))).toHaveLength(1)
    stop.abort(new Error('gone'))
    const ends = await Promise.allSettled(waiting)
    expect(ends.map((end) => end.status === 'rejected' && end.reason.message)).toEqual(Array(4).fill('gone'))
  })

  test('that floods is refused, the oldest request first', async () => {
    const { ask } = thumbnailsOf({ slow: hanging })
    const stop = new AbortController()
    const outcomes: Record<string, string> = {}
    const flood = ['slow', ...Array.from({ length: 202 }, (_, index) => `file${index}`)].map((path) =>
      ask(path, { signal: stop.signal }).catch((error) => {
        outcomes[path] = error.message
      }),
    )
    await expect.poll(() => Object.keys(outcomes).length).toBe(2)
    expect(outcomes).toEqual({ file0: 'Too busy; retry', file1: 'Too busy; retry' })
    stop.abort(new Error('gone'))
    await Promise.all(flood.slice(1))
  })
})

describe('the storage', () => {
  test.each<[string, () => Readable]>([
    [
      'fails while the image is read',
      () =>
        Readable.from(
          (async function* () {
            yield png.subarray(0, 10)
            throw new Error('reset')
          })(),
        ),
    ],
    ['ends the image too early', () => Readable.from([png.subarray(0, 50)])],
    ['hangs', hanging],
  ])('that %s is 503, and the image is not remembered as a bad one', async (_, bytes) => {
    const files = { image: bytes }
    const { ask, kept, limits } = thumbnailsOf(files, { limits: { bytesMs: 300 } })
    await expect(ask('image')).rejects.toMatchObject(away)
    expect(kept.size).toBe(0)
    files.image = () => Readable.from([png])
    limits.bytesMs = LIMITS.bytesMs
    expect(isWebp(await ask('image'))).toBe(true)
  })

  test('that has lost the bytes is 404', async () => {
    const { ask } = thumbnailsOf({}, { read: async () => null })
    await expect(ask('image')).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'File not found' })
  })

  test('that cannot keep the thumbnail does not keep it from the caller', async () => {
    const { ask } = thumbnailsOf({}, { write: async () => Promise.reject(new Error('full')) })
    expect(isWebp(await ask('image'))).toBe(true)
  })
})

test('the processes end when no thumbnail is asked for', async () => {
  const started = startedProcesses()
  const { ask } = thumbnailsOf({}, { limits: { idleMs: 50 } })
  await ask('one')
  await expect.poll(() => started.map(({ signalCode }) => signalCode)).toEqual(['SIGKILL'])
  await ask('two')
  expect(started).toHaveLength(2)
})

test('a process does not outlive a service that was killed', async () => {
  const started = startedProcesses()
  const { ask } = thumbnailsOf({})
  await ask('one')
  started[0]?.disconnect()
  await expect.poll(() => started[0]?.signalCode).toBe('SIGKILL')
})

test('a bucket holds thumbnails like a folder', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gridpost-thumbnail-bucket-'))
  const configureBuckets = [{ name: 'attachments', configs: [] }]
  const bucket = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const { port } = (await bucket.run()) as AddressInfo
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await bucket.close()
    await rm(directory, { recursive: true, force: true })
  })
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER')
  const storage = openStorage(
    `s3://attachments?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}&region=eu-central-1&forcePathStyle=true`,
  )
  await storage.write('1-2-image.png', png)
  const { ask } = thumbnailsOf({}, { read: storage.read, write: storage.write })
  const made = await ask('1-2-image.png')
  expect(isWebp(made)).toBe(true)
  const kept = await storage.read(thumbnailKey('1-2-image.png', 160))
  expect(kept && (await buffer(kept))).toEqual(made)
  expect(await ask('1-2-image.png')).toEqual(made)
})
