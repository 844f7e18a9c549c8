/**
 * A separate process that sends the same request again and again on connections of its own. It parses as little as it can, because it shares
 * the cores with the processes that are measured.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LoadOrder {
  url: string
  path: string
  headers: Record<string, string>
  connections: number
  seconds: number
  /** Of all connections together, each of which sends at equal intervals. By default each sends again as soon as it has its answer. */
  perSecond?: number | undefined
}

export interface LoadReport {
  ms: number
  /** Requests that were answered with 200. */
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

async function load({ url, path, headers, connections, seconds, perSecond }: LoadOrder): Promise<LoadReport> {
  const { hostname, port, host } = new URL(url)
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  const request = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  const report: LoadReport = { ms: 0, served: 0, refused: 0, lost: 0, failed: 0 }
  const from = performance.now()
  const end = from + seconds * 1_000
  const open = () => connect(Number(port), hostname).setNoDelay()
  const pace = (connection: number) =>
    paced(from, perSecond ? { everyMs: (connections / perSecond) * 1_000, share: connection / connections } : undefined)
  await Promise.all(Array.from({ length: connections }, (_, connection) => repeat(open, request, end, report, pace(connection))))
  return { ...report, ms: performance.now() - from }
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

async function repeat(
  open: () => Socket,
  request: Buffer,
  end: number,
  report: LoadReport,
  turn: () => Promise<void> | undefined,
): Promise<void> {
  let socket = open()
  let isRepeated = false
  while (performance.now() < end) {
    await turn()
    const status = await send(socket, request)
    if (status === 200) report.served++
    else if (status !== undefined) report.refused++
    else if (isRepeated) report.failed++
    else report.lost++
    isRepeated = status === undefined && !isRepeated
    if (status === undefined) socket = open()
  }
  socket.destroy()
}

/** Expects short answers with a Content-Length. @returns undefined if the connection was lost */
function send(socket: Socket, request: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    let answer = ''
    const onData = (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      const head = answer.indexOf('\r\n\r\n')
      if (head < 0 || answer.length < head + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(answer)?.[1])) return
      done(Number(answer.slice(9, 12)))
    }
    const onLost = () => done(undefined)
    const done = (status: number | undefined) => {
      socket.off('data', onData).off('close', onLost)
      resolve(status)
    }
    socket.on('data', onData).on('close', onLost)
    // The end of the connection says enough.
    if (!socket.listenerCount('error')) socket.on('error', () => {})
    if (socket.destroyed) done(undefined)
    else socket.write(request)
  })
}
