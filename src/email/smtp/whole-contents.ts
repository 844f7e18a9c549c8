/** Sends a content that is in memory past nodemailer's streams, which take more CPU time than all the rest of a short mail. */
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'

/** What nodemailer 10 keeps inside. Its types do not contain it, so the tests notice when an update changes it. */
interface Internals {
  _envelope: { dsn?: { orcpt: string | null }; isWhole?: boolean }
  _socket: Socket
  _responseActions: ((answer: string) => void)[]
  _sendRcpt(recipient: string, callback: unknown): void
  _createSendStream(callback: unknown): object
  _actionSMTPStream(answer: string, callback: unknown): void
}

export const internalsOf = (connection: SMTPConnection) => connection as unknown as Internals

/** Lets the connection take whole contents beside streams. */
export function allowWholeContents(connection: SMTPConnection): void {
  const inner = internalsOf(connection)
  const createStream = inner._createSendStream.bind(connection)
  inner._createSendStream = (callback) => {
    if (!inner._envelope.isWhole) return createStream(callback)
    inner._responseActions.push((answer) => inner._actionSMTPStream(answer, callback))
    return {}
  }
}

/** The points of a content at which the caller acts. */
export interface ContentSteps {
  /** The server has asked for the content. */
  begin(): void
  /** Awaited when the server has been sent all of the content but its end. */
  beforeEnd(): Promise<void>
}

type Answered = (error: SMTPConnection.SMTPError | null, sent?: SMTPConnection.SentMessageInfo) => void

/** The answer to a message that the function sends. It may be answered several times, of which the first counts. */
export const answerTo = (send: (answered: Answered) => void) =>
  new Promise<SMTPConnection.SentMessageInfo>((resolve, reject) => send((error, sent) => (error || !sent ? reject(error) : resolve(sent))))

/**
 * Sends a message whose lines end with CRLF, the last one, too.
 * @param compose makes the content, while the server answers to the sender
 */
export const sendWhole = (
  connection: SMTPConnection,
  envelope: SMTPConnection.Envelope,
  compose: () => Buffer,
  { begin, beforeEnd }: ContentSteps,
): Promise<SMTPConnection.SentMessageInfo> =>
  answerTo((answered) => {
    const { _socket: socket } = internalsOf(connection)
    const end = () =>
      beforeEnd().then(
        () => void socket.write(END),
        (error) => answered(error),
      )
    const pipe = () => {
      begin()
      // If the connection ends, nodemailer says why.
      socket.write(content, (error) => void (error || end()))
    }
    connection.send(Object.assign(envelope, { isWhole: true }), { pipe } as unknown as Readable, answered)
    const content = withDoubledDots(compose())
  })

const END = '.\r\n'
const LINE_WITH_DOT = '\r\n.'

/** A dot at the beginning of a line is doubled, because a line with one dot ends the content (RFC 5321 §4.5.2). */
function withDoubledDots(content: Buffer): Buffer {
  if (!content.includes(LINE_WITH_DOT)) return content
  return Buffer.from(content.toString('latin1').replaceAll(LINE_WITH_DOT, `${LINE_WITH_DOT}.`), 'latin1')
}
