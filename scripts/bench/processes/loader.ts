/**
 * A separate process that sends the same request again and again on connections of its own. It parses as little as it can, because it shares
 * the cores with the processes that are measured.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LoadOrder {
  /** The connections are divided among them. */
  urls: string[]
  path: string
  headers: Record<string, string>
  connections: number
  seconds: number
  /** The status of an answer as it should be. */
  expected: number
  /** Of all connections together, each of which sends at equal intervals. By default each sends again as soon as it has its answer. */
  perSecond?: number | undefined
}

export interface LoadReport {
  ms: number
  /** Requests that were answered with the expected status. */
  served: number
  /** Requests that were answered otherwise. */
  refused: number
  /** Requests whose connection was lost. Each was sent again on a new connection. */
  lost: number
  /** Requests that were lost again. */
  failed: number
}

process.on('message', (order: LoadOrder) => {
  load(order).then((report) => process.send?.(report))
})

async function load({ urls, path, headers, connections, seconds, expected, perSecond }: LoadOrder): Promise<LoadReport> {
  const targets = urls.map((url) => targetOf(url, path, headers))
  const report: LoadReport = { ms: 0, served: 0, refused: 0, lost: 0, failed: 0 }
  const from = performance.now()
  const end = from + seconds * 1_000
  const pace = (connection: number) =>
    paced(from, perSecond ? { everyMs: (connections / perSecond) * 1_000, share: connection / connections } : undefined)
  await Promise.all(
    Array.from({ length: connections }, (_, connection) => {
      const target = targets[connection % targets.length] as Target
      return repeat({ ...target, expected: String(expected), end, turn: pace(connection) }, report)
    }),
  )
  return { ...report, ms: performance.now() - from }
}

interface Target {
  open(): Socket
  request: Buffer
}

function targetOf(url: string, path: string, headers: Record<string, string>): Target {
  const { hostname, port, host } = new URL(url)
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  return {
    open: () => connect(Number(port), hostname).setNoDelay(),
    request: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`),
  }
}

/** Returns a function that waits for the time of the next request. @param share of the interval by which the first one comes later */
function paced(from: number, interval: { everyMs: number; share: number } | undefined): () => Promise<void> | undefined {
  if (!interval) return () => undefined
  let next = from + interval.share * interval.everyMs
  return () => {
    const waitMs = next - performance.now()
    next += interval.everyMs
    return waitMs > 0 ? sleep(waitMs) : undefined
  }
}

interface Repeated extends Target {
  expected: string
  end: number
  /** Waits for the time of the next request. */
  turn(): Promise<void> | undefined
}

/** Sends the request again as soon as it is answered, until the end. Listeners are added once for each connection: it is cheaper than a promise each. */
function repeat({ open, request, expected, end, turn }: Repeated, report: LoadReport): Promise<void> {
  return new Promise((resolve) => {
    let socket = openWithListeners()
    let isRepeated = false
    let isAsking = false
    let answer: Buffer | undefined
    send()

    function openWithListeners(): Socket {
      const opened = open()
        .on('data', onData)
        .on('close', () => opened === socket && onClose())
        // The end of the connection says enough.
        .on('error', () => {})
      return opened
    }

    function send(): void {
      const waiting = performance.now() < end ? turn() : undefined
      if (waiting) waiting.then(write)
      else write()
    }

    function write(): void {
      if (performance.now() >= end) {
        socket.destroy()
        resolve()
        return
      }
      isAsking = true
      if (socket.destroyed) onClose()
      else socket.write(request)
    }

    function onData(chunk: Buffer): void {
      answer = answer ? Buffer.concat([answer, chunk]) : chunk
      if (answer.length < lengthOf(answer)) return
      if (answer.toString('latin1', 9, 12) === expected) report.served++
      else report.refused++
      answer = undefined
      isAsking = false
      isRepeated = false
      send()
    }

    function onClose(): void {
      if (!isAsking) return
      if (isRepeated) report.failed++
      else report.lost++
      isRepeated = !isRepeated
      answer = undefined
      isAsking = false
      socket = openWithListeners()
      send()
    }
  })
}

const HEAD_ENDS = '\r\n\r\n'
const LENGTH = '\r\ncontent-length: '

/** The bytes of a whole answer that begins like this. @throws Error without a Content-Length in the case in which Node writes it */
function lengthOf(answer: Buffer): number {
  const head = answer.indexOf(HEAD_ENDS)
  if (head < 0) return Number.POSITIVE_INFINITY
  const at = answer.indexOf(LENGTH)
  if (at < 0 || at > head) throw new Error(`An answer has no Content-Length: ${answer.toString('latin1', 0, head)}`)
  return head + HEAD_ENDS.length + Number.parseInt(answer.toString('latin1', at + LENGTH.length, at + LENGTH.length + 9), 10)
}
