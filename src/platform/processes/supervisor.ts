/**
 * Runs the service as several processes on one port. It starts them, starts again those that die, and stops all of them together. It
 * accepts connections, which the cluster gives to the processes in turn, and answers none itself.
 */
import cluster, { type Worker } from 'node:cluster'
import type { FastifyBaseLogger } from 'fastify'
import { CombinedMetrics, type Source } from './combined-metrics.ts'
import type { ToProcess, ToSupervisor } from './messages.ts'
import { PROCESS_VARIABLE } from './per-process.ts'
import { CANNOT_START, StartError } from './start-error.ts'
import { passOnUnaccepted } from './unaccepted-connections.ts'

/** A process that has run for this long did not die of its start. */
const STEADY_MS = 60_000
/** The pause before the second start in a row. It doubles with each one. */
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

export interface SupervisorOptions {
  /** How many processes. */
  count: number
  /** The port of the settings; 0 for any. */
  port: number
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>
}

export interface Supervisor {
  /** Resolves when all processes answer requests, with the lines for the operator. @throws StartError when the first cannot start */
  readonly started: Promise<readonly string[]>
  /** Rejects when no process is left and none can be started: something has to be changed first. */
  readonly failed: Promise<never>
  /** Stops all processes. Resolves when they have ended. */
  stop(): Promise<void>
}

/** One of the processes, which is started again as often as it dies. */
interface Slot extends Source {
  readonly number: number
  worker: Worker | undefined
  isReady: boolean
  /** True from its first answer on, also while it is started again. */
  hasListened: boolean
  startedAt: number
  /** How often it has died in a row. */
  deaths: number
  restart: NodeJS.Timeout | undefined
}

export function supervise({ count, port, log }: SupervisorOptions): Supervisor {
  const slots = Array.from({ length: count }, (_, index) => newSlot(index + 1))
  const metrics = new CombinedMetrics()
  const allEnded = Promise.withResolvers<void>()
  const failed = Promise.withResolvers<never>()
  /** The callers that wait for the first start of a process. */
  const waiting = new Map<Slot, { resolve(lines: readonly string[]): void; reject(error: Error): void }>()
  let isStopping = false
  let knownPort = port
  let fixedPort = port

  const alive = () => slots.filter(({ worker }) => worker)
  const ready = () => slots.filter(({ isReady }) => isReady)
  /** Once a process has answered requests, the end of another one, even in its first start, ends nothing else. */
  const hasAnswered = () => slots.some(({ hasListened }) => hasListened)
  const isComplete = () => slots.every(({ hasListened }) => hasListened)

  function start(slot: Slot): void {
    // The cluster keeps a port of its own choice only for as long as a process listens on it.
    if (!alive().length) fixedPort = knownPort
    // JSON would turn metrics that are not a number into null.
    cluster.setupPrimary({ serialization: 'advanced' })
    slot.startedAt = performance.now()
    const worker = cluster.fork({ [PROCESS_VARIABLE]: `${slot.number}/${count}`, PORT: String(fixedPort) })
    Object.assign(slot, { worker, isReady: false })
    if (isComplete()) slot.send({ tells: 'complete' })
    passOnUnaccepted(worker)
    worker.on('message', (message: ToSupervisor) => hear(slot, message))
    // A message to a process that has just died. Its end is noticed below.
    worker.on('error', () => {})
    worker.on('exit', (code: number | null, signal: string | null) => ended(slot, { code, signal }))
  }

  function hear(slot: Slot, message: ToSupervisor): void {
    if (message.tells === 'series') metrics.answer(slot, message.id, message.series)
    if (message.tells === 'scrape') void answerScrape(slot, message.id)
    if (message.tells !== 'ready') return
    Object.assign(slot, { isReady: true, hasListened: true })
    if (isComplete()) for (const each of slots) each.send({ tells: 'complete' })
    knownPort = message.port ?? knownPort
    waiting.get(slot)?.resolve(message.lines)
  }

  async function answerScrape(slot: Slot, id: number): Promise<void> {
    const text = await metrics.text(ready()).catch((error: unknown) => {
      log.error({ err: error }, 'metrics not added up')
      return undefined
    })
    slot.send({ tells: 'metrics', id, text })
  }

  function ended(slot: Slot, { code, signal }: { code: number | null; signal: string | null }): void {
    const pid = slot.worker?.process.pid
    Object.assign(slot, { worker: undefined, isReady: false })
    metrics.forget(slot)
    if (isStopping) {
      waiting.get(slot)?.resolve([])
      if (!alive().length) allEnded.resolve()
      return
    }
    // It has printed the reason, unless it was killed.
    if (!hasAnswered()) waiting.get(slot)?.reject(new StartError(signal ? `A process was ended by ${signal}` : ''))
    else if (code === CANNOT_START && !ready().length) failed.reject(new StartError(''))
    else startAgain(slot, { ended_pid: pid, code, signal })
  }

  function startAgain(slot: Slot, end: object): void {
    slot.deaths = performance.now() - slot.startedAt > STEADY_MS ? 1 : slot.deaths + 1
    const pauseMs = pauseBefore(slot.deaths)
    log.warn({ process: slot.number, ...end, pause_ms: pauseMs }, 'a process has ended and is started again')
    slot.restart = setTimeout(() => {
      try {
        start(slot)
      } catch (err) {
        // The machine has no memory or no descriptors left. The pauses grow as for a process that ends at once.
        startAgain(slot, { err })
      }
    }, pauseMs)
  }

  /** @returns the lines for the operator; none if the start was stopped */
  function firstStart(slot: Slot): Promise<readonly string[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
    waiting.set(slot, { resolve, reject })
    if (isStopping) resolve([])
    else start(slot)
    return promise.finally(() => waiting.delete(slot))
  }

  /** The first process migrates the database and chooses the port, so the others wait for it. A wrong setting shows there, and once. */
  async function startAll(): Promise<readonly string[]> {
    const [first, ...others] = slots as [Slot, ...Slot[]]
    const lines = await firstStart(first)
    await Promise.all(others.map(firstStart))
    return isStopping ? [] : [`Requests are answered by ${count} processes`, ...lines]
  }

  async function stop(): Promise<void> {
    isStopping = true
    for (const slot of slots) {
      clearTimeout(slot.restart)
      slot.send({ tells: 'stop' })
    }
    if (alive().length) await allEnded.promise
  }

  // The supervisor may exit while processes run: the second signal, for example, ends it at once.
  process.on('exit', () => {
    for (const { worker } of alive()) worker?.process.kill('SIGKILL')
  })
  return { started: startAll(), failed: failed.promise, stop }
}

function newSlot(number: number): Slot {
  const slot: Slot = {
    number,
    worker: undefined,
    isReady: false,
    hasListened: false,
    startedAt: 0,
    deaths: 0,
    restart: undefined,
    send: (message: ToProcess) => {
      if (slot.worker?.isConnected()) slot.worker.send(message, undefined, () => {})
    },
  }
  return slot
}

/** No pause for the first death: a single one should cost as little as possible. */
const pauseBefore = (deaths: number) => (deaths <= 1 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (deaths - 2)))
