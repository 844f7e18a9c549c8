/** Runs what the README shows to newcomers, from the start to their first record, against the service and the demo data of `npm start`. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loginFile, readLogin } from '../src/demo/login.ts'
import { prepareData } from './support/prepared-data.ts'
import { programs, type Service } from './support/programs.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({ language, code }))
const blockWith = (part: string) => blocks.find(({ code }) => code.includes(part))?.code ?? expect.unreachable(`no block has ${part}`)

const start = blockWith('npm start')
const byCurl = blockWith('api() {')
const byClient = blockWith('gridpost-client types')
const program = blockWith('createClient<Schema>')
const last = blockWith('hello.mts\n')

const here = programs()
let service: Service
/** The folder in which the README is read: its clone is the folder `gridpost` there. */
let folder: string

beforeAll(async () => {
  prepareData(here.dataDir)
  service = await here.start()
  folder = mkdtempSync(join(tmpdir(), 'gridpost-readme-'))
  mkdirSync(join(folder, 'gridpost'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'gridpost/node_modules'))
})
afterAll(async () => {
  await here.cleanUp()
  rmSync(folder, { recursive: true, force: true })
})

/** Puts the service of this test in the place of the one that the README has. */
const onTestService = (code: string) =>
  code
    .replaceAll('http://127.0.0.1:3000', service.url)
    .replaceAll('./.data/demo.json', loginFile(here.dataDir))
    .replaceAll('gp_acct_…', readLogin(here.dataDir)?.keys.account ?? '')

async function shell(code: string): Promise<string> {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH: `${join(root, 'node_modules/.bin')}:${PATH}`, HOME, npm_config_prefer_offline: 'true', npm_config_audit: 'false' }
  const { stdout } = await run('bash', ['-euc', onTestService(code)], { cwd: join(folder, 'gridpost'), env })
  return stdout
}

const unspaced = (text: string) => text.replaceAll(/\s/g, '')

/** The answers that the comments show, each as the pattern of an answer without its blanks: … is anything, and so is a number. */
function shownAnswers(code: string): RegExp[] {
  const comments = code.match(/^# [{[].*(\n# {2}.*)*/gm) ?? []
  return comments.map((comment) => {
    const text = unspaced(comment.replaceAll(/^#/gm, ''))
    const parts = text.split(/(?<=req-)[0-9a-f-]+|\d+/)
    const pattern = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*')).join('[0-9a-f-]+')
    return new RegExp(`^${pattern}$`)
  })
}

test('a newcomer has a first record through the typed client after ten commands at most', () => {
  const commands = [start, byClient, last].flatMap((code) => code.trimEnd().split('\n'))
  expect(commands.filter((line) => !line.startsWith('#')).length).toBeLessThanOrEqual(10)
})

test('the session with curl has the answers that are shown', async () => {
  const answers = (await shell(byCurl)).trimEnd().split('\n')
  const shown = shownAnswers(byCurl)
  expect(answers).toHaveLength(shown.length)
  for (const [index, answer] of answers.entries()) expect(unspaced(answer)).toMatch(shown[index] as RegExp)
})

test('the package of the service, the types of its tables and the program make a record, and compile', async () => {
  await shell(byClient)
  writeFileSync(join(folder, 'hello/hello.mts'), onTestService(program))
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node']
  const printed = await shell(`cd ../hello
export GRIDPOST_KEY=gp_acct_…
tsc --noEmit --strict --target es2023 --module nodenext ${types.join(' ')} hello.mts
${last}`)
  expect(printed).toMatch(/^\d+ \[\n(.*\n)* {2}\{ id: \d+, name: 'Grace Hopper', company: null \}\n\]\n$/)
})
