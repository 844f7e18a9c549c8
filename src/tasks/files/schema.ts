/** Files of tasks and their comments on the wire: as answers tell them, and as requests take them up. */
import { z } from 'zod'
import { absentOr } from '../../platform/http/validation-messages.ts'

export const Attachment = z
  .strictObject({ path: z.string(), name: z.string(), size: z.int(), type: z.string(), host: z.string() })
  .meta({ id: 'Attachment', description: 'A stored file.' })

const MAX_ATTACHMENTS = 100
const UploadedFile = {
  path: z.string().max(1_000, 'must have at most 1000 characters'),
  name: absentOr(z.string()),
  size: absentOr(z.number()),
  type: absentOr(z.string()),
  host: absentOr(z.string()),
}
/** A list of them, as the bodies of requests name it. */
export const attachments = <Entry extends z.ZodType>(entry: Entry) =>
  z.array(entry).max(MAX_ATTACHMENTS, `must have at most ${MAX_ATTACHMENTS} files`)

/** An entry as an upload for the task or its comments answered it. The path counts; what else is given must be as uploaded. */
export const AttachmentEntry = z.strictObject(UploadedFile)
export type AttachmentEntry = z.infer<typeof AttachmentEntry>

/** An entry as an upload for a new task answered it. The token counts; what else is given must be as uploaded. */
export const StagedEntry = z.strictObject({
  ...UploadedFile,
  path: absentOr(UploadedFile.path),
  staged_token: z.string().max(200, 'must have at most 200 characters'),
})
export type StagedEntry = z.infer<typeof StagedEntry>
