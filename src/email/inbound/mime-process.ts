/** The process that parser.ts starts. */
import { readFile } from 'node:fs/promises'
import { serveWork } from '../../platform/processes/served-work.ts'
import { writeAttachments } from './message-files.ts'
import { parseMail } from './mime.ts'
import type { MailResult, RawMail } from './parser.ts'

serveWork(async ({ raw, authservId }: RawMail): Promise<MailResult> => {
  if (raw instanceof Uint8Array) return { mail: await parseMail(raw, authservId) }
  // A file that cannot be read or written is not the fault of the message.
  const bytes = await readFile(raw.message).catch(errorOf)
  if (bytes instanceof Error) return { failure: bytes.message }
  const mail = await parseMail(bytes, authservId)
  const written = await writeAttachments(raw.attachments, mail.attachments).catch(errorOf)
  return written instanceof Error ? { failure: written.message } : { mail: { ...mail, attachments: [] }, written }
})

const errorOf = (error: Error) => error
