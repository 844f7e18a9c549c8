/** A file as JSON with its bytes in base64, written while they are read: a file of 50 MB takes no more memory than a small one. */
import { Readable } from 'node:stream'

/**
 * @param described the properties before `data`, of which `size` is the number of bytes
 * @returns the JSON as a stream, and its length in bytes
 */
export function base64Json<Described extends { size: number }>(
  described: Described,
  bytes: Readable,
): { length: number; content: Readable } {
  const { size } = described
  const head = Buffer.from(`${JSON.stringify(described).slice(0, -1)},"data":"`)
  const tail = Buffer.from('"}')
  const length = head.length + Math.ceil(size / 3) * 4 + tail.length
  const content = Readable.from(written(head, bytes, size, tail), { objectMode: false })
  // A caller who has hung up already never begins to read, and then nothing else closes the file.
  content.once('close', () => bytes.destroy())
  return { length, content }
}

async function* written(head: Buffer, bytes: AsyncIterable<Buffer>, size: number, tail: Buffer): AsyncGenerator<Buffer> {
  yield head
  let left: Buffer = Buffer.alloc(0)
  let count = 0
  for await (const chunk of bytes) {
    count += chunk.length
    const whole = left.length ? Buffer.concat([left, chunk]) : chunk
    // Three bytes are four characters, so that only the last chunk is padded.
    const end = whole.length - (whole.length % 3)
    left = whole.subarray(end)
    if (end) yield Buffer.from(whole.toString('base64', 0, end), 'latin1')
  }
  // The Content-Length is already sent. The error closes the connection, so that the caller does not wait for the rest.
  if (count !== size) throw new Error(`The storage has ${count} bytes in place of ${size}`)
  yield Buffer.concat([Buffer.from(left.toString('base64'), 'latin1'), tail])
}
