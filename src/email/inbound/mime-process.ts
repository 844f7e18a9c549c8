/** The process that parser.ts starts. It answers each message with its result, and ends when the service does. */
import { parseMail } from './mime.ts'

// A terminal and systemd signal all processes of a service. The service still waits for the message that is read.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

process.on('message', async ({ id, raw, authservId }: { id: number; raw: Uint8Array; authservId?: string }) => {
  try {
    process.send?.({ id, mail: await parseMail(raw, authservId) })
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? error.message : String(error) })
  }
})
