/** A copy of the repository, as an installation leaves it: what starts, and what its log names. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ServiceProcess, serviceProcess } from '../scripts/chaos/service-process.ts'
import { testDatabase } from './support/database.ts'

const root = join(import.meta.dirname, '..')
const HEALTH = 'src/platform/http/health.ts'
let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'gridpost-bundle-'))
  for (const part of ['package.json', 'package-lock.json', 'openapi.json', 'prisma', 'generated', 'scripts', 'src'])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  mkdirSync(join(copy, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
  failAt('a fault of the bundle')
  makeBundle()
})

afterAll(() => rmSync(copy, { recursive: true }))

const makeBundle = () => execFileSync(process.execPath, [join(copy, 'scripts/bundle.ts')], { encoding: 'utf8', stdio: 'pipe' })

/** Makes /healthz fail. */
function failAt(message: string): void {
  const source = readFileSync(join(root, HEALTH), 'utf8')
  const failing = source.replace(
    "'/healthz', { config }, async () => ({ ok: true })",
    `'/healthz', { config }, async () => { throw new Error('${message}') }`,
  )
  expect(failing).not.toBe(source)
  writeFileSync(join(copy, HEALTH), failing)
}

const lineOf = (text: string) =>
  readFileSync(join(copy, HEALTH), 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1

/** Starts the copy and asks for its health. @returns the fault that it logs */
async function faultOfCopy(): Promise<{ message: string; stack: string }> {
  const service: ServiceProcess = await serviceProcess({
    ...{ name: 'copy', role: 'web', logDir: copy, root: copy },
    environment: {
      DATABASE_URL: (await testDatabase()).url,
      DATA_DIR: join(copy, 'data'),
      SECRET_KEY: 'a key for tests, long enough to be one',
    },
  })
  await service.start()
  expect((await fetch(`${service.url}/healthz`)).status).toBe(500)
  await service.stop()
  expect(service.faults()).toHaveLength(1)
  return JSON.parse(service.faults()[0] ?? '').err
}

test('starts without the files of the packages that it contains, and a fault is logged with its place in the source', async () => {
  rmSync(join(copy, 'node_modules/fastify'))
  const { message, stack } = await faultOfCopy()
  expect(message).toBe('a fault of the bundle')
  expect(stack).toContain(`/${HEALTH}:${lineOf(message)})`)
  symlinkSync(join(root, 'node_modules/fastify'), join(copy, 'node_modules/fastify'))
})

test('is not used any more once a source was edited', async () => {
  failAt('a fault of the edited source')
  expect((await faultOfCopy()).message).toBe('a fault of the edited source')
})

test('is refused for a source that asks for its place in a way that would name the bundle', () => {
  writeFileSync(join(copy, HEALTH), `${readFileSync(join(root, HEALTH), 'utf8')}export const here = import.meta.filename\n`)
  expect(makeBundle).toThrow(`${HEALTH}: the bundle does not know import.meta.filename`)
})
