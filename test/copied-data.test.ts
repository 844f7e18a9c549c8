/** A copy of DATA_DIR that runs beside its original: each keeps its mail to itself. */
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findService } from '../scripts/runtime.ts'
import type { Seeded } from '../scripts/seed-account.ts'
import { readServiceFile } from '../src/platform/processes/service-file.ts'
import { readSettings } from '../src/settings.ts'
import { prepareData } from './support/prepared-data.ts'
import { call, type Ended, type Programs, programs, type Service } from './support/programs.ts'

const original = programs()
const restored = programs()
const copied = programs()
afterAll(async () => {
  for (const one of [original, restored, copied]) await one.cleanUp()
})

test('the mail of a restored or copied installation goes to its own catcher, and the original is not touched', async () => {
  prepareData(original.dataDir, { withDemo: false })
  let service = await original.start()
  const seeded = JSON.parse((await original.run('seed', ['--json'])).stdout) as Seeded
  const archive = join(original.dataDir, 'all.tar.gz')
  expect((await original.run('admin', ['backup', archive])).code).toBe(0)
  expect((await restored.run('admin', ['restore', archive])).code).toBe(0)
  const port = portOf(original)

  const beside = await restored.start()
  expect(beside.output()).toMatch(
    new RegExp(`Another program has port ${port}, where mail was caught before\\. .+ \\(\\d+\\) have moved to port ${portOf(restored)}\\.`),
  )
  expect(portOf(restored)).not.toBe(port)
  await send(beside, seeded, 'from the copy')
  await caught(beside, 'from the copy')
  await send(service, seeded, 'from the original')
  await caught(service, 'from the original')
  expect((await subjects(service)).includes('from the copy')).toBe(false)
  expect((await subjects(beside)).includes('from the original')).toBe(false)

  // A second process of one installation has a catcher of its own, which integrations do not name.
  const second = await restored.start()
  expect(second.output()).not.toContain('Another program has port')
  await send(second, seeded, 'from the second process')
  await caught(beside, 'from the second process')
  await second.stop()

  // The copy may also be first: then it is the original that moves.
  await service.stop()
  await beside.stop()
  rmSync(copied.dataDir, { recursive: true })
  // As `cp -a`: Postgres insists on the modes of its files.
  execFileSync('cp', ['-a', original.dataDir, copied.dataDir])
  const first = await copied.start()
  expect(portOf(copied)).toBe(port)
  service = await original.start()
  expect(service.output()).toContain(`Another program has port ${port}`)
  await send(service, seeded, 'after the copy')
  await caught(service, 'after the copy')
  expect((await subjects(first)).includes('after the copy')).toBe(false)
  await first.stop()

  // A copy of the files of a running service does not take that service for its own.
  cpSync(join(original.dataDir, 'service.json'), join(copied.dataDir, 'service.json'))
  expect([original, copied].map(({ dataDir }) => findService(readSettings({ DATA_DIR: dataDir })).isRunning)).toEqual([true, false])
  const worker = await workerOf(copied)
  expect([worker.code, worker.stderr]).toEqual([
    1,
    `Gridpost cannot start. DATA_DIR: port ${portOf(original)}, where mail is caught, belongs to another installation: first start the service with ROLE=web, which takes another port\n`,
  ])
  await service.stop()
})

/** Starts a worker on the data of other programs. */
async function workerOf({ dataDir }: Programs): Promise<Ended> {
  const worker = programs({ DATA_DIR: dataDir, ROLE: 'worker' })
  try {
    return await worker.run('../src/main')
  } finally {
    await worker.cleanUp()
  }
}

const portOf = ({ dataDir }: Programs) => readServiceFile(dataDir)?.catcher.port

async function send({ url }: Service, { table_id, record_ids, keys, smtp }: Seeded, subject: string): Promise<void> {
  const { status, body } = await call(url, '/api/email/send', {
    key: keys.account,
    body: {
      tableId: table_id,
      recordId: record_ids[0],
      smtpIntegrationId: smtp.id,
      fromIdentity: { email: 'hello@example.com' },
      to: ['ann@example.org'],
      subject,
      body: '<p>Hello</p>',
    },
  })
  expect([status, body.message]).toEqual([202, undefined])
}

const subjects = async ({ url }: Service): Promise<string[]> =>
  (await call(url, '/dev/mail.json')).body.map(({ subject }: { subject: string }) => subject)

const caught = (service: Service, subject: string) => expect.poll(() => subjects(service), { interval: 200 }).toContain(subject)
