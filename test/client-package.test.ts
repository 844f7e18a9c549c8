/** Tests the client as its users get it: packed, installed in an empty folder, compiled against, and run. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testApp } from './support/app.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const app = await testApp()
let folder: string
let packed: string[]

const CALLER = `import { TRPCClientError } from '@trpc/client'
import { type AppRouter, type Client, createClient } from 'gridpost-client'

declare const process: { argv: string[] }
const [baseUrl = '', apiKey = ''] = process.argv.slice(2)
const client: Client = createClient({ baseUrl, apiKey })
const space = await client.spaces.create.mutate({ name: 'Made by the package' })
const table = await client.tables.create.mutate({ space_id: space.id, name: 'Deals', fields: [{ name: 'Name', type: 'text' }] })
const record = await client.records.create.mutate({ table_id: table.id, data: { name: 'Harbour' } })
const task = await client.tasks.createOnRecord.mutate(
  { table_id: table.id, record_id: record.id, title: 'Call them' },
  { context: { idempotencyKey: 'once' } },
)
const title: string = task.title
const { rows } = await client.records.query.query({ table_id: table.id, filters: [{ column: 'name', compare: '=', value: 'Harbour' }] })
const [{ filter = { all: [] }, order } = {}] = (await client.views.list.query({ table_id: table.id })).rows
const { rows: narrowed } = await client.records.query.query({ table_id: table.id, filter, order })
const { promise: heard, resolve: hear } = Promise.withResolvers<number | undefined>()
const subscription = client.events.subscribe(
  {},
  {
    onData: ({ data: event }) => {
      if (event.type === 'ready') void client.tasks.markDone.mutate({ task_id: task.id })
      if (event.type === 'task.done') hear(event.task_id)
    },
  },
)
const isHeard = (await heard) === task.id
subscription.unsubscribe()
const error = await client.tasks.get.query({ task_id: 987_654 }).catch((thrown: TRPCClientError<AppRouter>) => thrown.data)
console.log(JSON.stringify({ space: space.name, title, rows: [...rows, ...narrowed].map(({ name }) => name), isHeard, error }))
`

const HEAD = "import { createClient } from 'gridpost-client'\nconst client = createClient({ baseUrl: 'http://localhost' })\n"
const MISTAKES: Record<string, string> = {
  'an input of the wrong type': "await client.tasks.get.query({ task_id: 'one' })",
  'an input that lacks a key': 'await client.tasks.createOnRecord.mutate({ table_id: 1, record_id: 1 })',
  'an input with an unknown key': "await client.spaces.create.mutate({ name: 'a', nam: 'b' })",
  'an output taken for another type': 'const id: string = (await client.tasks.get.query({ task_id: 1 })).id',
  'an unknown output key': 'const { titel } = await client.tasks.get.query({ task_id: 1 })',
  'a group of a view taken for another':
    "const v = await client.views.get.query({ table_id: 1, view_id: 1 }); if (v.filter && 'all' in v.filter) v.filter.any",
  'an unknown procedure': 'await client.tasks.nothing.query()',
  'an unknown type of event': "client.events.subscribe({}, { onData: ({ data }) => console.log(data.type === 'task.lost') })",
  'a query called as a mutation': 'await client.tasks.get.mutate({ task_id: 1 })',
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridpost-caller-'))
  await run(process.execPath, [join(root, 'scripts/build-client.ts')], { cwd: root })
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, join(root, 'dist/client')], { cwd: folder })
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  packed = files.map(({ path }) => path).sort()
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--omit=peer', join(folder, filename)], { cwd: folder })
}, 120_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Compiles files in the caller's folder with the strictest options, and returns the errors, one per line. */
async function compile(sources: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(sources)) await writeFile(join(folder, name), text)
  const options = ['--strict', '--target', 'ES2022', '--module', 'NodeNext', '--lib', 'ESNext,DOM', '--types', '', '--ignoreConfig']
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return run(process.execPath, [tsc, ...options, ...Object.keys(sources)], { cwd: folder }).then(
    () => [],
    (error: { stdout: string }) => error.stdout.split('\n').filter((line) => line.includes('error TS')),
  )
}

describe('the client package', () => {
  it('contains the client and its types, and nothing of the server', async () => {
    expect(packed).toEqual(['README.md', 'client.d.ts', 'client.js', 'events/event-source.js', 'package.json', 'router.d.ts'])
    const inside = join(folder, 'node_modules/gridpost-client')
    const modules = (text: string) => [...new Set([...text.matchAll(/from '([^']+)'/g)].map(([, module]) => module))].sort()
    expect(modules(await readFile(join(inside, 'client.js'), 'utf8'))).toEqual(['./events/event-source.js', '@trpc/client'])
    expect(modules(await readFile(join(inside, 'events/event-source.js'), 'utf8'))).toEqual([])
    const types = await readFile(join(inside, 'router.d.ts'), 'utf8')
    expect(modules(types)).toEqual(['@trpc/server', '@trpc/server/rpc', '@trpc/server/unstable-core-do-not-import'])
    expect(types).not.toMatch(/import\(|typeof |[Pp]risma|fastify|\bzod\b/)
    expect((await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.')).sort()).toEqual([
      '@trpc',
      'gridpost-client',
    ])
  })

  it('has a real type for every input and output', async () => {
    expect(await readFile(join(folder, 'node_modules/gridpost-client/router.d.ts'), 'utf8')).not.toMatch(/(input|output): (any|unknown)\b/)
  })

  it('does not compile input that the service refuses, and names the line', async () => {
    const fileOf = (name: string) => `${name.replaceAll(' ', '-')}.ts`
    const errors = await compile(Object.fromEntries(Object.entries(MISTAKES).map(([name, line]) => [fileOf(name), `${HEAD}${line}\n`])))
    for (const name of Object.keys(MISTAKES))
      expect(
        errors.filter((error) => error.startsWith(`${fileOf(name)}(3,`)),
        name,
      ).toHaveLength(1)
    expect(errors.filter((error) => !error.includes('.ts(3,'))).toEqual([])
  })

  it('compiles correct code, and calls the running service', async () => {
    expect(await compile({ 'caller.ts': CALLER })).toEqual([])
    const { keys } = await app.account()
    const { stdout } = await run(process.execPath, [join(folder, 'caller.js'), app.url, keys.account], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({
      space: 'Made by the package',
      title: 'Call them',
      rows: ['Harbour', 'Harbour'],
      isHeard: true,
      error: { message: 'Task not found', code: 'NOT_FOUND', httpStatus: 404, request_id: expect.stringMatching(/^req-/) },
    })
  })
})
