/**
 * Does work on untrusted bytes in a process of its own, so that a crash, a hang or a lack of memory there does not affect the service. The
 * process starts with the first piece of work, does one piece at a time, and ends after some time without work. A thread would not do,
 * because the memory that a thread takes outside of its heap stays with the whole process.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { Semaphore } from '../concurrency/semaphore.ts'

/** The process refused the work, took too long, or crashed. A retry would not help. */
export class WorkRefused extends Error {}

export interface WorkProcess<Work, Result> {
  /**
   * Gives the work to the process and waits for its result. Concurrent calls take turns.
   * @throws WorkRefused; what `bytes` throws; Error if the process could not be started, or was ended from outside
   */
  run(work: Work, details?: WorkDetails): Promise<Result>
  /** Ends the process at once; work under way fails. The next work starts another one. */
  stop(): void
  /** Waits for the work that has been given, then ends the process. */
  close(): Promise<void>
}

interface WorkDetails {
  /** Bytes for the work, which the service need not hold in memory. */
  bytes?: AsyncIterable<Uint8Array>
  /** Runs before the work is given, while the process starts. */
  prepare?: () => Promise<void>
  /** True if the process leaves the processor to others during the work, and is ended after it, to give memory back. */
  isLarge?: boolean
}

interface Options {
  /** The module that the process runs. It calls `serveWork` of served-work.ts. */
  module: URL
  /**
   * The process is killed when a piece of work takes longer, or large work three times as long, because it gets less of the processor. The
   * time in which the process starts and gets its bytes does not count.
   */
  timeoutMs: number
  /** The heap limit of the process. What libraries take outside of the heap does not count. */
  maxHeapMb: number
  /** The time without work after which the process is ended. */
  idleMs: number
  /** The process is ended after work that leaves it with more memory than this. */
  keptMb?: number
}

/** A message of the process: it has started, or a piece of work has ended. */
export type FromWorkProcess<Result> = { isReady: true } | WorkResult<Result>
/** `heldBytes` is the memory of the process after the work. */
type WorkResult<Result> = { id: number; heldBytes: number } & ({ result: Result } | { error: string })
/** A message to the process: first the bytes of a piece of work in chunks, then the work itself. */
export type ToWorkProcess<Work> = { id: number; chunk: Uint8Array } | { id: number; work: Work }

interface Underway<Result> {
  id: number
  /** False while its bytes are sent: if the process ends then, the work is not the reason. */
  isGiven: boolean
  /** True if the process is ended after the work. */
  isLast: boolean
  resolve(result: Result): void
  reject(error: Error): void
}

/** The time zone, and where compiled code is kept: without it half of the CPU time of a start is compiling. */
const GIVEN_VARIABLES = ['TZ', 'NODE_COMPILE_CACHE']

const LARGE_PATIENCE = 3

/** Signals of a terminal or a supervisor, which say nothing about the work. */
const FROM_OUTSIDE = new Set<NodeJS.Signals | null>(['SIGINT', 'SIGTERM', 'SIGHUP'])

export function openWorkProcess<Work, Result>({
  module,
  timeoutMs,
  maxHeapMb,
  idleMs,
  keptMb = Number.POSITIVE_INFINITY,
}: Options): WorkProcess<Work, Result> {
  let child: ChildProcess | undefined
  /** Resolves when the process has started. */
  let ready: Promise<void>
  let underway: Underway<Result> | undefined
  let idle: NodeJS.Timeout | undefined
  let lastId = 0
  const turns = new Semaphore(1)

  function start(): ChildProcess {
    const started = fork(module, {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${maxHeapMb}`],
      // It needs none of the service's secrets.
      env: Object.fromEntries(GIVEN_VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    let isReady = false
    const { promise, resolve } = Promise.withResolvers<void>()
    ready = promise
    started.on('message', (message: FromWorkProcess<Result>) => {
      if ('isReady' in message) {
        isReady = true
        resolve()
      }
      if ('id' in message && message.id === underway?.id) settle(underway, message)
    })
    started.on('error', (error) => end(started, error))
    started.on('exit', (code, signal) => end(started, reasonOf(isReady && underway?.isGiven === true, code, signal)))
    // An idle process does not keep the service alive.
    started.unref()
    started.channel?.unref()
    return started
  }

  function settle(done: Underway<Result>, outcome: WorkResult<Result>): void {
    if (outcome.heldBytes > keptMb * 1_048_576) done.isLast = true
    if ('result' in outcome) done.resolve(outcome.result)
    else done.reject(new WorkRefused(outcome.error))
  }

  function end(ended: ChildProcess, reason: Error): void {
    ended.kill('SIGKILL')
    if (child !== ended) return
    child = undefined
    underway?.reject(reason)
  }

  function stop(): void {
    clearTimeout(idle)
    if (child) end(child, new Error('The process was stopped'))
  }

  async function runNow(work: Work, { bytes, prepare, isLarge = false }: WorkDetails): Promise<Result> {
    clearTimeout(idle)
    child ??= start()
    const current = child
    // A process that could not be started has no id.
    if (isLarge && current.pid !== undefined) setPriority(current.pid, constants.priority.PRIORITY_BELOW_NORMAL)
    const id = ++lastId
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const mine: Underway<Result> = { id, isGiven: false, isLast: isLarge, resolve, reject }
    underway = mine
    let timer: NodeJS.Timeout | undefined
    try {
      // A process that ends meanwhile ends the wait for the bytes, too.
      if (prepare) await Promise.race([prepare(), promise])
      if (bytes) await Promise.race([sendAll(current, id, bytes), promise])
      await Promise.race([ready, promise])
      const limitMs = isLarge ? LARGE_PATIENCE * timeoutMs : timeoutMs
      const tooSlow = () => end(current, new WorkRefused(`The work took longer than ${limitMs / 1000} s`))
      timer = setTimeout(tooSlow, limitMs)
      mine.isGiven = true
      current.send({ id, work } satisfies ToWorkProcess<Work>)
      return await promise
    } finally {
      clearTimeout(timer)
      underway = undefined
      if (mine.isLast) stop()
      else idle = setTimeout(stop, idleMs).unref()
    }
  }

  return {
    run: (work, details = {}) => turns.run(() => runNow(work, details)),
    stop,
    async close() {
      await turns.acquire()
      stop()
    },
  }
}

function reasonOf(isWorking: boolean, code: number | null, signal: NodeJS.Signals | null): Error {
  if (FROM_OUTSIDE.has(signal)) return new Error(`The process got ${signal}`)
  return isWorking ? new WorkRefused('The process ended') : new Error(`The process ended before its work began (${signal ?? code})`)
}

/** Sends the bytes, each chunk after the one before it has been taken. */
async function sendAll(child: ChildProcess, id: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of bytes) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    child.send({ id, chunk } satisfies ToWorkProcess<never>, (error) => (error ? reject(error) : resolve()))
    await promise
  }
}
