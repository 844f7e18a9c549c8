import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeExport } from '../src/csv/export-file.ts'
import { openTemporaryFile, readToEnd } from '../src/platform/bytes/temporary-files.ts'
import { systemContext } from '../src/platform/context.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'gridpost-temporary-'))
afterAll(() => rm(dataDir, { recursive: true, force: true }))
const folder = join(dataDir, 'tmp')
await mkdir(folder)
await writeFile(join(folder, 'left behind'), 'by a killed process')
const anHourAgo = new Date(Date.now() - 3_700_000)
await utimes(join(folder, 'left behind'), anHourAgo, anHourAgo)
await writeFile(join(folder, 'in use'), 'by a process that signs a large mail')
const app = await testApp({ DATA_DIR: dataDir })
const leftByStart = await readdir(folder)
await rm(join(folder, 'in use'))

test('what a killed process has left behind is deleted at the start, and a file of a running one is not', () => {
  expect(leftByStart).toEqual(['in use'])
})

test('has no name while it is open, and is read from its beginning', async () => {
  const file = await openTemporaryFile(dataDir)
  expect(await readdir(folder)).toEqual([])
  const text = 'x'.repeat(600_000)
  await file.writeFile(text)
  expect(Buffer.concat(await readToEnd(file).toArray()).toString()).toBe(text)
  expect(file.fd).toBe(-1)
})

test('is closed when it is not read', async () => {
  const file = await openTemporaryFile(dataDir)
  const content = readToEnd(file)
  await new Promise((resolve) => content.once('close', resolve).destroy())
  expect(file.fd).toBe(-1)
})

test('an account has at most twenty exports open, and may begin another when one of them is closed', async () => {
  const account = await app.account()
  const { id } = await makeTable(app, account)
  const table = { id, name: 'Table', space_id: account.space, account_id: account.id, version: 1, role: 'admin' as const }
  const system = systemContext(app.deps)
  const context = { ...system, actor: { ...system.actor, accountId: account.id } }
  const open = await Promise.all(Array.from({ length: 20 }, () => writeExport(context, table, {}, async () => {})))
  const refused = await app.as(account.viewer).get(`/api/table/${id}/export.csv`)
  expect([refused.status, refused.body.message, refused.headers.get('retry-after')]).toEqual([
    ...[503, 'The account has 20 exports open; retry', '5'],
  ])
  const other = await app.account()
  expect((await app.as(other.viewer).get(`/api/table/${(await makeTable(app, other)).id}/export.csv`)).status).toBe(200)
  const first = open[0]?.content
  await new Promise((resolve) => first?.once('close', resolve).destroy())
  expect((await app.as(account.viewer).get(`/api/table/${id}/export.csv`)).status).toBe(200)
  for (const { content } of open) content.destroy()
})
