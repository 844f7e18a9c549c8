/** Builds dist/client, an installable package of src/client.ts: JavaScript, and declarations without the server behind them. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SourceFile } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { flatTypes } from './client-types.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = join(root, 'dist/client')

const SCRIPTS = ['client.js', 'events/event-source.js', 'files/client/upload-request.js']
/** The router's declarations are written anew, without the server behind them. */
const DECLARATIONS = ['client.d.ts', 'files/client/upload-request.d.ts']

const README = `# The client of Gridpost

\`\`\`ts
import { createClient } from 'gridpost-client'

const client = createClient({ baseUrl: 'https://gridpost.example.com', apiKey: process.env.GRIDPOST_KEY })
const { rows } = await client.spaces.list.query()
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

In a browser leave \`apiKey\` out: the cookie of the session is sent. Errors are \`TRPCClientError\`, with the body of the REST error
(\`message\`, \`code\`, \`issues\`, \`request_id\`) in \`error.data\`. Types need TypeScript 5.7 or newer, with \`strict\`.
`

const emitted = mkdtempSync(join(tmpdir(), 'gridpost-client-'))
try {
  emit()
  const types = flattened()
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const script of SCRIPTS) cpSync(join(emitted, 'src', script), join(target, script))
  // The compiler rewrites the endings of imports only in JavaScript.
  for (const path of DECLARATIONS) write(path, readFileSync(join(emitted, 'src', path), 'utf8').replaceAll(/'(\.[^']+)\.ts'/g, "'$1.js'"))
  write('router.d.ts', types)
  write('package.json', `${JSON.stringify(manifest(), null, 2)}\n`)
  write('README.md', README)
  console.log('Wrote dist/client: npm pack it, or install it from there.')
} finally {
  rmSync(emitted, { recursive: true, force: true })
}

function write(name: string, text: string): void {
  writeFileSync(join(target, name), text)
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

function manifest(): object {
  const { version, license, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    name: 'gridpost-client',
    version,
    description: 'The typed client of a Gridpost service.',
    license,
    type: 'module',
    exports: { '.': { types: './client.d.ts', default: './client.js' } },
    sideEffects: false,
    files: [...SCRIPTS, ...DECLARATIONS, 'router.d.ts'],
    // tRPC requires the same version of both packages. Of the server package, only types are used.
    dependencies: { '@trpc/client': dependencies['@trpc/client'], '@trpc/server': dependencies['@trpc/server'] },
  }
}
