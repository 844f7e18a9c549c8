/** Starts the service with PROCESSES, and talks to a process of choice. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { startArguments } from '../../scripts/bench/process.ts'

export interface Received {
  status: number
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape.
  body: any
}

/** A client with one connection that is kept alive, so all its requests go to one process. */
export interface Connection {
  /** What only the process has in common with itself: the beginning of its request ids. Undefined before the first response. */
  process(): string | undefined
  send(method: string, path: string, options?: { key?: string; headers?: Record<string, string>; body?: unknown }): Promise<Received>
  close(): void
}

export interface Processes {
  url: string
  /** Of METRICS_PORT. */
  operatorUrl: string
  supervisor: ChildProcess
  output(): string
  /** The exit code of the supervisor. */
  ended: Promise<number | null>
  /** The processes that answer requests, or are about to. */
  pids(): number[]
  connect(): Connection
  /** A connection to each of the two processes. */
  both(): Promise<[Connection, Connection]>
  /** What Ctrl-C in a terminal does: the signal reaches every process. */
  signalAll(signal: NodeJS.Signals): void
}

type Launched = Pick<Processes, 'supervisor' | 'output' | 'ended' | 'pids' | 'signalAll'>

const started: ChildProcess[] = []

/** Starts two processes, and resolves when both answer. @param environment settings that differ */
export async function startProcesses(environment: Record<string, string>): Promise<Processes> {
  const run = launch({ PROCESSES: '2', METRICS_PORT: '0', ...environment })
  const found = (pattern: RegExp) => pattern.exec(run.output())?.[1]
  const isListening = () => found(/listens on (http:\S+?);?\s/)
  await new Promise<void>((resolve, reject) => {
    run.supervisor.stdout?.on('data', () => isListening() && resolve())
    run.ended.then((code) => reject(new Error(`The start ended with ${code}: ${run.output()}`)))
  })
  const url = isListening() ?? ''
  const connect = () => connectTo(url)
  return {
    ...run,
    url,
    operatorUrl: found(/health and metrics are at (http:\S+)/) ?? '',
    connect,
    both: async () => {
      const byProcess = new Map<string | undefined, Connection>()
      while (byProcess.size < 2) {
        const connection = connect()
        await connection.send('GET', '/healthz')
        byProcess.get(connection.process())?.close()
        byProcess.set(connection.process(), connection)
      }
      return [...byProcess.values()] as [Connection, Connection]
    },
  }
}

/** Starts the service as `npm start` does, without waiting for anything. The caller ends it with `endAll`. */
export function launch(environment: Record<string, string>): Launched {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env
  const env = { PATH, HOME, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), PORT: '0', LOG_LEVEL: 'warn', ...environment }
  // It leads a group of its own, as a program in a terminal does.
  const supervisor = spawn(process.execPath, startArguments(), { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(supervisor)
  let output = ''
  for (const stream of [supervisor.stdout, supervisor.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const pid = supervisor.pid ?? 0
  return {
    supervisor,
    output: () => output,
    ended: once(supervisor, 'exit').then(([code]) => code as number | null),
    pids: () => childrenOf(pid),
    signalAll: (signal) => void process.kill(-pid, signal),
  }
}

/** Ends whatever is left of the processes that were started. */
export function endAll(): void {
  for (const { pid } of started.splice(0)) {
    try {
      process.kill(-(pid ?? 0), 'SIGKILL')
    } catch {
      // All of them have ended, as expected.
    }
  }
}

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function childrenOf(parent: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  return rows.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []))
}

function connectTo(url: string): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let seen: string | undefined
  return {
    process: () => seen,
    close: () => agent.destroy(),
    async send(method, path, { key, headers = {}, body } = {}) {
      const sent = request(url + path, {
        ...{ method, agent },
        headers: {
          ...(key && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
      })
      sent.end(body === undefined ? undefined : JSON.stringify(body))
      const [response] = await once(sent, 'response')
      const text = (await buffer(response)).toString()
      ;[, seen] = /^req-(\w+)-/.exec(response.headers['x-request-id'] ?? '') ?? []
      const isJson = response.headers['content-type']?.startsWith('application/json')
      return { status: response.statusCode, headers: response.headers, text, body: isJson ? JSON.parse(text) : text }
    },
  }
}
