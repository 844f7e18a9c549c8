import { z } from 'zod'
import { EmailAddress } from '../platform/http/procedures/schemas.ts'

const DemoUser = z
  .strictObject({
    name: z.string().meta({ description: 'The name of the user.' }),
    email: z.string().meta({ description: 'The address, by which `auth/demo` signs the user in.' }),
    role: z.enum(['owner', 'member', 'viewer']).meta({ description: 'What the user may do in the space of the demo account.' }),
  })
  .meta({ id: 'DemoUser', description: 'A user of the demo account.' })
export type DemoUser = z.infer<typeof DemoUser>

export const SignInMethods = z
  .strictObject({
    password: z.literal(true).meta({ description: 'Users sign in with their address and a password.' }),
    setup: z.boolean().meta({ description: 'Whether the service has no user yet, so that the first owner is still to be created.' }),
    demo: z
      .array(DemoUser)
      .optional()
      .meta({ description: 'The users of the demo account. Only programs on the machine of the service see them.' }),
  })
  .meta({ id: 'SignInMethods', description: 'How one signs in to this service.' })
export type SignInMethods = z.infer<typeof SignInMethods>

export const DemoSignIn = z
  .strictObject({ email: EmailAddress.meta({ description: 'The address of a user of the demo account.' }) })
  .meta({ id: 'DemoSignIn', description: 'A user of the demo account to sign in as.' })
export type DemoSignIn = z.infer<typeof DemoSignIn>
