/** A process of the service that is killed, started again, and watched for ends that nobody asked for. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startArguments } from '../bench/process.ts'
import { freePort } from '../free-port.ts'

const START_WITHIN_MS = 60_000
/** Where `npm start` keeps compiled code: without it half of the CPU time of a start is compiling. */
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/compiled')
/** The end of the output that is shown when a process ends by itself. */
const SHOWN_CHARACTERS = 2_000

export interface ServiceProcess {
  name: string
  /** Undefined for a worker, which does not listen. */
  url: string | undefined
  /** Of /healthz, which answers as soon as the process listens. */
  healthUrl: string
  start(): Promise<void>
  /** Kills the process with SIGKILL, and resolves when it has ended. */
  kill(): Promise<void>
  /** Asks the process to end. */
  stop(): Promise<void>
  /** Shifts the process's clock from the true time. */
  shiftClock(ms: number): void
  /** The ends that nobody asked for, each with the last output. */
  ends(): readonly string[]
  /** The faults that were logged: answers of 500, with their stacks. */
  faults(): readonly string[]
}

interface Options {
  name: string
  role: 'web' | 'worker' | 'all'
  /** Where the output is kept. */
  logDir: string
  environment: Record<string, string>
  /** The folder of the release; this one by default. */
  root?: string | undefined
}

export async function serviceProcess({ name, role, logDir, environment, root }: Options): Promise<ServiceProcess> {
  // A process that is started again listens on the same port.
  const port = await freePort()
  const ports = role === 'worker' ? { PORT: '0', METRICS_PORT: String(port) } : { PORT: String(port) }
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = COMPILED } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE, HOST: '127.0.0.1', ...ports, ROLE: role, LOG_LEVEL: 'error', ...environment }
  const file = createWriteStream(join(logDir, `${name}.log`), { flags: 'a' })
  const ends: string[] = []
  const faults: string[] = []
  let child: ChildProcess | undefined
  let shiftedMs = 0

  async function start(): Promise<void> {
    const clock = join(import.meta.dirname, 'shifted-clock.ts')
    const started = spawn(process.execPath, ['--import', clock, ...startArguments(root)], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    child = started
    const { promise: ready, resolve } = Promise.withResolvers<void>()
    let shown = ''
    const take = (chunk: Buffer) => {
      file.write(chunk)
      shown = (shown + chunk).slice(-SHOWN_CHARACTERS)
      if (/listens on|works on background jobs/.test(shown)) resolve()
      faults.push(
        ...chunk
          .toString()
          .split('\n')
          // The service logs a full disk so that the operator sees it. The service itself works as it should.
          .filter((line) => line.includes('"msg":"fault"') && !line.includes('"status":507')),
      )
    }
    started.stdout?.on('data', take)
    started.stderr?.on('data', take)
    started.once('exit', (code, signal) => {
      if (child !== started) return
      child = undefined
      ends.push(`${name} ended with ${signal ?? code}: ${shown}`)
    })
    const giveUp = AbortSignal.timeout(START_WITHIN_MS)
    const ended = once(started, 'exit', { signal: giveUp }).then(
      () => Promise.reject(new Error(`${name} ended while it started: ${shown}`)),
      () => Promise.reject(new Error(`${name} did not start: ${shown}`)),
    )
    await Promise.race([ready, ended])
    // The race is over; a later end is counted above.
    ended.catch(() => {})
    if (shiftedMs) shiftClock(shiftedMs)
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const ending = child
    child = undefined
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    const ended = once(ending, 'exit')
    ending.kill(signal)
    await Promise.race([ended, sleep(START_WITHIN_MS, undefined, { ref: false })])
  }

  function shiftClock(ms: number): void {
    shiftedMs = ms
    if (child?.connected) child.send({ shiftMs: ms })
  }

  return {
    name,
    url: role === 'worker' ? undefined : `http://127.0.0.1:${port}`,
    healthUrl: `http://127.0.0.1:${port}/healthz`,
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    shiftClock,
    ends: () => ends,
    faults: () => faults,
  }
}
