/** An SMTP client that sends what a test wants, also what no honest client would. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

export interface SmtpClient {
  /** The next answer: all its lines, without line breaks at the end. `closed` when the server has ended the connection. */
  answer(): Promise<string>
  /** Sends bytes as they are. */
  write(text: string | Buffer): void
  /** Sends a line and returns the answer. */
  command(line: string): Promise<string>
  startTls(): Promise<TLSSocket>
  readonly socket: Socket
}

/** Connects, and reads no greeting. @param localAddress from which it connects */
export async function smtpClient(port: number, localAddress = '127.0.0.1'): Promise<SmtpClient> {
  let socket: Socket = connect({ port, host: '127.0.0.1', localAddress })
  let received = ''
  let isClosed = false
  let wake = Promise.withResolvers<void>()
  const listenTo = (from: Socket) => {
    from.on('data', (bytes) => {
      received += bytes.toString('latin1')
      wake.resolve()
    })
    from.on('close', () => {
      isClosed = true
      wake.resolve()
    })
    from.on('error', () => {})
  }
  listenTo(socket)
  await once(socket, 'connect')
  const client: SmtpClient = {
    get socket() {
      return socket
    },
    async answer() {
      for (;;) {
        const whole = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(received)?.[0]
        if (whole) {
          received = received.slice(whole.length)
          return whole.trimEnd()
        }
        if (isClosed) return 'closed'
        wake = Promise.withResolvers()
        await wake.promise
      }
    },
    write: (text) => void socket.write(text),
    command(line) {
      socket.write(`${line}\r\n`)
      return client.answer()
    },
    async startTls() {
      socket.removeAllListeners('data')
      socket.removeAllListeners('close')
      const secure = connectTls({ socket, rejectUnauthorized: false })
      await once(secure, 'secureConnect')
      socket = secure
      listenTo(secure)
      return secure
    },
  }
  return client
}
