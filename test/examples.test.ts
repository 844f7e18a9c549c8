/** Runs the programs of examples/ as their first lines say, against the service and the demo account of `npm start`. */
import { execFile, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readLogin } from '../src/demo/login.ts'
import { prepareData } from './support/prepared-data.ts'
import { call, programs, type Service } from './support/programs.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const root = fileURLToPath(new URL('..', import.meta.url))
const here = programs()
let service: Service
let environment: Record<string, string>

beforeAll(async () => {
  prepareData(here.dataDir)
  service = await here.start()
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  environment = { PATH, NODE_COMPILE_CACHE, GRIDPOST_URL: service.url, GRIDPOST_KEY: readLogin(here.dataDir)?.keys.account ?? '' }
})
afterAll(() => here.cleanUp())

async function run(name: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('node_modules/.bin/node', [`examples/${name}.ts`, ...args], { cwd: root, env: environment })
  return stdout.trimEnd().split('\n')
}

test('follow-ups creates one task on each contact of the view, however often it runs', async () => {
  const first = await run('follow-ups')
  expect(first.length).toBeGreaterThan(1)
  expect(first[0]).toMatch(/^\d{4}-\d\d-\d\d {2}Call .+ {2}\(task \d+, open\)$/)
  expect(await run('follow-ups')).toEqual(first)
})

test('send-mail waits until its mail has been sent', async () => {
  expect(await run('send-mail', '4', '2')).toEqual([expect.stringMatching(/^queued: "Our talk about (?!\{).+" to .+@.+$/), 'sent'])
})

test('copy-records prints every record of a table, over several pages', async () => {
  const ids = (await run('copy-records', '3')).map((line) => JSON.parse(line).id as number)
  const { body } = await call(service.url, '/api/table/3/records/count', { key: environment.GRIDPOST_KEY ?? '', body: {} })
  expect(body.total).toBeGreaterThan(1000)
  expect(new Set(ids).size).toBe(body.total)
  expect(ids).toHaveLength(body.total)
})

test('live-tasks prints a task that is created while it runs, and ends with Ctrl-C', async () => {
  const child = spawn('node_modules/.bin/node', ['examples/live-tasks.ts'], { cwd: root, env: environment })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  expect(await lines.next()).toEqual({ done: false, value: 'Listening' })
  await call(service.url, '/api/tasks/onRecord/4/3/create', { key: environment.GRIDPOST_KEY ?? '', body: { title: 'Seen at once' } })
  expect((await lines.next()).value).toMatch(/ {2}task\.created {2}Seen at once \(open\)$/)
  child.kill('SIGINT')
  expect(await lines.next()).toEqual({ done: true, value: undefined })
})

test('upload-file adds a file on disk to the field of a record', async () => {
  const lines = await run('upload-file', 'README.md')
  expect(lines.at(-1)).toMatch(new RegExp(`^README\\.md {2}${statSync('README.md').size} bytes {2}/api/file/\\d+-4-`))
  expect(await run('upload-file', 'LICENSE')).toEqual([...lines, expect.stringMatching(/^LICENSE {2}/)])
})
