/**
 * The two files through which a large message goes to the process that parses it, and its attachments come back. As messages between the
 * processes, the service would copy their bytes several times, and answer nobody meanwhile.
 */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { DETECTION_BYTES } from '../../files/media-types.ts'
import { chunksOf, type FilePart, filePart } from '../../platform/bytes/file-part.ts'
import { closeNamed, type NamedFile, openNamedFile, writeAt } from '../../platform/bytes/temporary-files.ts'
import { chunkTurn } from '../../platform/concurrency/loop-turns.ts'
import type { ParsedAttachment } from './mime.ts'

/** The paths of the files. */
export interface MessagePaths {
  message: string
  attachments: string
}

/** Where an attachment is in its file. */
type Written = Omit<FilePart, 'read' | 'sha256' | 'head'> & { position: number; sha256: Uint8Array<ArrayBuffer>; head: Uint8Array }

/** An attachment whose content is in the file. */
export type WrittenAttachment = Omit<ParsedAttachment, 'content'> & { content: Written }

export class MessageFiles {
  readonly #message: NamedFile
  readonly #attachments: NamedFile

  private constructor(message: NamedFile, attachments: NamedFile) {
    this.#message = message
    this.#attachments = attachments
  }

  /** Opens empty files. The caller closes them. */
  static async open(dataDir: string): Promise<MessageFiles> {
    const message = await openNamedFile(dataDir)
    try {
      return new MessageFiles(message, await openNamedFile(dataDir))
    } catch (error) {
      await closeNamed(message)
      throw error
    }
  }

  get paths(): MessagePaths {
    return { message: this.#message.path, attachments: this.#attachments.path }
  }

  /** Writes the message. */
  async collect(pieces: AsyncIterable<Buffer>): Promise<void> {
    let position = 0
    for await (const piece of pieces) {
      await chunkTurn()
      position += await writeAt(this.#message.file, piece, position)
    }
  }

  /** The first bytes of the message. */
  async start(bytes: number): Promise<Buffer> {
    const { bytesRead, buffer } = await this.#message.file.read(Buffer.alloc(bytes), 0, bytes, 0)
    return buffer.subarray(0, bytesRead)
  }

  /** The whole message, as an attachment of itself. */
  async whole(): Promise<FilePart> {
    const { file } = this.#message
    const { size: byteLength } = await file.stat()
    const hash = createHash('sha256')
    for await (const chunk of chunksOf(file, 0, byteLength)) hash.update(chunk)
    return filePart(file, 0, { byteLength, sha256: hash.digest(), head: await this.start(DETECTION_BYTES) })
  }

  /** The attachments that the process has written. */
  read(attachments: readonly WrittenAttachment[]): ParsedAttachment[] {
    return attachments.map(({ content: { position, byteLength, sha256, head }, ...attachment }) => ({
      ...attachment,
      content: filePart(this.#attachments.file, position, { byteLength, sha256: Buffer.from(sha256), head: Buffer.from(head) }),
    }))
  }

  /** Removes the files. What was read from them must have been used. */
  async close(): Promise<void> {
    await closeNamed(this.#message)
    await closeNamed(this.#attachments)
  }
}

/** Writes the contents of attachments, one after the other. It runs in the process that has parsed them. */
export async function writeAttachments(path: string, attachments: readonly ParsedAttachment<Uint8Array>[]): Promise<WrittenAttachment[]> {
  const file = await open(path, 'r+')
  try {
    let position = 0
    const all: WrittenAttachment[] = []
    for (const { content, ...attachment } of attachments) {
      const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
      await writeAt(file, bytes, position)
      const sha256 = createHash('sha256').update(bytes).digest()
      all.push({ ...attachment, content: { position, byteLength: bytes.length, sha256, head: bytes.subarray(0, DETECTION_BYTES) } })
      position += bytes.length
    }
    return all
  } finally {
    await file.close()
  }
}
