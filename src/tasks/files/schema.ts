/** Files of tasks and their comments on the wire, in responses and in requests. */
import { z } from 'zod'
import { absentOr } from '../../platform/validation-messages.ts'

export const Attachment = z
  .strictObject({ path: z.string(), name: z.string(), size: z.int(), type: z.string(), host: z.string() })
  .meta({ id: 'Attachment', description: 'A stored file.' })

export const MAX_ATTACHMENTS = 100
const UploadedFile = {
  path: z.string().max(1_000, 'must have at most 1000 characters'),
  name: absentOr(z.string()),
  size: absentOr(z.number()),
  type: absentOr(z.string()),
  host: absentOr(z.string()),
}
/** A list of files in the body of a request. */
export const attachments = <Entry extends z.ZodType>(entry: Entry) =>
  z.array(entry).max(MAX_ATTACHMENTS, `must have at most ${MAX_ATTACHMENTS} files`)

/** The response of an upload for the task or its comments. The path identifies the file; other keys must equal those of the upload. */
export const AttachmentEntry = z.strictObject(UploadedFile)
export type AttachmentEntry = z.infer<typeof AttachmentEntry>

/** The response of an upload for a new task. The token identifies the file; other keys must equal those of the upload. */
export const StagedEntry = z.strictObject({
  ...UploadedFile,
  path: absentOr(UploadedFile.path),
  staged_token: z.string().max(200, 'must have at most 200 characters'),
})
export type StagedEntry = z.infer<typeof StagedEntry>
