/** The names that killed processes leave in the folder of temporary files. */
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { closeNamed, keepSweepingTemporaryFiles, openNamedFile } from '../../src/platform/bytes/temporary-files.ts'

test('a name that is left for an hour is removed at the start, and while the service runs', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gridpost-swept-'))
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
  const left = async (minutesAgo: number) => {
    const named = await openNamedFile(dataDir)
    const at = new Date(Date.now() - minutesAgo * 60_000)
    await utimes(named.path, at, at)
    await named.file.close()
    return named
  }
  const names = () => readdir(join(dataDir, 'tmp'))
  await left(61)
  const recent = await left(59)
  const errors: unknown[] = []
  const stop = await keepSweepingTemporaryFiles(dataDir, { everyMs: 20, onError: (error) => errors.push(error) })
  onTestFinished(stop)
  expect((await names()).map((name) => join(dataDir, 'tmp', name))).toEqual([recent.path])
  const old = new Date(Date.now() - 61 * 60_000)
  await utimes(recent.path, old, old)
  await expect.poll(names).toEqual([])
  const kept = await openNamedFile(dataDir)
  await left(90)
  await expect.poll(names).toHaveLength(1)
  await closeNamed(kept)
  expect([await names(), errors]).toEqual([[], []])
})
