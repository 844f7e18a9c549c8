/** Writes the rows of a record's comments as JSON text. */
import { jsonb } from '../platform/http/columns.ts'
import { listWriter } from '../platform/http/row-json.ts'
import { type RecordComment, recordCommentColumns } from './schema.ts'

export const writeRecordComments = listWriter<RecordComment>(recordCommentColumns)

export const writeForReaders = listWriter<RecordComment>({
  ...recordCommentColumns,
  metadata: jsonb(recordCommentColumns.metadata.schema.transform(withoutBlindCopies)),
})

type Failure = { message: string }
type Recipient = { kind?: string; error?: Failure | null }

/** The metadata of an email as callers without write access see it: without the blind copies (contract.md §6, metadata). */
function withoutBlindCopies(metadata: RecordComment['metadata']): RecordComment['metadata'] {
  if (!metadata || !('bcc' in metadata)) return metadata
  const { bcc: _, recipients = [], error, ...rest } = metadata as { bcc: unknown; recipients?: Recipient[]; error?: Failure | null }
  const shown = recipients.filter(({ kind }) => kind !== 'bcc')
  // The email has the error of one of its recipients, and servers name the address in it.
  const isOf = (recipient: Recipient) => recipient.error?.message === error?.message
  const isHidden = error && recipients.some(isOf) && !shown.some(isOf)
  const shownError = isHidden ? (shown.find((recipient) => recipient.error)?.error ?? null) : error
  return { ...rest, ...(error !== undefined && { error: shownError }), recipients: shown }
}
