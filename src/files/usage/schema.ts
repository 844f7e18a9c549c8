import { z } from 'zod'

const count = (description: string) => z.int().meta({ description })

export const Usage = z
  .object({
    files: count('Stored files, dropped ones and uploads that nothing has used included.'),
    bytes: count('Their bytes.'),
    limit: z.int().nullable().meta({ description: 'The most bytes that the account may store (STORAGE_LIMIT_MB); null without a limit.' }),
    records: count('Records of all tables.'),
    tasks: count('Tasks, standalone ones included.'),
    mails: count('Mails that were sent from records, and those that came as replies.'),
  })
  .meta({ id: 'Usage', description: 'What an account stores.' })
export type Usage = z.infer<typeof Usage>
