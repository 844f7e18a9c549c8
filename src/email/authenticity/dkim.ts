/** The shapes of DKIM in the API. */
import { z } from 'zod'
import { Domain } from '../address.ts'

export const NewDkim = z
  .strictObject({
    domain: Domain.meta({ description: 'The domain whose DNS has the key: that of the senders, or above it.' }),
    selector: z
      .string()
      .max(63, 'must have at most 63 characters')
      .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i, 'must have letters, digits and hyphens only')
      .toLowerCase()
      .meta({ description: 'The name of the key in the DNS of the domain.' }),
  })
  .meta({ id: 'NewDkim', description: 'A signature for every mail.' })
  .nullable()
  .meta({
    description:
      'The domain and the selector of a signature that every mail gets. Another domain or selector makes a new key; null removes it.',
  })
export type NewDkim = NonNullable<z.infer<typeof NewDkim>>

export const Dkim = z
  .object({
    domain: z.string().meta({ description: 'The domain that signs.' }),
    selector: z.string().meta({ description: 'The name of the key in the DNS of the domain.' }),
    public_key: z.string().meta({ description: 'RSA, 2048 bits; base64 of its DER form.' }),
  })
  .nullable()
  .meta({ description: 'The key with which mails are signed. Null: they are not signed.' })
export type Dkim = NonNullable<z.infer<typeof Dkim>>

export const DkimRecord = z
  .object({
    name: z.string().meta({ description: 'The name of the record.' }),
    type: z.literal('TXT').meta({ description: 'The type of the record.' }),
    value: z.string().meta({ description: 'The text of the record.' }),
  })
  .nullable()
  .meta({ description: 'The DNS record to publish, without which receivers cannot check the signature.' })
