import type { PlainOperation } from '../platform/http/openapi.ts'
import { operationDocs } from '../platform/http/operation-docs.ts'

const ada = { id: 7, name: 'Ada Byron', email: 'ada@example.com', timezone: 'Europe/London', account_id: 1, mail_preference: 'digest' }

export const docs = operationDocs('Sign-in', {
  login: {
    summary: 'Sign in',
    description:
      'Sets the session cookie (HttpOnly, SameSite=Lax). A wrong address and a wrong password get the same message. Repeated failures are ' +
      'slowed down.',
    example: { input: { email: 'ada@example.com', password: 'correct horse battery' }, output: ada },
    errors: { 401: 'Wrong email or password' },
  },

  logout: {
    summary: 'Sign out',
    description: 'Ends the session at once and clears the cookie.',
    example: { output: { ok: true } },
  },

  me: {
    summary: 'Get the signed-in user',
    description: 'Returns the user of the session.',
    example: { output: ada },
  },

  profile: {
    summary: 'Update the profile',
    description:
      'Absent fields stay unchanged. The time zone applies to date tokens, digests and "today". `mail_preference` determines when ' +
      'notifications are sent by mail.',
    example: { input: { timezone: 'Europe/London' }, output: ada },
  },

  password: {
    summary: 'Change the password',
    description: 'Ends every other session of the user.',
    example: { input: { current_password: 'correct horse battery', new_password: 'staple battery horse' }, output: { ok: true } },
  },

  acceptInvite: {
    summary: 'Accept an invitation',
    description: 'Turns the invited person into a user and signs them in. A token works once and expires after 14 days.',
    example: { input: { token: 'q1Zx…', name: 'Ada Byron', password: 'correct horse battery' }, output: ada },
  },
})

export const authOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/invite',
    operationId: 'auth.invitePage',
    tag: 'Sign-in',
    summary: 'Show the page of an invitation',
    description: 'The target of the link in an invitation mail. The page asks for a name and a password and accepts the invitation.',
    isPublic: true,
    responses: { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } },
  },
]
