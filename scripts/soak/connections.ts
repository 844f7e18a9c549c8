/** HTTP connections for load: they cost a fraction of Node's own client, because the load shares the machine with the service. */
import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  retryAfter: string | undefined
  ms: number
}

/** Fewer than a process accepts within a tenth of a second. */
const OPENED_AT_ONCE = 16

/** Keeps connections open, and opens as many as are needed at once. */
export class Connections {
  readonly #port: number
  readonly #most: number
  readonly #idle: Connection[] = []
  readonly #open = new Set<Connection>()

  constructor(port: number, { most }: { most: number }) {
    this.#port = port
    this.#most = most
  }

  /**
   * Opens connections until there are so many, a few at a time, and sends a request on each, so that the service has accepted them and keeps
   * them alive.
   */
  async open(count: number, request: string): Promise<void> {
    const openNext = async () => {
      while (this.#open.size < count) {
        const connection = this.#connect()
        if (!connection) return
        await this.#answerOf(connection, request)
      }
    }
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openNext))
  }

  /** Opens so many connections at once, and sends a request on each. They are closed afterwards. */
  async rush(count: number, request: string): Promise<PromiseSettledResult<Answer>[]> {
    const opened = Array.from({ length: count }, () => new Connection(this.#port))
    const answers = await Promise.allSettled(opened.map((connection) => connection.send(request)))
    for (const connection of opened) connection.close()
    return answers
  }

  /** Sends a request. @returns undefined if all connections are in use; the promise is rejected if the connection fails */
  send(request: string): Promise<Answer> | undefined {
    const connection = this.#idleOne() ?? this.#connect()
    if (!connection) return undefined
    return this.#answerOf(connection, request)
  }

  #answerOf(connection: Connection, request: string): Promise<Answer> {
    return connection.send(request).finally(() => {
      if (connection.isUsable) this.#idle.push(connection)
    })
  }

  close(): void {
    for (const connection of this.#open) connection.close()
  }

  #idleOne(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) if (connection.isUsable) return connection
    return undefined
  }

  #connect(): Connection | undefined {
    if (this.#open.size >= this.#most) return undefined
    // The service closes those that are idle for long.
    const connection = new Connection(this.#port, () => this.#open.delete(connection))
    this.#open.add(connection)
    return connection
  }
}

const TIMEOUT_MS = 15_000
/** An idle connection is closed before the service would. The times differ, or all those that were opened together would be closed together. */
const IDLE_MS = { least: 20_000, more: 40_000 }

class Connection {
  readonly #socket: Socket
  #pending: { resolve(answer: Answer): void; reject(error: Error): void; sentAt: number } | undefined
  #received = ''
  isUsable = true

  constructor(port: number, closed = () => {}) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (chunk: string) => this.#receive(chunk))
    this.#socket.on('timeout', () => (this.#pending ? this.#fail(new Error('no answer in 15 s')) : this.close()))
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => {
      closed()
      this.#fail(new Error('the connection was closed'))
    })
  }

  send(request: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#pending = { resolve, reject, sentAt: performance.now() }
    this.#socket.setTimeout(TIMEOUT_MS)
    this.#socket.write(request)
    return promise
  }

  close(): void {
    this.isUsable = false
    this.#socket.destroy()
  }

  #fail(error: Error): void {
    this.close()
    this.#pending?.reject(error)
    this.#pending = undefined
  }

  #receive(chunk: string): void {
    this.#received += chunk
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0 || !this.#pending) return
    const head = this.#received.slice(0, headEnd)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (this.#received.length < headEnd + 4 + length) return
    const { resolve, sentAt } = this.#pending
    this.#pending = undefined
    this.#received = ''
    this.#socket.setTimeout(IDLE_MS.least + Math.random() * IDLE_MS.more)
    if (/^connection: close/im.test(head)) this.isUsable = false
    resolve({ status: Number(head.slice(9, 12)), retryAfter: /^retry-after: (.+)$/im.exec(head)?.[1], ms: performance.now() - sentAt })
  }
}
