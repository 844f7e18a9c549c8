import { openWorkProcess, WorkRefused } from '../../platform/processes/work-process.ts'
import type { MessageFiles, MessagePaths, WrittenAttachment } from './message-files.ts'
import type { ParsedMail } from './mime.ts'

/** A message that cannot be parsed, because it is nested too deep, takes too long, or crashed its process. A retry would not help. */
export class UnreadableMail extends Error {}

/** A raw message: whole, or as pieces that are written to a file, from which the process reads them. */
export type RawMessage = Uint8Array | { bytes: number; pieces: () => AsyncIterable<Buffer>; files: MessageFiles }

export interface MailParser {
  /**
   * Parses a raw message in a process of its own. Concurrent calls wait for each other. With files, the attachments are in one of them.
   * @param authservId the mail server whose Authentication-Results count
   * @throws UnreadableMail; what the pieces throw; Error if the process could not be started, or was ended from outside
   */
  parse(raw: RawMessage, authservId?: string): Promise<ParsedMail>
  /** Waiting messages are parsed first. */
  close(): Promise<void>
}

/** A raw message, as the process gets it. */
export interface RawMail {
  raw: Uint8Array | MessagePaths
  authservId: string | undefined
}

/** What the process answers: the mail, whose attachments may be in the file, or why the files could not be read or written. */
export type MailResult = { mail: ParsedMail; written?: WrittenAttachment[] } | { failure: string }

interface Options {
  /** The process is killed when a message takes longer. */
  timeoutMs?: number
  /** The heap limit of the process. */
  maxHeapMb?: number
  /** The time without a message after which the process is ended. */
  idleMs?: number
}

/**
 * A message over this size is large: it is read beside the others, so that a sender of hostile messages delays no ordinary ones, and after
 * it the process is ended, to give back the memory that it has taken.
 */
export const LARGE_BYTES = 1_048_576

export const isLargeMessage = (message: RawMessage): boolean =>
  (message instanceof Uint8Array ? message.byteLength : message.bytes) > LARGE_BYTES

/** A parser with its own process, because a thread kept 600 MB for good after a dozen hostile messages (work-process.ts). */
export function openParser({ timeoutMs = 20_000, maxHeapMb = 512, idleMs = 10_000 }: Options = {}): MailParser {
  const module = new URL('./mime-process.ts', import.meta.url)
  const worker = openWorkProcess<RawMail, MailResult>({ module, timeoutMs, maxHeapMb, idleMs })
  async function run(message: RawMessage, authservId: string | undefined): Promise<ParsedMail> {
    const isLarge = isLargeMessage(message)
    if (message instanceof Uint8Array) return mailOf(await worker.run({ raw: message, authservId }, { isLarge }))
    const { files, pieces } = message
    const prepare = () => files.collect(pieces())
    return mailOf(await worker.run({ raw: files.paths, authservId }, { isLarge, prepare }), files)
  }
  return {
    async parse(message, authservId) {
      try {
        return await run(message, authservId)
      } catch (error) {
        throw error instanceof WorkRefused ? new UnreadableMail(error.message, { cause: error }) : error
      }
    },
    close: () => worker.close(),
  }
}

function mailOf(result: MailResult, files?: MessageFiles): ParsedMail {
  if ('failure' in result) throw new Error(`The files of a message could not be used: ${result.failure}`)
  const { mail, written } = result
  return files && written ? { ...mail, attachments: files.read(written) } : mail
}
