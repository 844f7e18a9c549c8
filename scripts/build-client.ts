/**
 * Builds generated/client, the package of src/client.ts that a service serves as /client.tgz: JavaScript, and declarations without the server
 * behind them. It is in git, because a production installation has no compiler. An argument names another folder; `--check` only reports
 * whether the folder is up to date.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { SourceFile } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { flatTypes } from './client-types.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values: options, positionals } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true })
const target = positionals[0] ?? join(root, 'generated/client')

/** What the package begins with. The files that they import are in it, too. */
const MODULE = 'client.js'
const PROGRAM = 'records/client/command-line.js'
const TYPES = 'client.d.ts'
/** The router's declarations are written anew, without the server behind them. */
const ROUTER = 'router.d.ts'

const README = `# The client of Gridpost

\`\`\`ts
import { createClient } from 'gridpost-client'

const client = createClient({ baseUrl: 'https://gridpost.example.com', apiKey: process.env.GRIDPOST_KEY })
const { rows } = await client.spaces.list.query()
\`\`\`

With the types of your tables, records, filters and views are checked, too:

\`\`\`sh
npx gridpost-client types --url https://gridpost.example.com --key gp_… > gridpost.d.ts
\`\`\`

\`\`\`ts
import type { Schema } from './gridpost.d.ts'

const client = createClient<Schema>({ baseUrl: 'https://gridpost.example.com', apiKey: process.env.GRIDPOST_KEY })
\`\`\`

\`client.events.subscribe({}, { onData: ({ data }) => … })\` tells what happens, and goes on by itself after a dropped connection.

\`client.upload\` sends a file as the body of a PUT, so it takes what calls of procedures, with at most 4 MB, cannot. It is named after the
procedure, and has its input and output:

\`\`\`ts
const { rows } = await client.upload('files.create', { table_id: 4, record_id: 1, field_id: 'documents' }, input.files[0], {
  onProgress: ({ sent, total }) => { bar.value = sent / total },
  signal: controller.signal,
})
const file = await client.upload('comments.upload', { table_id: 4, record_id: 1 }, { name: 'offer.pdf', content: createReadStream('offer.pdf') })
\`\`\`

A file is the \`File\` of a browser, or \`{ name, type?, content, size? }\` with a Blob, bytes or a stream; \`size\` is that of a stream, if it is
known. The uploads are \`files.create\`, \`comments.upload\`, \`tasks.upload\`, \`tasks.comments.upload\`, \`tasks.stage\` and \`tasks.stageOnRecord\`.

\`client.importCsv({ table_id: 4 }, file)\` and \`client.importTable({ space_id: 1 }, file)\` take CSV, as a text or a file, and the second XLSX, too.
\`exportCsv\`, \`exportAudit\`, \`exportUser\`, \`downloadFile\`, \`downloadMail\` and \`downloadRaw\` answer with a \`Response\`, whose body is the file.

The \`context\` of a call has what is its own: an \`idempotencyKey\`; the \`version\` that it may change as \`ifMatch\`; or \`alone: true\`, so that it is
no part of the request that calls made at the same time share.

In a browser leave \`apiKey\` out: the cookie of the session is sent. Errors are \`TRPCClientError\`, with the body of the REST error
(\`message\`, \`code\`, \`issues\`, \`request_id\`) in \`error.data\`. Types need TypeScript 5.7 or newer, with \`strict\`.
`

const emitted = mkdtempSync(join(tmpdir(), 'gridpost-client-'))
try {
  emit()
  const files = packageFiles()
  if (options.check) compare(files)
  else replace(files)
} finally {
  rmSync(emitted, { recursive: true, force: true })
}

function packageFiles(): Map<string, string> {
  const files = new Map([
    ...withImports([MODULE, PROGRAM]),
    ...withImports([TYPES]),
    [ROUTER, flattened()] as const,
    ['README.md', README] as const,
  ])
  return files.set('package.json', `${JSON.stringify(manifest([...files.keys()]), null, 2)}\n`)
}

