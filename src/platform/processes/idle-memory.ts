/**
 * Returns the memory of busy times to the system once the process is idle. V8 collects garbage only when something is allocated, so an idle
 * process would keep the garbage of its start or of an import, with 30 MB of new space alone.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The event loop is watched in spans of this length. */
const SPAN_MS = 30_000
/**
 * A process collects after this number of idle spans in a row. The collection also drops compiled code, so it must not happen between two
 * requests of a quiet hour: in a benchmark with pauses of three seconds, node's CPU time of a request rose by half.
 */
const IDLE_SPANS = 10
/** The utilization of the event loop below which a span is idle: the process looks for jobs, and answers a few requests at most. */
const IDLE = 0.05
/** After a span above this, there may be something to collect again. A collection itself is below. */
const BUSY = 0.1
/** The pause grows with what is alive, by 0.2 s of CPU for 50 MB at most. A larger heap waits for V8, which collects it in small steps. */
const MOST_MB = 120

/** @param collect tests count its calls. @returns stops watching */
export function collectWhenIdle(collect = collectAll): () => void {
  let last = performance.eventLoopUtilization()
  let isCollected = false
  let idleSpans = 0
  const spans = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    if (utilization > BUSY) isCollected = false
    idleSpans = utilization > IDLE ? 0 : idleSpans + 1
    if (idleSpans < IDLE_SPANS || isCollected) return
    isCollected = true
    if (process.memoryUsage().heapUsed < MOST_MB * 1024 * 1024) collect()
  }, SPAN_MS).unref()
  return () => clearInterval(spans)
}

type CollectGarbage = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/** Only a collection of last resort also shrinks the new space and gives free pages back. Node has no other way to ask for one. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('globalThis.gc') as CollectGarbage | undefined
  setFlagsFromString('--no-expose-gc')
  gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
