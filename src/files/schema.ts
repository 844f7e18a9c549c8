import { z } from 'zod'
import { Id, Instant, limit, Offset } from '../platform/http/procedures/schemas.ts'
import { ChangeId } from '../records/schema.ts'
import { uploadName } from './file-names.ts'
import { isMediaType } from './media-types.ts'

const MB = 1_048_576
/** The maximum size of an upload after decoding, in bytes (api.md, Limits). */
export const MAX_UPLOAD_BYTES = 50 * MB

export const File = z
  .object({
    name: z.string().meta({ description: 'The name for people, with its extension.' }),
    path: z.string().meta({ description: 'Identifies the file; GET /api/file/{path} returns its bytes.' }),
    size: z.int().meta({ description: 'In bytes.' }),
    type: z.string().meta({ description: 'The media type.' }),
    host: z
      .string()
      .meta({ description: 'The storage where the bytes are kept, for information. The path alone says which file is meant.' }),
  })
  .meta({ id: 'File', description: 'An attachment.' })
export type File = z.infer<typeof File>

export const StagedFile = File.extend({
  staged_token: z.string().meta({ description: 'Valid once, within a day, in the session that uploaded the file.' }),
}).meta({ id: 'StagedFile', description: 'A file for a task that does not exist yet. It gets its final path when the task is created.' })
export type StagedFile = z.infer<typeof StagedFile>

const FileName = z
  .string()
  .transform((given, context) => {
    const named = uploadName(given)
    if ('name' in named) return named.name
    context.addIssue(named.problem)
    return z.NEVER
  })
  .meta({
    description:
      'At most 255 bytes of UTF-8. Folders before the name, control characters and marks of direction are removed; the answer has the ' +
      'name that is left.',
  })

export const Upload = z
  .strictObject({
    name: FileName,
    type: z
      .string()
      .refine((type) => type === '' || isMediaType(type), 'must be a media type, such as image/png')
      .nullish()
      .meta({ description: 'The media type, with or without parameters. By default application/octet-stream.' }),
    data: z.string().meta({ description: 'The bytes as base64, at most 50 MB after decoding.' }),
  })
  .meta({ id: 'FileUpload', description: 'A file to store.' })
export type Upload = z.infer<typeof Upload>

export const FieldUpload = Upload.extend({ field_id: z.string().meta({ description: 'The field of type file that gets it.' }) }).meta({
  id: 'FieldFileUpload',
  description: 'A file to add to a field of a record.',
})
export type FieldUpload = z.infer<typeof FieldUpload>

export const FileData = z
  .object({
    ...File.pick({ name: true, type: true, size: true }).shape,
    data: z.string().meta({ description: 'The bytes as base64.' }),
  })
  .meta({ id: 'FileData', description: 'A file with its bytes.' })
export type FileData = z.infer<typeof FileData>

/** A file of a record's cell. */
export const FileRef = z
  .strictObject({
    field_id: z.string().meta({ description: 'The field of type file that has it.' }),
    path: z.string().meta({ description: 'The `path` of the file, as the record shows it.' }),
  })
  .meta({ id: 'FileRef', description: 'A file of a record.' })
export type FileRef = z.infer<typeof FileRef>

export const DroppedFile = z
  .object({
    ...File.pick({ path: true, name: true, size: true, type: true }).shape,
    table_id: Id.nullable().meta({ description: 'The table of the record that had the file, or of the record of its task.' }),
    record_id: Id.nullable().meta({ description: 'The record that had the file, or whose comment, mail or task had it.' }),
    task_id: Id.nullable().meta({ description: 'The task that had the file, itself or in a comment; null for a file of a record.' }),
    field_id: z
      .string()
      .nullable()
      .meta({ description: 'The field that had the file; null if a comment, a mail, a task or a deleted record had it.' }),
    dropped_at: Instant,
    dropped_until: Instant.meta({ description: 'When the file is deleted for good.' }),
  })
  .meta({ id: 'DroppedFile', description: 'A file that nothing uses any more, and that an admin can restore.' })
export type DroppedFile = z.infer<typeof DroppedFile>

export const DroppedQuery = z.strictObject({ limit: limit(50, 200), offset: Offset })

export const FileRestore = z
  .strictObject({ path: z.string().meta({ description: 'The `path` of the file in the list of dropped files.' }) })
  .meta({ id: 'FileRestore', description: 'A dropped file to bring back.' })

export const RestoredFile = File.extend({ change_id: ChangeId }).meta({
  id: 'RestoredFile',
  description: 'A file that is in use again. Putting it back into a record is a change of the record, and into a task is none.',
})
export type RestoredFile = z.infer<typeof RestoredFile>
