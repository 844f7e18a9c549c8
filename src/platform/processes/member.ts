/** The messages between a process and its supervisor, on the side of the process. */
import cluster from 'node:cluster'
import { unavailable } from '../errors.ts'
import type { Series } from '../metrics/metrics.ts'
import type { ToProcess, ToSupervisor } from './messages.ts'
import { StartError } from './start-error.ts'

/** Longer than the supervisor waits for any process, so that its answer is not missed. */
const SCRAPE_TIMEOUT_MS = 6_000

/**
 * Calls back when the supervisor wants this process to stop, and when there is no supervisor any more. By default Node would end the
 * process at once in the second case.
 */
export function onStop(stop: () => void): void {
  hear((message) => {
    if (message.tells === 'stop') stop()
  })
  cluster.worker?.once('disconnect', () => {
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    stop()
  })
}

let isComplete = !cluster.isWorker

/** False within the first start of several processes, until each of them has listened. */
export const isStartComplete = (): boolean => isComplete

if (cluster.isWorker)
  hear((message) => {
    if (message.tells === 'complete') isComplete = true
  })

/** Waits for what the supervisor does, such as to listen on a port. @throws StartError if there is no supervisor any more */
export async function whileSupervised<Result>(work: Promise<Result>): Promise<Result> {
  if (!cluster.isWorker) return work
  const { promise, reject } = Promise.withResolvers<never>()
  const fail = () => reject(new StartError('The supervisor has ended'))
  if (process.connected) process.once('disconnect', fail)
  else fail()
  return Promise.race([work, promise]).finally(() => process.off('disconnect', fail))
}

/** Tells the supervisor that this process answers requests. */
export function sayReady(lines: readonly string[], port: number | undefined): void {
  tell({ tells: 'ready', lines, port })
}

/** Answers the supervisor when it asks for the metrics of this process. */
export function onCollect(collect: (isFirst: boolean) => Promise<Series>): void {
  hear((message) => {
    if (message.tells !== 'collect') return
    const { id, isFirst } = message
    // Without an answer the supervisor takes what it heard last.
    collect(isFirst).then(
      (series) => tell({ tells: 'series', id, series }),
      () => {},
    )
  })
}

let lastScrape = 0

/** The metrics of all processes, in the text format. @throws AppError 503 if the supervisor has no answer */
export async function metricsOfAll(): Promise<string> {
  const id = ++lastScrape
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const forget = hear((message) => {
    if (message.tells === 'metrics' && message.id === id) resolve(message.text)
  })
  const timer = setTimeout(() => resolve(undefined), SCRAPE_TIMEOUT_MS)
  tell({ tells: 'scrape', id })
  const text = await promise
  clearTimeout(timer)
  forget()
  if (text === undefined) throw unavailable('The metrics of all processes cannot be read at the moment', 5)
  return text
}

/** @returns stops listening */
function hear(listener: (message: ToProcess) => void): () => void {
  const onMessage = (message: unknown) => listener(message as ToProcess)
  process.on('message', onMessage)
  return () => void process.off('message', onMessage)
}

/** Ignores a supervisor that has ended, because the event `disconnect` reports its end. */
function tell(message: ToSupervisor): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}
