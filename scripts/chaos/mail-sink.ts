/** An SMTP server that counts what it accepts, and fails on demand. */
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export type SmtpTrouble = 'refuses connections' | 'answers 451' | 'hangs up'

export interface MailSink {
  port: number
  /** How often each mail was accepted, by subject and recipient. */
  accepted(subject: string, recipient: string): number
  /** The number of accepted letters whose Message-ID was accepted before. */
  repeated(): number
  /** The number of accepted mails. */
  size(): number
  fail(trouble: SmtpTrouble | undefined): void
  close(): Promise<void>
}

export async function startSink(): Promise<MailSink> {
  const counts = new Map<string, number>()
  const ids = new Map<string, number>()
  let trouble: SmtpTrouble | undefined
  let size = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 200,
    onConnect(_, callback) {
      if (trouble !== 'refuses connections') return callback()
      callback(Object.assign(new Error('4.3.2 Not now'), { responseCode: 421 }))
    },
    onData(stream, session, callback) {
      buffer(stream).then((raw) => {
        if (trouble === 'hangs up') return void [...server.connections].map((connection) => connection.close())
        if (trouble) return callback(Object.assign(new Error('4.3.0 Try again later'), { responseCode: 451 }))
        const head = raw.toString('latin1').split('\r\n\r\n')[0] ?? ''
        const subject = /^Subject: (.*)$/im.exec(head)?.[1] ?? ''
        const id = `${/^Message-ID: (.*)$/im.exec(head)?.[1]} ${session.envelope.rcptTo.map(({ address }) => address)}`
        ids.set(id, (ids.get(id) ?? 0) + 1)
        for (const { address } of session.envelope.rcptTo)
          counts.set(`${subject} ${address}`, (counts.get(`${subject} ${address}`) ?? 0) + 1)
        size++
        callback()
      }, callback)
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as AddressInfo).port,
    accepted: (subject, recipient) => counts.get(`${subject} ${recipient}`) ?? 0,
    repeated: () => [...ids.values()].filter((count) => count > 1).length,
    size: () => size,
    fail: (next) => {
      trouble = next
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
