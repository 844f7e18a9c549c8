/** Starts the programs as users do, each test on its own DATA_DIR. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startArguments } from '../../scripts/bench/process.ts'
import { openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Service {
  url: string
  /** The output so far. */
  output(): string
  stop(): Promise<void>
}

export interface Programs {
  dataDir: string
  /** `npm run -s <script> -- <args>`, to its end. */
  npmRun(script: string, args?: string[]): Promise<Ended>
  /** The same without npm, which takes half a second. @param input what the script reads from standard input */
  run(script: string, args?: string[], input?: string): Promise<Ended>
  /** What `npm start` runs, without npm, until it listens. */
  start(): Promise<Service>
  /** Stops the running programs, and removes the folder. */
  cleanUp(): Promise<void>
}

/**
 * @param environment settings beside DATA_DIR; any free port by default
 * @param root the folder of the programs, if it is not this checkout
 */
export function programs(environment: Record<string, string> = {}, root = checkout): Programs {
  const dataDir = mkdtempSync(join(tmpdir(), 'gridpost-programs-'))
  const { PATH = '', HOME = '', TZ, NODE_COMPILE_CACHE } = process.env
  const env = {
    PATH,
    HOME,
    ...(TZ && { TZ }),
    ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
    DATA_DIR: dataDir,
    PORT: '0',
    LOG_LEVEL: 'warn',
    ...environment,
  }
  const started: ChildProcess[] = []
  const spawnHere = (file: string, args: string[]) => {
    // The program has its own process group, so that its children can be stopped with it.
    const child = spawn(file, args, { cwd: root, env, detached: true, stdio: 'pipe' })
    started.push(child)
    return child
  }
  const toItsEnd = async (file: string, args: string[], input = ''): Promise<Ended> => {
    const child = spawnHere(file, args)
    child.stdin.end(input)
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    // Warnings of npm about the settings of the machine.
    return { code, stdout, stderr: stderr.replaceAll(/^npm (warn|notice).*\n/gm, '') }
  }

  return {
    dataDir,
    npmRun: (script, args = []) => toItsEnd('npm', ['run', '-s', script, '--', ...args]),
    run: (script, args = [], input = '') => toItsEnd('node_modules/.bin/node', [`scripts/${script}.ts`, ...args], input),
    async start() {
      const child = spawnHere('node_modules/.bin/node', startArguments())
      let output = ''
      const ended = once(child, 'close')
      const url = await new Promise<string>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr]) {
          stream.on('data', (chunk) => {
            output += chunk
            const [, listening] = /listens on (http:\S+?);?\s/.exec(output) ?? []
            if (listening) resolve(listening)
          })
        }
        ended.then(([code]) => reject(new Error(`The start ended with ${code}: ${output}`)))
      })
      return {
        url,
        output: () => output,
        stop: async () => {
          child.kill('SIGTERM')
          await ended
        },
      }
    },
    async cleanUp() {
      for (const { exitCode, signalCode, pid } of started)
        if (exitCode === null && signalCode === null && pid) process.kill(-pid, 'SIGKILL')
      if (existsSync(join(dataDir, 'postgres', 'postmaster.pid')))
        await (await openEmbeddedPostgres({ dataDir }).catch(() => undefined))?.leave()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Sends one request. @returns the status and the body, parsed if it is JSON */
export async function call(
  url: string,
  path: string,
  { key, cookie, body, headers }: { key?: string; cookie?: string; body?: unknown; headers?: Record<string, string> } = {},
) {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...headers,
      ...(key && { authorization: `Bearer ${key}` }),
      ...(cookie && { cookie }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const raw = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape.
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(raw) : raw) as any }
}

/** Signs in. @returns the session's cookie */
export async function signIn(url: string, { email, password }: { email: string; password: string }): Promise<string> {
  const { status, headers, body } = await call(url, '/api/auth/login', { body: { email, password } })
  if (status !== 200) throw new Error(`${email} cannot sign in: ${JSON.stringify(body)}`)
  return headers.getSetCookie()[0]?.split(';')[0] ?? ''
}
