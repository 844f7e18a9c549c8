/**
 * Reads openapi.json with the tools of other teams: Spectral and Redocly find no fault in it, orval and openapi-typescript take it without a
 * warning, and a caller that is written with the client of each compiles without a cast and runs. The tools have a package and a lock file
 * of their own in test/openapi.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { operations } from './support/operations.ts'

const run = promisify(execFile)
const document = fileURLToPath(new URL('../openapi.json', import.meta.url))
const tools = fileURLToPath(new URL('./openapi', import.meta.url))
/** Programs with the client of openapi-typescript, and with that of orval. */
const CALLERS = ['caller.ts', 'orval-caller.ts'] as const
const app = await testApp()
let folder: string
/** What each generator prints. */
const generated: Record<string, { stdout: string; stderr: string }> = {}
/** What the compiler says of all callers. */
let errors: string[]

/** Runs a program of the folder of tools, in a folder of this test. */
const tool = (name: string, args: string[]) =>
  run(process.execPath, [join(tools, 'node_modules', name), ...args], { cwd: folder, maxBuffer: 2 ** 26 })

beforeAll(async () => {
  await installTools()
  folder = await mkdtemp(join(tmpdir(), 'gridpost-openapi-'))
  await symlink(join(tools, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  generated.typescript = await tool('openapi-typescript/bin/cli.js', [document, '--output', 'schema.d.ts'])
  const output = { target: 'client.ts', client: 'fetch', mode: 'single', baseUrl: app.url }
  await writeFile(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify({ gridpost: { input: document, output } })}`)
  generated.orval = await tool('orval/dist/bin/orval.js', ['--config', 'orval.config.mjs'])
  const [caller = '', orval = ''] = await Promise.all(CALLERS.map((name) => readFile(join(tools, name), 'utf8')))
  const wrong = caller.replace("title: 'Call them'", 'titel: 1')
  errors = await compile({ 'examples.ts': await callsOfExamples(), 'caller.ts': caller, 'orval-caller.ts': orval, 'wrong.ts': wrong })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Installs what the lock file says, unless it is there already. */
async function installTools(): Promise<void> {
  const installed = join(tools, 'node_modules/.package-lock.json')
  // npm leaves out optional packages of other systems, such as fsevents of macOS.
  const versions = (path: string) => {
    const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, { version?: string; optional?: boolean }> }
    return Object.entries(packages).flatMap(([name, { version, optional }]) => (name && !optional ? [`${name} ${version}`] : []))
  }
  const isCurrent = existsSync(installed) && versions(join(tools, 'package-lock.json')).every((one) => versions(installed).includes(one))
  if (!isCurrent) await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: tools })
}

test('Spectral finds nothing, with all rules of spectral:oas and of OWASP that spectral.yaml does not argue against', async () => {
  const args = ['lint', document, '--ruleset', join(tools, 'spectral.yaml'), '--format', 'json', '--fail-severity', 'hint', '--quiet']
  const { stdout } = await tool('@stoplight/spectral-cli/dist/index.js', args).catch((error: { stdout: string }) => error)
  const findings = JSON.parse(stdout || '[]') as { code: string; path: string[]; message: string }[]
  expect(findings.map(({ code, path, message }) => `${code} ${path.join('.')}: ${message}`)).toEqual([])
})

test('Redocly finds nothing, with its recommended rules', async () => {
  const { stdout, stderr } = await run(process.execPath, ['--no-warnings', join(tools, 'redocly.ts'), document], { cwd: folder })
  expect(stdout + stderr).toBe('')
})

test('orval and openapi-typescript take the document without an error and a warning', () => {
  const { typescript, orval } = generated
  expect(typescript?.stdout + (typescript?.stderr ?? '')).toMatch(
    /^✨ openapi-typescript 7[.\d]+\n🚀 \S+ → schema\.d\.ts \[[\d.]+m?s\]\s*$/,
  )
  expect(orval?.stdout + (orval?.stderr ?? '')).toMatch(
    /^🍻 orval v7[^\n]+\n🎉 gridpost - Your OpenAPI spec has been converted into ready to use orval!\s*$/,
  )
})

test('the document says that a query is answered by rows, bare or in an envelope, or with `explain` by an explanation', async () => {
  const { paths } = JSON.parse(await readFile(document, 'utf8')) as { paths: Record<string, Record<string, Documented>> }
  const answer = paths['/api/table/{table_id}/records/query']?.post?.responses['200']?.content?.['application/json']
  expect(answer).toMatchObject({
    schema: {
      oneOf: [
        { type: 'array', items: { $ref: '#/components/schemas/RecordRow' } },
        { $ref: '#/components/schemas/RecordRowList' },
        { $ref: '#/components/schemas/QueryExplanation' },
      ],
    },
  })
})

test('every list in a request has a limit', async () => {
  const { paths, components } = JSON.parse(await readFile(document, 'utf8')) as {
    paths: Record<string, Record<string, Documented>>
    components: { schemas: Record<string, object> }
  }
  const unlimited: string[] = []
  const walk = (value: unknown, at: string): void => {
    if (value === null || typeof value !== 'object') return
    const { type, maxItems, $ref } = value as { type?: unknown; maxItems?: unknown; $ref?: string }
    if ([type].flat().includes('array') && typeof maxItems !== 'number') unlimited.push(at)
    // No schema of a request contains itself.
    if ($ref) walk(components.schemas[$ref.split('/').at(-1) ?? ''], at)
    for (const [key, inner] of Object.entries(value)) if (key !== 'example') walk(inner, `${at}.${key}`)
  }
  for (const [path, methods] of Object.entries(paths)) for (const { requestBody } of Object.values(methods)) walk(requestBody, path)
  expect(unlimited).toEqual([])
})

test('every operation can be called with its example, and every example of an answer is read, without a cast', () => {
  expect(errorsOutside(...CALLERS, 'client.ts', 'wrong.ts')).toEqual([])
})

test.each(CALLERS)('%s compiles without a cast, and its calls are answered', async (name) => {
  expect(errorsOutside('examples.ts', 'wrong.ts')).toEqual([])
  const account = await app.account()
  const { stdout } = await run(process.execPath, [name, account.keys.account, app.url], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual({
    updated: 'Harbour',
    records: ['Harbour'],
    explained: 'company = "Harbour"',
    count: 1,
    task: ['Call them', 'done'],
    comments: ['Called'],
    refused: { status: 404, code: 'NOT_FOUND' },
  })
})

test('a wrong call does not compile', () => {
  expect(errors.filter((line) => line.startsWith('wrong.ts(')).join('\n')).toContain('titel')
})

/** Compiles all callers at once, because the types of the document take most of the time. @returns the errors, one a line */
async function compile(sources: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(sources)) await writeFile(join(folder, name), text)
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024,dom,dom.iterable']
  // The types of the document are checked, and those of TypeScript's own library are not.
  const strict = [
    ...options,
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--skipDefaultLibCheck',
    '--allowImportingTsExtensions',
    '--pretty',
    'false',
  ]
  const { stdout } = await tool('typescript/bin/tsc', [...strict, ...Object.keys(sources)]).catch((error: { stdout: string }) => error)
  // The other lines explain the error above them.
  return stdout.split('\n').filter((line) => /error TS/.test(line))
}

/** The errors in none of these files: those of the document's own types count for every caller. */
const errorsOutside = (...files: string[]) => errors.filter((line) => !files.some((file) => line.startsWith(`${file}(`)))

interface Parameter {
  name: string
  in: string
  schema: { type?: string }
}

interface Documented {
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>
}

/** A program that calls each operation with the example of its body, and gives the example of its answer the type of the answer. */
async function callsOfExamples(): Promise<string> {
  const { paths, components } = JSON.parse(await readFile(document, 'utf8')) as {
    paths: Record<string, Record<string, Documented>>
    components: { parameters: Record<string, Parameter> }
  }
  const resolved = (one: Parameter | { $ref: string }) =>
    '$ref' in one ? (components.parameters[one.$ref.split('/').at(-1) ?? ''] as Parameter) : one
  const calls = operations.map(({ method, path, meta }) => {
    const documented = paths[path]?.[method.toLowerCase()] as Documented
    const inPath = (documented.parameters ?? []).map(resolved).filter((parameter) => parameter.in === 'path')
    const values = Object.fromEntries(inPath.map(({ name, schema }) => [name, schema.type === 'string' ? 'stage' : 1]))
    const body = documented.requestBody?.content['application/json']?.example
    const init = { ...(inPath.length && { params: { path: values } }), ...(body !== undefined && { body }) }
    const status = meta.status ?? 200
    const answer = documented.responses[status]?.content?.['application/json']?.example
    const type = `paths['${path}']['${method.toLowerCase()}']['responses'][${status}]['content']['application/json']`
    return `  await client.${method}('${path}', ${JSON.stringify(init)})\n  ;(${JSON.stringify(answer)}) satisfies ${type}`
  })
  return `import createClient from 'openapi-fetch'\nimport type { paths } from './schema.js'\nconst client = createClient<paths>({ baseUrl: '' })\nexport async function callAll() {\n${calls.join('\n')}\n}\n`
}
