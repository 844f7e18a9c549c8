/** `npm run admin -- files check`, also after the service was killed during uploads. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startArguments } from '../scripts/bench/process.ts'
import { checkFiles } from '../scripts/files-check.ts'
import { freePort } from '../scripts/free-port.ts'
import { thumbnailKey } from '../src/files/thumbnails/thumbnail-keys.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const { sweepAfter, sweepLeftoversAfter } = fileSupport(app)
const { storage, db } = app.deps

async function setUp() {
  const account = await app.account()
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Files', type: 'file' },
  ]
  const table = await makeTable(app, account, { fields, records: [{ name: 'Acme' }] })
  return { account, path: `${table.path}/record/${table.records[0]}` }
}

async function check(repairs = false): Promise<{ isClean: boolean; lines: string[] }> {
  const lines: string[] = []
  const isClean = await checkFiles(app.deps, { repairs, print: (line) => lines.push(line) })
  return { isClean, lines }
}

/** Lets the bytes look as if they had been stored three days ago. */
async function age(key: string): Promise<void> {
  const then = new Date(Date.now() - 3 * 86_400_000)
  await utimes(join(app.settings.storage, createHash('sha256').update(key).digest('hex').slice(0, 2), key), then, then)
}

/** The rest of a summary in which rows and uses agree. */
const USES = ', 0 unused, 0 rowless, 0 misplaced, 0 dropped, 0 uncounted'

test('finds what is missing, damaged and orphaned, and repairs what it can', async () => {
  const { account, path } = await setUp()
  const add = async (text: string) => {
    const data = Buffer.from(text).toString('base64')
    return (await app.as(account.member).post(`${path}/files/create`, { field_id: 'files', name: 'a', data })).body.at(-1).path as string
  }
  const [a, b] = [await add('hello'), await add('world')]
  expect(await check()).toEqual({ isClean: true, lines: [`2 files, 10 bytes: 0 missing, 0 damaged, 0 orphaned${USES}`] })

  await storage.remove(a)
  expect(await check()).toEqual({
    isClean: false,
    lines: [`missing ${a}: the storage has no bytes`, `2 files, 5 bytes: 1 missing, 0 damaged, 0 orphaned${USES}`],
  })
  await storage.write(a, Buffer.from('jello'))
  expect(await check()).toMatchObject({ isClean: false, lines: [`damaged ${a}: the bytes have another hash`, expect.anything()] })
  await storage.remove(a)
  await storage.write(a, Buffer.from('hell'))
  expect(await check(true)).toMatchObject({ isClean: false, lines: [`damaged ${a}: 4 bytes in place of 5`, expect.anything()] })
  await storage.remove(a)
  await storage.write(a, Buffer.from('hello'))

  const orphan = `1-1-${'x'.repeat(16)}-orphan`
  const [young, thumbnail, foreign] = [`staged-${'y'.repeat(16)}-young`, thumbnailKey(a, 160), 'backup.tar']
  for (const key of [orphan, young, thumbnail, foreign]) await storage.write(key, Buffer.from('bytes'))
  for (const key of [orphan, thumbnail, foreign]) await age(key)
  const orphaned = `orphaned ${orphan}: no row names these bytes`
  const summary = `2 files, 10 bytes: 0 missing, 0 damaged, 1 orphaned${USES}`
  const waiting = '1 leftovers of uploads wait for the clean-up'
  expect(await check()).toEqual({ isClean: false, lines: [orphaned, summary, waiting] })
  expect(await check(true)).toEqual({ isClean: true, lines: [orphaned, summary, waiting, '1 orphans deleted'] })
  const isThere = async (key: string) => {
    const bytes = await storage.read(key)
    bytes?.destroy()
    return bytes !== null
  }
  expect(await Promise.all([orphan, young, thumbnail, foreign].map(isThere))).toEqual([false, true, true, true])

  await db.write(sql`update stored_files set sha256 = null where path = ${b}`)
  expect((await check()).lines).toContain('1 files of an earlier release have no hash: --repair computes it')
  expect((await check(true)).lines).toContain('1 hashes filled in')
  const [row] = await db.read<{ hash: string }>(sql`select encode(sha256, 'hex') as hash from stored_files where path = ${b}`)
  expect(row?.hash).toBe(createHash('sha256').update('world').digest('hex'))

  // An upload whose process was killed before its bytes came.
  const { body } = await app.as(account.member).post(`${path}/comments/upload`, { name: 'a', data: 'aGVsbG8=' })
  await storage.remove(body.path)
  expect(await check()).toMatchObject({
    isClean: true,
    lines: [expect.anything(), '1 uploads have no bytes and expire within a day', waiting],
  })
  await sweepAfter(30)
  await storage.remove(young)
  expect(await check()).toEqual({ isClean: true, lines: [`2 files, 10 bytes: 0 missing, 0 damaged, 0 orphaned${USES}`] })
})

