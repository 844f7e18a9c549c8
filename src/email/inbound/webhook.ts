/** The body of the webhook. Anyone may send one, so it takes little memory, and disk space only if a thread waits for a large one. */
import { createHash, type Hash } from 'node:crypto'
import { freeChunk } from '../../platform/bytes/freed-chunk.ts'
import { SPOOLED_BYTES, Spool, SpoolMemory } from '../../platform/bytes/spool.ts'
import { chunkTurn } from '../../platform/concurrency/loop-turns.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, tooBusy } from '../../platform/errors.ts'
import { perProcess } from '../../platform/processes/per-process.ts'
import { MAX_HEADER_BYTES } from '../headers.ts'
import { LARGE_BYTES } from './parser.ts'
import { isAddressed, spooledMessage, storeInbound, storingLarge } from './store.ts'

export const MAX_MAIL_BYTES = 25 * 1_048_576

const MB = 1_048_576
/** The memory for messages that are arriving: in all, and for those from one address. */
const memory = new SpoolMemory(perProcess(32 * MB), perProcess(8 * MB))

/** The database driver makes two more copies of a message, so a process stores only a few messages at once that are not small. */
const spooledMails = new Semaphore(perProcess(16), () => tooBusy({ retryAfterSeconds: 30 }))
const WAIT_MS = 30_000

/**
 * Receives a message and stores it. One that names no known reply address is read to its end and dropped.
 * @param statedBytes as the caller has stated them; 0 if it has not
 * @throws AppError 413 above 25 MB, 503 after too long a wait for other messages
 */
export async function receiveBody(context: Context, body: AsyncIterable<Buffer>, statedBytes: number): Promise<void> {
  if (statedBytes > MAX_MAIL_BYTES) throw tooLarge()
  const spool = new Spool(context.settings.dataDir, memory, context.ip ?? '')
  const hash = createHash('sha256')
  try {
    if (!(await collect(context, body, spool, hash))) return
    const store = async () => storeInbound(context, await spooledMessage(spool), hash.digest())
    const turns = spool.bytes > LARGE_BYTES ? storingLarge : spool.bytes > SPOOLED_BYTES ? spooledMails : undefined
    await (turns ? turns.run(store, { timeoutMs: WAIT_MS }) : store())
  } finally {
    await spool.close()
  }
}

/** Reads the body into the spool. @returns false if the message is dropped */
async function collect(context: Context, body: AsyncIterable<Buffer>, spool: Spool, hash: Hash): Promise<boolean> {
  let received = 0
  let isDropped = false
  for await (const chunk of body) {
    const before = received
    received += chunk.length
    if (received > MAX_MAIL_BYTES) throw tooLarge()
    if (received > SPOOLED_BYTES) await chunkTurn()
    if (isDropped) {
      freeChunk(chunk)
      continue
    }
    hash.update(chunk)
    await spool.add(chunk)
    freeChunk(chunk)
    if (before >= MAX_HEADER_BYTES || received < MAX_HEADER_BYTES) continue
    isDropped = !(await spooledMails.run(async () => isAddressed(context, await spool.start(MAX_HEADER_BYTES)), { timeoutMs: WAIT_MS }))
    if (isDropped) await spool.close()
  }
  return !isDropped
}

const tooLarge = () => new AppError('PAYLOAD_TOO_LARGE', 'The body is too large')
