/** The thread that parser.ts starts. It answers each message with its result. */
import { parentPort } from 'node:worker_threads'
import { parseMail } from './mime.ts'

parentPort?.on('message', async ({ id, raw, authservId }: { id: number; raw: Uint8Array; authservId?: string }) => {
  try {
    parentPort?.postMessage({ id, mail: await parseMail(raw, authservId) })
  } catch (error) {
    parentPort?.postMessage({ id, error: error instanceof Error ? error.message : String(error) })
  }
})
