/** Writes the rows of a record's comments as JSON text. */
import { z } from 'zod'
import { File } from '../files/schema.ts'
import { asJsonb, asNumber, asText, listWriter, type RowShape, rowWriter } from '../platform/http/row-json.ts'
import { RecordComment } from './schema.ts'

/** The columns of a comment on a record, in their order. */
const SHAPE: RowShape<RecordComment> = {
  id: asNumber,
  table_id: asNumber,
  record_id: asNumber,
  type: asText,
  user_id: asNumber,
  user_name: asText,
  api_key_id: asNumber,
  content: asText,
  attachments: asJsonb(z.array(File)),
  metadata: asJsonb(RecordComment.shape.metadata),
  created_at: asText,
  updated_at: asText,
}

export const writeRecordComment = rowWriter(SHAPE)
export const writeRecordComments = listWriter(SHAPE)

export const writeForReaders = listWriter<RecordComment>({
  ...SHAPE,
  metadata: asJsonb(RecordComment.shape.metadata.transform(withoutBlindCopies)),
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