function replace(files: ReadonlyMap<string, string>): void {
  rmSync(target, { recursive: true, force: true })
  for (const [path, text] of files) {
    mkdirSync(join(target, dirname(path)), { recursive: true })
    writeFileSync(join(target, path), text)
  }
  // npm makes a linked program executable, which git would take for a change.
  chmodSync(join(target, PROGRAM), 0o755)
  console.log(`Wrote ${target}`)
}

function compare(files: ReadonlyMap<string, string>): void {
  const present = new Set(globSync('**/*.*', { cwd: target }))
  const different = [...files].filter(([path, text]) => !present.delete(path) || readFileSync(join(target, path), 'utf8') !== text)
  const paths = [...different.map(([path]) => path), ...present]
  if (!paths.length) return
  console.error(`${target} is out of date: run \`npm run build:client\` and commit it (${paths.join(', ')})`)
  process.exitCode = 1
}

/** The emitted files at the paths, and those that they import. */
function withImports(paths: readonly string[]): Map<string, string> {
  const files = new Map<string, string>()
  const waiting = [...paths]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path) || path === ROUTER) continue
    // The compiler rewrites the endings of imports only in JavaScript.
    const text = readFileSync(join(emitted, 'src', path), 'utf8').replaceAll(/(['"])(\.[^'"]+)\.ts\1/g, '$1$2.js$1')
    files.set(path, text)
    waiting.push(...importedBy(path, text))
  }
  return files
}

/** @throws Error for a package that callers do not have */
function importedBy(path: string, text: string): string[] {
  const modules = [...text.matchAll(/\b(?:from |import |import\()['"]([^'"]+)['"]/g)].map(([, module = '']) => module)
  const unknown = modules.find((module) => !/^(\.|node:|@trpc\/(client|server)(\/|$))/.test(module))
  if (unknown) throw new Error(`${path} imports ${unknown}, which callers do not have`)
  const own = modules.filter((module) => module.startsWith('.')).map((module) => posix.join(dirname(path), module))
  return path.endsWith('.d.ts') ? own.map((module) => module.replace(/\.js$/, '.d.ts')) : own
}

/** Compiles the whole server; everything but the client's own files stays in the scratch folder. */
function emit(): void {
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: root,
      outDir: emitted,
      typeRoots: [join(root, 'node_modules/@types')],
    },
    // All of them, because some files extend the types of a library for others.
    include: [join(root, 'src')],
  }
  const path = join(emitted, 'tsconfig.json')
  writeFileSync(path, JSON.stringify(config))
  // Several threads take twice the CPU time (check.ts).
  const compiler = [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded', '-p', path]
  const { status } = spawnSync(process.execPath, compiler, { stdio: 'inherit' })
  if (status !== 0) throw new Error('The sources do not compile')
}

function flattened(): string {
  const config = join(emitted, 'declarations.json')
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { noLib: true, noResolve: true, noEmit: true, types: [] }, include: ['src/**/*.d.ts'] }),
  )
  const api = new API({ cwd: emitted })
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    const parse = (path: string): SourceFile => {
      const file = project?.program.getSourceFile(join(emitted, path.replace(/\.ts$/, '.d.ts')))
      if (!file) throw new Error(`${path} has no declarations`)
      return file
    }
    return flatTypes(parse, { path: 'src/router.ts', variable: 'appRouter' })
  } finally {
    api.close()
  }
}

function manifest(files: string[]): object {
  const { version, license, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    name: 'gridpost-client',
    version,
    description: 'The typed client of a Gridpost service.',
    license,
    type: 'module',
    bin: { 'gridpost-client': PROGRAM },
    exports: { '.': { types: `./${TYPES}`, default: `./${MODULE}` } },
    sideEffects: false,
    files: files.filter((path) => path !== 'README.md').sort(),
    // tRPC requires the same version of both packages. Of the server package, only types are used.
    dependencies: { '@trpc/client': dependencies['@trpc/client'], '@trpc/server': dependencies['@trpc/server'] },
  }
}
