/** Files of tasks and their comments on the wire, in responses and in requests. */
import { z } from 'zod'
import { absentOr } from '../../platform/validation-messages.ts'

export const Attachment = z
  .strictObject({
    path: z.string().meta({ description: 'Identifies the file; GET /api/file/{path} returns its bytes.' }),
    name: z.string().meta({ description: 'The name for people, with its extension.' }),
    size: z.int().meta({ description: 'In bytes.' }),
    type: z.string().meta({ description: 'The media type.' }),
    host: z.string().meta({ description: 'The storage where the bytes are kept, for information.' }),
  })
  .meta({ id: 'Attachment', description: 'A stored file.' })

export const MAX_ATTACHMENTS = 100
const ECHOED = 'As the upload answered it; not needed.'
const UploadedFile = {
  path: z.string().max(1_000, 'must have at most 1000 characters').meta({ description: 'The `path` of the upload.' }),
  name: absentOr(z.string()).meta({ description: ECHOED }),
  size: absentOr(z.number()).meta({ description: ECHOED }),
  type: absentOr(z.string()).meta({ description: ECHOED }),
  host: absentOr(z.string()).meta({ description: ECHOED }),
}
/** A list of files in the body of a request. */
export const attachments = <Entry extends z.ZodType>(entry: Entry) =>
  z.array(entry).max(MAX_ATTACHMENTS, `must have at most ${MAX_ATTACHMENTS} files`)

/** The response of an upload for the task or its comments. The path identifies the file; other keys must equal those of the upload. */
export const AttachmentEntry = z
  .strictObject(UploadedFile)
  .meta({ id: 'AttachmentEntry', description: 'The response of an upload. The path identifies the file.' })
export type AttachmentEntry = z.infer<typeof AttachmentEntry>

/** The response of an upload for a new task. The token identifies the file; other keys must equal those of the upload. */
export const StagedEntry = z
  .strictObject({
    ...UploadedFile,
    path: absentOr(UploadedFile.path).meta({ description: 'As the upload answered it; not needed.' }),
    staged_token: z
      .string()
      .max(200, 'must have at most 200 characters')
      .meta({ description: 'The token of the upload, which identifies the file.' }),
  })
  .meta({ id: 'StagedEntry', description: 'The response of an upload for a new task. The token identifies the file.' })
export type StagedEntry = z.infer<typeof StagedEntry>
