/** What a person sees who runs `npm start` on a terminal, and what a program reads that has its output in a pipe. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readLogin } from '../src/demo/login.ts'
import { openEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts'
import { prepareData } from './support/prepared-data.ts'
import { programs } from './support/programs.ts'
import { until } from './support/until.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** The program `script` of util-linux runs a command on a terminal of its own. Every Debian has it; other systems have another one. */
const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script')

let dataDir: string
let child: ChildProcess | undefined

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gridpost-look-'))
})
afterEach(async () => {
  if (child?.pid && child.exitCode === null && child.signalCode === null) {
    process.kill(-child.pid, 'SIGKILL')
    await once(child, 'close')
  }
  child = undefined
  if (existsSync(join(dataDir, 'postgres', 'postmaster.pid')))
    await (await openEmbeddedPostgres({ dataDir }).catch(() => undefined))?.leave()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Starts the command. @returns its output so far, and a way to type */
function run(file: string, args: string[], settings: Record<string, string> = {}) {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, TERM: 'xterm-256color', DATA_DIR: dataDir, PORT: '0', ...settings }
  const started = spawn(file, args, { cwd: root, env, detached: true, stdio: 'pipe' })
  child = started
  let output = ''
  for (const stream of [started.stdout, started.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  return {
    output: () => output,
    type: (text: string) => started.stdin.write(text),
    kill: (signal: NodeJS.Signals) => started.kill(signal),
    ended: once(started, 'close').then(([code]) => code as number | null),
  }
}

/** The shell gives its place to the command: at Ctrl-C it would otherwise end by the signal, whatever the command does. */
const onTerminal = (command: string, settings?: Record<string, string>) =>
  run('/usr/bin/script', ['--quiet', '--flush', '--return', '--command', `exec ${command}`, '/dev/null'], settings)

/** With these the service takes back a line to replace it, and npm its turning one. */
const TAKES_BACK = ['\r\u{1b}[K', '\u{1b}[1G\u{1b}[0K']

/** What is on the screen: a line that was replaced is there in its last form. */
const screen = (output: string): string[] =>
  output
    .split('\n')
    .map((line) => TAKES_BACK.reduce((text, control) => text.split(control).at(-1) ?? '', line.replace(/\r$/, '')))
    .map(stripVTControlCharacters)
    .filter((line, index, lines) => line !== '' || index < lines.length - 1)

const listening = (output: string) => /listens on (http:\/\/[\d.:]+)/.exec(output)?.[1]

describe.skipIf(!hasTerminal)(`on a terminal${hasTerminal ? '' : ' (skipped: util-linux has its program script)'}`, () => {
  test('a first start takes 15 lines at most, the welcome last, and Ctrl-C says that it has stopped', async () => {
    const terminal = onTerminal('npm start')
    const isWelcomed = () => terminal.output().includes('shows this again')
    await until(isWelcomed, () => `for the welcome: ${terminal.output()}`, { withinMs: 90_000 })
    const url = listening(terminal.output()) ?? ''
    const lines = screen(terminal.output())
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(15)
    expect(terminal.output().split('\n').length).toBeLessThanOrEqual(15)
    const login = readLogin(dataDir)
    expect(lines.slice(-9)).toEqual([
      expect.stringMatching(`^Gridpost listens on ${url}; mail is caught at ${url}/dev/mail\\?token=[\\w-]{32}$`),
      expect.stringContaining('PUBLIC_URL closes it'),
      `The demo account, kept in ${join(dataDir, 'demo.json')}:`,
      `  Olivia Owner   owner@demo.example   password ${login?.owner.password}`,
      `  Marco Member   member@demo.example  password ${login?.member.password}`,
      `  Vera Viewer    viewer@demo.example  password ${login?.viewer.password}`,
      `  account key    ${login?.keys.account}`,
      `  personal key   ${login?.keys.personal} (Marco Member)`,
      `Begin at ${url} in a browser, or at ${url}/docs for the API. In another terminal, npm run demo walks through it, and npm run demo -- --who shows this again.`,
    ])
    // The steps share a line, which shows the last of them.
    const steps = ['Creating a new PostgreSQL database', 'Creating its tables (', 'Creating the demo account', 'The database is ready']
    const positions = steps.map((step) => terminal.output().indexOf(step))
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
    expect(positions[0]).toBeGreaterThan(0)
    expect(lines.at(-10)).toMatch(/^\d\d:\d\d:\d\d {2}The database is ready$/)
    expect(terminal.output()).not.toContain('"level"')

    expect((await fetch(`${url}/api/spaces/list?token=\u{1b}[31m`)).status).toBe(401)
    await expect.poll(() => screen(terminal.output()).at(-1)).toMatch(/^\d\d:\d\d:\d\d {2}GET \/api\/spaces\/list 401 {2}\d+ ms$/)

    terminal.type('\u{3}')
    expect(await terminal.ended).toBe(0)
    expect(screen(terminal.output()).at(-1)).toBe('Gridpost has stopped.')
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false)
  })

  test('a later start is short, and a stop within it says so, too', async () => {
    prepareData(dataDir, { withDemo: false })
    const terminal = onTerminal('npm start --silent', { PROCESSES: '2', NO_COLOR: '1' })
    await until(() => terminal.output().includes('npm run demo -- --who'), terminal.output)
    expect(screen(terminal.output())).toEqual([
      'Requests are answered by 2 processes',
      expect.stringContaining('Gridpost listens on'),
      expect.stringContaining('PUBLIC_URL'),
      expect.stringMatching(/^npm run demo -- --who shows the passwords and keys of the demo account, which are kept in .*demo\.json\.$/),
      // The prepared database has no users.
      expect.stringMatching(/^Nobody can sign in yet\. .*\/setup#/),
    ])
    terminal.type('\u{3}')
    expect(await terminal.ended).toBe(0)
    expect(screen(terminal.output()).at(-1)).toBe('Gridpost has stopped.')
    const again = onTerminal('npm start --silent')
    await until(() => existsSync(join(dataDir, 'postgres', 'postmaster.pid')), again.output)
    again.type('\u{3}')
    expect(await again.ended).toBe(0)
    expect(screen(again.output()).at(-1)).toBe('Gridpost has stopped.')
  })
})

test('in a pipe each line of the log of a first start is JSON, and the migrations are one', async () => {
  const piped = run('npm', ['start', '--silent'])
  await until(() => piped.output().includes('shows this again'), piped.output, { withinMs: 90_000 })
  const [log, rest] = [
    piped
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{')),
    piped.output().split('\n'),
  ]
  expect(log.map((line) => JSON.parse(line).msg)).toEqual([
    'Creating a new PostgreSQL database',
    expect.stringMatching(/^Creating its tables \(\d+ migrations\)$/),
    'Creating the demo account',
    'The database is ready',
    expect.stringContaining('Server listening at'),
  ])
  expect(rest.filter((line) => line && !line.startsWith('{'))).toHaveLength(9)
  expect(piped.output()).not.toContain('\u{1b}')
  piped.kill('SIGTERM')
  expect(await piped.ended).toBe(0)
  expect(piped.output()).toMatch(/\nGridpost has stopped\.\n$/)
})

test('npm run demo -- --who repeats the welcome, of the service that runs', async () => {
  const own = programs()
  try {
    const service = await own.start()
    await until(() => service.output().includes('shows this again'), service.output)
    const welcome = service.output().slice(service.output().indexOf('Gridpost listens on'))
    const who = await own.run('demo', ['--who'])
    expect(who).toEqual({ code: 0, stdout: welcome, stderr: '' })
    const wrong = await own.run('demo', ['--how'])
    expect([wrong.code, wrong.stderr]).toEqual([1, "Unexpected argument '--how': npm run demo takes --who, or none\n"])
    await service.stop()
    const stopped = await own.run('demo', ['--who'])
    expect([stopped.code, stopped.stdout]).toEqual([1, ''])
    expect(stopped.stderr).toMatch(/^No service answers at http:.+: run npm start in another terminal, then npm run demo\n$/)
    rmSync(join(own.dataDir, 'demo.json'))
  } finally {
    await own.cleanUp()
  }
})

test('the README shows the welcome as it is', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  for (const line of [
    'Gridpost listens on http://127.0.0.1:3000; mail is caught at',
    'The demo account, kept in .data/demo.json:',
    'Gridpost has stopped.',
  ])
    expect(readme).toContain(line)
})
