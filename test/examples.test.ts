/**
 * Runs the programs of examples/ as their first lines say, against the service and the demo account of `npm start`: copied to an empty folder,
 * with the client that the service of a production installation serves.
 */
import { execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readLogin } from '../src/demo/login.ts'
import { prepareData } from './support/prepared-data.ts'
import { installForProduction } from './support/production.ts'
import { call, programs, type Service } from './support/programs.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const NODE = join(root, 'node_modules/.bin/node')
const production = installForProduction()
const here = programs({}, production)
const folder = await mkdtemp(join(tmpdir(), 'gridpost-examples-'))
const inFolder = (file: string, args: string[], env: Record<string, string>) => promisify(execFile)(file, args, { cwd: folder, env })
const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
const variables = { PATH, HOME, NODE_COMPILE_CACHE }
let service: Service
let environment: Record<string, string>

beforeAll(async () => {
  prepareData(here.dataDir)
  service = await here.start()
  environment = { ...variables, GRIDPOST_URL: service.url, GRIDPOST_KEY: readLogin(here.dataDir)?.keys.account ?? '' }
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  // Without `--prefer-offline`, which takes what another package at the same port left in npm's cache.
  await promisify(execFile)('npm', ['install', '--omit=peer', '--no-audit', '--no-fund', `${service.url}/client.tgz`], { cwd: folder })
  await cp(join(root, 'examples'), folder, { recursive: true })
  for (const name of ['README.md', 'LICENSE']) await cp(join(root, name), join(folder, name))
})
afterAll(async () => {
  await here.cleanUp()
  for (const path of [production, folder]) await rm(path, { recursive: true, force: true })
})

async function run(name: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await inFolder(NODE, [`${name}.ts`, ...args], environment)
  return stdout.trimEnd().split('\n')
}

test('the package is that of the release, and depends on nothing of the service', async () => {
  const { version, dependencies } = JSON.parse(await readFile(join(folder, 'node_modules/gridpost-client/package.json'), 'utf8'))
  expect(version).toBe(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version)
  expect(Object.keys(dependencies)).toEqual(['@trpc/client', '@trpc/server'])
  const { dependencies: saved } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  expect(saved).toEqual({ 'gridpost-client': `${service.url}/client.tgz` })
})

test('the examples compile with it, with the strictest options', async () => {
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--noEmit', '--ignoreConfig']
  const examples = (await readdir(join(root, 'examples'))).filter((name) => name.endsWith('.ts'))
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded', '--target', 'ES2024', '--module', 'NodeNext']
  expect(await inFolder(process.execPath, [...tsc, ...strict, ...types, ...examples], variables)).toMatchObject({ stdout: '' })
  expect(examples.length).toBeGreaterThan(4)
})

test('its command writes the types of the tables', async () => {
  const { stdout } = await inFolder(
    'npx',
    ['gridpost-client', 'types', '--url', service.url, '--key', environment.GRIDPOST_KEY ?? ''],
    variables,
  )
  expect(stdout).toMatch(/export interface Schema/)
})

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
  const child = spawn(NODE, ['live-tasks.ts'], { cwd: folder, env: environment })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  expect(await lines.next()).toEqual({ done: false, value: 'Listening' })
  await call(service.url, '/api/tasks/onRecord/4/3/create', { key: environment.GRIDPOST_KEY ?? '', body: { title: 'Seen at once' } })
  expect((await lines.next()).value).toMatch(/ {2}task\.created {2}Seen at once \(open\)$/)
  child.kill('SIGINT')
  expect(await lines.next()).toEqual({ done: true, value: undefined })
})

test('upload-file adds a file on disk to the field of a record', async () => {
  const lines = await run('upload-file', 'README.md')
  expect(lines.at(-1)).toMatch(new RegExp(`^README\\.md {2}${(await stat(join(root, 'README.md'))).size} bytes {2}/api/file/\\d+-4-`))
  expect(await run('upload-file', 'LICENSE')).toEqual([...lines, expect.stringMatching(/^LICENSE {2}/)])
})