test('deletes no orphans when there are so many that the storage may belong to another database', async () => {
  const orphans = Array.from({ length: 25 }, () => `1-1-${randomBytes(8).toString('hex')}-x`)
  for (const key of orphans) {
    await storage.write(key, Buffer.from('x'))
    await age(key)
  }
  const { isClean, lines } = await check(true)
  expect([isClean, lines.at(-2)]).toEqual([false, 'too many orphans to delete: does the storage belong to another database?'])
  for (const key of orphans) await storage.remove(key)
})

// ── a service that is killed ────────────────────────────────────────────────

const children = new Set<ChildProcess>()
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function environment(): Promise<Record<string, string>> {
  const { url } = await testDatabase()
  return {
    PATH: process.env.PATH ?? '',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
    DATABASE_URL: url,
    DATA_DIR: app.settings.dataDir,
    SECRET_KEY: app.settings.secretKeys.current.toString(),
    LOG_LEVEL: 'silent',
  }
}

/** Starts the service in a process of its own. */
async function start(): Promise<{ url: string; kill: () => Promise<void> }> {
  const port = await freePort()
  const env = { ...(await environment()), PORT: String(port), ROLE: 'web', RATE_LIMIT_PER_MINUTE: '0', RATE_LIMIT_PER_HOUR: '0' }
  const child = spawn(process.execPath, startArguments(), { stdio: ['ignore', 'pipe', 'inherit'], env })
  children.add(child)
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return {
    url: `http://127.0.0.1:${port}`,
    async kill() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      children.delete(child)
    },
  }
}

interface Uploaded {
  path: string
  size: number
  hash: string
}

let sent = 0

/** Uploads one file: into the field, or for a comment. @returns undefined once the process is gone */
async function upload(url: string, key: string, number: number, round: number): Promise<Uploaded | undefined> {
  // The size tells which file of the field's list the answer is about.
  const bytes = randomBytes(700_000 + sent++)
  const isInField = (number + round) % 2 === 0
  const headers: Record<string, string> = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  if (round % 3 === 1) headers['idempotency-key'] = randomBytes(8).toString('hex')
  const body = JSON.stringify({ name: 'a.bin', data: bytes.toString('base64'), ...(isInField && { field_id: 'files' }) })
  try {
    const response = await fetch(`${url}/${isInField ? 'files/create' : 'comments/upload'}`, { method: 'POST', headers, body })
    const files = [await response.json()].flat() as { path: string; size: number }[]
    const { path = '', size = 0 } = files.find((file) => file.size === bytes.length) ?? {}
    return { path, size, hash: createHash('sha256').update(bytes).digest('hex') }
  } catch {
    return undefined
  }
}

test('is clean after kills during uploads and the clean-up, and what was acknowledged is there', async () => {
  const { account, path } = await setUp()
  const acknowledged: Uploaded[] = []
  for (const killedAfter of [1, 4, 9]) {
    const service = await start()
    const first = acknowledged.length
    const { promise: enough, resolve } = Promise.withResolvers<void>()
    const uploadAll = async (number: number) => {
      for (let round = 0; ; round++) {
        const file = await upload(`${service.url}${path}`, account.keys.account, number, round)
        if (!file) return
        acknowledged.push(file)
        if (acknowledged.length - first >= killedAfter) resolve()
      }
    }
    const uploads = [0, 1, 2, 3].map(uploadAll)
    await Promise.race([enough, Promise.all(uploads)])
    await service.kill()
    await Promise.all(uploads)
    expect(acknowledged.length - first).toBeGreaterThanOrEqual(killedAfter)
  }
  const hashes = new Map(
    (await db.read<{ path: string; hash: string }>(sql`select path, encode(sha256, 'hex') as hash from stored_files`)).map(
      ({ path, hash }) => [path, hash],
    ),
  )
  for (const { path, hash } of acknowledged) expect(hashes.get(path)).toBe(hash)
  expect((await check()).isClean).toBe(true)
  await sweepAfter(30)
  await sweepLeftoversAfter(30)
  const { isClean, lines } = await check()
  expect(lines).toEqual([
    expect.stringMatching(
      /^\d+ files, \d+ bytes: 0 missing, 0 damaged, 0 orphaned, 0 unused, 0 rowless, 0 misplaced, 0 dropped, 0 uncounted$/,
    ),
  ])
  expect(isClean).toBe(true)
  const admin = spawn('node_modules/.bin/node', ['scripts/admin.ts', 'files', 'check'], {
    env: await environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  admin.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const [code] = await once(admin, 'close')
  expect([code, printed]).toEqual([0, `${lines[0]}\n`])
})
