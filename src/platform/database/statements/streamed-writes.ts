/**
 * Writes with a value that is sent while it is read. pg makes one message of all values and copies each twice, during which nobody is
 * answered. In pieces a value takes the memory of one of them, and other requests are answered in between.
 */
import type { Socket } from 'node:net'
import type pg from 'pg'
import { type Connection, PreparedQuery, runQuery } from './prepared-statements.ts'
import type { StreamedValue } from './statement.ts'

/**
 * Runs the statement.
 * @throws what the pieces throw; the connection is then closed, because the server waits for the rest of the message
 */
export const runStreamed = (
  client: pg.ClientBase,
  { text, values, streamed }: { text: string; values: unknown[]; streamed: StreamedValue },
): Promise<pg.QueryResult> => runQuery(client, new StreamedQuery(text, values, streamed))

/** A message begins with its type in one byte and its length in four, in which the type does not count. */
const LENGTH_AT = 1

class StreamedQuery extends PreparedQuery {
  readonly #streamed: StreamedValue

  constructor(text: string, values: unknown[], streamed: StreamedValue) {
    // Without a name it is parsed and described each time.
    super({ name: '', text, values })
    this.#streamed = streamed
  }

  /** Takes the messages that pg would send, and puts the bytes in the place of the mark. */
  override prepare(connection: Connection): void {
    const messages: Buffer[] = []
    super.prepare(Object.assign(Object.create(connection) as Connection, { _send: (message: Buffer) => messages.push(message) }))
    const { mark, bytes } = this.#streamed
    const index = messages.findIndex((message) => message.includes(mark))
    const bind = messages[index]
    const stream = connection.stream as Socket
    // A value could not be sent, which pg has told the caller.
    if (!bind) return void stream.write(Buffer.concat(messages))
    const at = bind.indexOf(mark)
    bind.writeInt32BE(bind.readInt32BE(LENGTH_AT) - mark.length + bytes, LENGTH_AT)
    bind.writeInt32BE(bytes, at - 4)
    const head = Buffer.concat([...messages.slice(0, index), bind.subarray(0, at)])
    const tail = Buffer.concat([bind.subarray(at + mark.length), ...messages.slice(index + 1)])
    this.#send(stream, head, tail).catch((error) => {
      // A connection that was lost is already an error of the statement.
      if (stream.destroyed) return
      this._canceledDueToError ||= error
      stream.destroy()
    })
  }

  async #send(stream: Socket, head: Buffer, tail: Buffer): Promise<void> {
    const { bytes, pieces } = this.#streamed
    await written(stream, head)
    let sent = 0
    for await (const piece of pieces()) {
      sent += piece.byteLength
      if (sent > bytes) break
      await written(stream, piece)
    }
    if (sent !== bytes) throw new Error(`A value was said to have ${bytes} bytes, and has ${sent > bytes ? 'more' : sent}`)
    await written(stream, tail)
  }
}

/** Writes the bytes, and waits until they can be overwritten. @throws Error if the connection is lost */
function written(stream: Socket, bytes: Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  return promise
}
