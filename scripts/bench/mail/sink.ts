/**
 * A separate process that accepts mail as fast as it can, or answers each command after a delay, and the content as well if it is asked to.
 * It speaks only as much SMTP as nodemailer needs, so that it takes little CPU time from the service on the same machine.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** How the sink answers. */
export interface SinkManner {
  /** The time before each answer to a command. */
  latencyMs: number
  /** Whether the content is accepted as late as commands are answered; else at once. */
  acceptsLate?: boolean
  /** Whether it takes several commands at once (RFC 2920), as nearly all servers do. */
  pipelining?: boolean
}

export type SinkOrder =
  /** Opens a port that greets only after `release`. Answered with the port. */
  | { listen: SinkManner }
  /** Greets all connections, and is answered when this number of mails has been accepted. */
  | { release: { mails: number } }

/** What the sink has accepted since `release`. */
export interface SinkReport {
  /** Milliseconds from `release` to the last mail. */
  ms: number
  bytes: number
  /** The most connections at once. */
  connections: number
  /** The addresses in the Reply-To headers. */
  replyTo: string[]
}

const END = '\r\n.\r\n'

let manner: SinkManner = { latencyMs: 0 }
let isReleased = false
let expected = 0
let releasedAt = 0
let held: (() => void)[] = []
const sockets = new Set<Socket>()
let report: SinkReport = { ms: 0, bytes: 0, connections: 0, replyTo: [] }

function accept(content: string): void {
  report.bytes += content.length
  const address = /^Reply-To:.*?([^\s<>]+@[^\s<>]+)/im.exec(content)?.[1]
  if (address) report.replyTo.push(address)
  if (--expected > 0) return
  report.ms = performance.now() - releasedAt
  process.send?.(report)
}

function talk(socket: Socket): void {
  sockets.add(socket)
  report.connections = Math.max(report.connections, sockets.size)
  socket.on('close', () => sockets.delete(socket))
  // The service ends connections in its own time.
  socket.on('error', () => {})
  const say = (line: string, isLate = true) =>
    isLate && manner.latencyMs ? setTimeout(() => socket.write(`${line}\r\n`), manner.latencyMs) : socket.write(`${line}\r\n`)
  const greet = () => say('220 sink.example ESMTP')
  if (isReleased) greet()
  else held.push(greet)
  let received = ''
  let isContent = false
  const obey = (command: string) => {
    const [verb = ''] = command.toUpperCase().split(/[ \r]/, 1)
    isContent = verb === 'DATA'
    if (verb === 'EHLO') say(`250-sink.example\r\n250-8BITMIME\r\n${manner.pipelining ? '250-PIPELINING\r\n' : ''}250 SMTPUTF8`)
    else if (verb === 'QUIT') socket.end('221 Bye\r\n')
    else say(isContent ? '354 Go on' : '250 OK')
  }
  socket
    .setEncoding('latin1')
    .setNoDelay()
    .on('data', (text: string) => {
      received += text
      if (isContent) {
        // Only the new end is searched.
        const end = received.indexOf(END, Math.max(0, received.length - text.length - END.length))
        if (end < 0) return
        accept(received.slice(0, end))
        isContent = false
        received = ''
        return void say('250 Accepted', manner.acceptsLate ?? false)
      }
      if (!received.endsWith('\r\n')) return
      const commands = received.split('\r\n').slice(0, -1)
      received = ''
      for (const command of commands) obey(command)
    })
}

const server = createServer(talk)

process.on('message', async (order: SinkOrder) => {
  if ('listen' in order) {
    manner = order.listen
    isReleased = false
    if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
    process.send?.((server.address() as AddressInfo).port)
  } else {
    report = { ms: 0, bytes: 0, connections: sockets.size, replyTo: [] }
    expected = order.release.mails
    isReleased = true
    releasedAt = performance.now()
    for (const greet of held) greet()
    held = []
  }
})
process.on('disconnect', () => process.exit())
