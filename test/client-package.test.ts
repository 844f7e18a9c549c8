/** Tests the client as its users get it: packed, installed in an empty folder, compiled against, and run. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser } from './support/browser.ts'
import { type Installed, installClient } from './support/client-package.ts'

const run = promisify(execFile)
const app = await testApp()
let installed: Installed

const CALLER = `import { TRPCClientError } from '@trpc/client'
import { type AppRouter, type Client, createClient } from 'gridpost-client'

declare const process: { argv: string[] }
const [baseUrl = '', apiKey = ''] = process.argv.slice(2)
const client: Client = createClient({ baseUrl, apiKey })
const space = await client.spaces.create.mutate({ name: 'Made by the package' })
const fields = [{ name: 'Name', type: 'text' as const }, { name: 'Documents', type: 'file' as const }]
const table = await client.tables.create.mutate({ space_id: space.id, name: 'Deals', fields })
const record = await client.records.create.mutate({ table_id: table.id, data: { name: 'Harbour' } })
const task = await client.tasks.createOnRecord.mutate(
  { table_id: table.id, record_id: record.id, title: 'Call them' },
  { context: { idempotencyKey: 'once' } },
)
const title: string = task.title
const { rows } = await client.records.query.query({ table_id: table.id, filters: [{ column: 'name', compare: '=', value: 'Harbour' }] })
const [{ filter = { all: [] }, order } = {}] = (await client.views.list.query({ table_id: table.id })).rows
const { rows: narrowed } = await client.records.query.query({ table_id: table.id, filter, order })
const { rows: listed } = await client.tasks.listOnRecord.query({
  table_id: table.id,
  record_id: record.id,
  updated_since: '2026-01-01 00:00:00',
  include: ['context'],
})
const listedTitles = listed.map((row) => (row.deleted_at ? String(row.id) : [row.title, row.record_title].join(' of ')))
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
const place = { table_id: table.id, record_id: record.id }
const steps: number[] = []
const { rows: files } = await client.upload(
  'files.create',
  { ...place, field_id: 'documents' },
  { name: 'a.bin', content: new Uint8Array(5_000_000) },
  { onProgress: ({ sent }) => steps.push(sent) },
)
const file = await client.upload('comments.upload', place, new File(['hello'], 'ä.txt', { type: 'text/plain; charset=utf-8' }))
const uploaded: [string, number, string][] = [...files, file].map(({ name, size, type }) => [name, size, type])
const refused = await client
  .upload('tasks.upload', { task_id: task.id }, { name: 'a', content: new Blob([]) })
  .catch((thrown: TRPCClientError<AppRouter>) => thrown.data?.code)
const imported = await client.importCsv({ table_id: table.id }, 'Name\\nBay\\n')
const exported = (await (await client.exportCsv({ table_id: table.id })).text()).split('\\r\\n').length
const downloaded = await (await client.downloadFile({ path: file.path })).text()
const error = await client.tasks.get.query({ task_id: 987_654 }).catch((thrown: TRPCClientError<AppRouter>) => thrown.data)
console.log(JSON.stringify({ space: space.name, title, listedTitles, rows: [...rows, ...narrowed].map(({ name }) => name), isHeard, imported, exported, downloaded, error, uploaded, sent: steps.at(-1), refused }))
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
  'an upload of an unknown name': "await client.upload('files.delete', { table_id: 1, record_id: 1 }, new File([], 'a'))",
  'an upload that lacks its place': "await client.upload('tasks.comments.upload', {}, new File([], 'a'))",
  'an upload without a name': "await client.upload('tasks.stage', {}, new Blob([]))",
  'an upload taken for another':
    "const { staged_token } = await client.upload('tasks.upload', { task_id: 1 }, new File([], 'a')); staged_token",
  'a deleted task where none was asked for': 'console.log((await client.tasks.list.query({})).rows[0]?.deleted_at)',
  'a title of a task that may be deleted': "console.log((await client.tasks.list.query({ updated_since: '2026-01-01' })).rows[0]?.title)",
  'a name in the context where it was not asked for':
    'console.log((await client.tasks.listOnRecord.query({ table_id: 1, record_id: 1 })).rows[0]?.table_name)',
  'a started import taken for a finished one': "const { created } = await client.importCsv({ table_id: 1, async: true }, ''); created",
  'an import without its table': "await client.importCsv({}, 'Name')",
  'a thumbnail of a width that is not made': "await client.downloadFile({ path: 'a', w: 100 })",
  'a query called as a mutation': 'await client.tasks.get.mutate({ task_id: 1 })',
}

beforeAll(async () => {
  installed = await installClient()
})

afterAll(() => installed?.remove())

describe('the client package', () => {
  test('contains the client and its types, and nothing of the server', async () => {
    const both = (name: string) => [`${name}.d.ts`, `${name}.js`]
    const command = ['command-line.js', 'declarations.js', 'exact-numbers.js', 'stale-schema.js', 'table-types.d.ts', 'typed-calls.d.ts']
    expect(installed.packed).toEqual([
      ...['README.md', ...both('client'), ...both('csv/csv-requests'), 'events/event-source.js'],
      ...[...both('files/client/rest-call'), ...both('files/client/upload-request'), 'package.json'],
      ...[...command, 'types-command.js'].map((name) => `records/client/${name}`),
      'router.d.ts',
      'tasks/lists/listed-tasks.d.ts',
    ])
    const inside = join(installed.folder, 'node_modules/gridpost-client')
    const modules = (text: string) => [...new Set([...text.matchAll(/from '([^']+)'/g)].map(([, module]) => module))].sort()
    expect(modules(await readFile(join(inside, 'client.js'), 'utf8'))).toEqual([
      './csv/csv-requests.js',
      './events/event-source.js',
      './files/client/rest-call.js',
      './files/client/upload-request.js',
      './records/client/exact-numbers.js',
      './records/client/stale-schema.js',
      '@trpc/client',
    ])
    expect(modules(await readFile(join(inside, 'events/event-source.js'), 'utf8'))).toEqual([])
    const types = await readFile(join(inside, 'router.d.ts'), 'utf8')
    expect(modules(types)).toEqual(['@trpc/server', '@trpc/server/rpc', '@trpc/server/unstable-core-do-not-import'])
    expect(types).not.toMatch(/import\(|typeof |[Pp]risma|fastify|\bzod\b/)
    expect((await readdir(join(installed.folder, 'node_modules'))).filter((name) => !name.startsWith('.')).sort()).toEqual([
      '@trpc',
      'gridpost-client',
    ])
  })

  test('has a real type for every input and output', async () => {
    expect(await readFile(join(installed.folder, 'node_modules/gridpost-client/router.d.ts'), 'utf8')).not.toMatch(
      /(input|output): (any|unknown)\b/,
    )
  })

  test('does not compile input that the service refuses, and names the line', async () => {
    const fileOf = (name: string) => `${name.replaceAll(' ', '-')}.ts`
    const errors = await installed.compile(
      Object.fromEntries(Object.entries(MISTAKES).map(([name, line]) => [fileOf(name), `${HEAD}${line}\n`])),
    )
    for (const name of Object.keys(MISTAKES))
      expect(
        errors.filter((error) => error.startsWith(`${fileOf(name)}(3,`)),
        name,
      ).toHaveLength(1)
    expect(errors.filter((error) => !error.includes('.ts(3,'))).toEqual([])
  })

  test('compiles correct code, and calls the running service', async () => {
    expect(await installed.compile({ 'caller.ts': CALLER })).toEqual([])
    const { keys } = await app.account()
    const { stdout } = await run(process.execPath, [join(installed.folder, 'caller.js'), app.url, keys.account], { cwd: installed.folder })
    expect(JSON.parse(stdout)).toEqual({
      space: 'Made by the package',
      title: 'Call them',
      listedTitles: ['Call them of Harbour'],
      rows: ['Harbour', 'Harbour'],
      isHeard: true,
      imported: { created: 1, change_id: expect.any(Number) },
      exported: 4,
      downloaded: 'hello',
      uploaded: [
        ['a.bin', 5_000_000, 'application/octet-stream'],
        ['ä.txt', 5, 'text/plain; charset=utf-8'],
      ],
      sent: 5_000_000,
      refused: 'FORBIDDEN',
      error: { message: 'Task not found', code: 'NOT_FOUND', httpStatus: 404, request_id: expect.stringMatching(/^req-/) },
    })
  })
})

const BROWSER_CALLER = `import { createClient } from 'gridpost-client'

const client = createClient({ baseUrl: origin })
const told = (call) => call.then(() => 'no error', ({ data, cause, message }) => data?.code ?? cause?.name ?? message)
globalThis.run = async (task_id) => {
  const upload = (file, options) => client.upload('tasks.upload', { task_id }, file, options)
  const [file] = document.querySelector('input').files
  const steps = []
  const watched = await upload(file, { onProgress: (step) => steps.push(step) })
  const unwatched = await upload({ name: 'b.txt', content: new Blob(['hello']).stream() })
  const ending = new AbortController()
  const aborted = [
    await told(upload(file, { onProgress: () => ending.abort(), signal: ending.signal })),
    await told(upload(file, { signal: ending.signal })),
  ]
  const refused = [
    await told(client.upload('tasks.upload', { task_id: 987654 }, file, { onProgress: () => {} })),
    await told(upload({ name: '..', content: new Blob(['x']) })),
  ]
  return { watched, unwatched: [unwatched.name, unwatched.size], steps, aborted, refused }
}
`

describe.skipIf(isBrowserMissing)(browserTitle('the client package in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
    // The packages as npm installed them, at addresses of the service.
    await browser.context.route('**/modules/**', async (route) => {
      const path = join(installed.folder, 'node_modules', new URL(route.request().url()).pathname.replace('/modules/', ''))
      await route.fulfill({ contentType: 'text/javascript', body: await readFile(path) })
    })
    const imports = { 'gridpost-client': '/modules/gridpost-client/client.js', ...(await trpcModules()) }
    const page = `<script type="importmap">${JSON.stringify({ imports })}</script><script type="module">${BROWSER_CALLER}</script><input type="file">`
    await browser.context.route('**/page', (route) => route.fulfill({ contentType: 'text/html', body: page }))
  })
  afterAll(() => browser?.close())

  /** The modules of tRPC's packages that a browser imports, by their names in the sources. */
  async function trpcModules(): Promise<Record<string, string>> {
    const modules: Record<string, string> = {}
    for (const name of ['@trpc/client', '@trpc/server']) {
      const { exports } = JSON.parse(await readFile(join(installed.folder, 'node_modules', name, 'package.json'), 'utf8')) as {
        exports: Record<string, { import?: { default?: string } }>
      }
      for (const [path, { import: source }] of Object.entries(exports))
        if (source?.default) modules[join(name, path)] = `/modules/${join(name, source.default)}`
    }
    return modules
  }

  test('uploads the file of an input with its progress, aborts, and tells errors', async () => {
    const { member, space } = await app.account()
    const as = app.as(member)
    const { body: task } = await as.post('/api/tasks/create', { title: `Call ${space}` })
    await browser.context.addCookies([{ name: 'gridpost_session', value: member.session, url: app.url }])
    const tab = await browser.context.newPage()
    await tab.goto(`${app.url}/page`)
    await tab.setInputFiles('input', { name: 'Ängebot 見.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(8_000_000, 'x') })
    const seen = (await tab.evaluate(`run(${task.id})`)) as Record<string, unknown>
    const path = expect.stringMatching(/^task-/)
    expect(seen.watched).toEqual({ name: 'Ängebot 見.pdf', path, size: 8_000_000, type: 'application/pdf', host: 'local' })
    expect((seen.steps as object[]).at(-1)).toEqual({ sent: 8_000_000, total: 8_000_000 })
    expect(seen.unwatched).toEqual(['b.txt', 5])
    expect(seen.aborted).toEqual(['AbortError', 'AbortError'])
    expect(seen.refused).toEqual(['NOT_FOUND', 'BAD_REQUEST'])
  })
})
