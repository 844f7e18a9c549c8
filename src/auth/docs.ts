import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

const ada = {
  ...{ id: 7, name: 'Ada Byron', email: 'ada@example.com', timezone: 'Europe/London' },
  ...{ account_id: 1, is_owner: false, mail_preference: 'digest' },
}

export const docs = operationDocs('Sign-in', {
  login: {
    summary: 'Sign in',
    description:
      'Sets the session cookie and a cookie by which the browser is known from then on (both HttpOnly, SameSite=Lax). If the request ' +
      'has the cookie of an earlier session of the same user, that session ends. A wrong address and a wrong password get the same ' +
      'message. Repeated failures delay further attempts on the account. From an address with too many failures, other attempts are 429 ' +
      'after a second, but a right password is let in; known browsers, and users who have signed in from there before, are not affected.',
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
    description:
      'Ends every other session of the user, and links for a new password that were mailed, and tells the user by mail. A repeated wrong ' +
      '`current_password` delays further attempts.',
    example: { input: { current_password: 'correct horse battery', new_password: 'staple battery horse' }, output: { ok: true } },
  },

  email: {
    summary: 'Change the address',
    description:
      'Mails a link to the new address, which confirms it once and within an hour; the user keeps the old address until then. If a user ' +
      'has the new address already, that user is told instead, and the answer and its time are the same. A repeated wrong ' +
      '`current_password` delays further attempts; after three mails to one address no more are sent for up to 20 minutes.',
    example: { input: { email: 'ada@new.example', current_password: 'correct horse battery' }, output: { ok: true } },
  },

  confirmEmail: {
    summary: 'Confirm a new address',
    description:
      'With the token of the link that was mailed: the part after the #. The user signs in with the new address from then on, links for ' +
      'a new password that were mailed to the old one end, and the old one is told. A token that is wrong, used or expired is 400 ' +
      '`token: is not valid any more`; an address that a user has by now is 409.',
    example: { input: { token: 'q1Zx…' }, output: { ok: true } },
    errors: { 409: 'A user has the address by now' },
  },

  forgot: {
    summary: 'Request a new password by mail',
    description:
      'Mails a link to set a new password, which works once and for an hour. The answer and its time are the same for an address that no ' +
      'user has. After three mails to one address no more are sent for up to 20 minutes; those that were sent stay valid. A network ' +
      'that asks often is answered after a second, and beyond 60 times an hour with 429, except for the first three mails to an address.',
    example: { input: { email: 'ada@example.com' }, output: { ok: true } },
  },

  reset: {
    summary: 'Set a new password',
    description:
      'With the token of the link that was mailed: the part after the #. Ends all sessions of the user, tells the user by mail, and ' +
      'makes the browser a known one; sign in with the new password afterwards. A token that is wrong, used or expired is 400 `token: ' +
      'is not valid any more`.',
    example: { input: { token: 'q1Zx…', password: 'staple battery horse' }, output: { ok: true } },
  },

  acceptInvite: {
    summary: 'Accept an invitation',
    description: 'Turns the invited person into a user and signs them in. A token works once and expires after 14 days.',
    example: { input: { token: 'q1Zx…', name: 'Ada Byron', password: 'correct horse battery' }, output: ada },
  },
})

export const sessionDocs = operationDocs('Sign-in', {
  list: {
    summary: 'List the sessions',
    description: 'Returns the browsers and programs in which the user is signed in, the last used one first.',
    example: {
      output: {
        rows: [
          {
            id: 31,
            created_at: '2026-03-30 08:12:05',
            last_seen_at: '2026-03-31 09:30:00',
            ip: '203.0.113.7',
            user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
            current: true,
          },
        ],
      },
    },
  },

  end: {
    summary: 'End a session',
    description: 'Signs the user out in that browser or program at once. Ending the session of the request itself clears its cookie.',
    example: { output: { ok: true } },
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
  {
    method: 'get',
    path: '/reset',
    operationId: 'auth.resetPage',
    tag: 'Sign-in',
    summary: 'Show the page for a new password',
    description: 'The target of the link in a mail about a forgotten password. The page asks for a new password and sets it.',
    isPublic: true,
    responses: { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } },
  },
  {
    method: 'get',
    path: '/confirm',
    operationId: 'auth.confirmPage',
    tag: 'Sign-in',
    summary: 'Show the page that confirms a new address',
    description: 'The target of the link in a mail to a new address. The page confirms the address.',
    isPublic: true,
    responses: { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } },
  },
  {
    method: 'get',
    path: '/forgot',
    operationId: 'auth.forgotPage',
    tag: 'Sign-in',
    summary: 'Show the page for a forgotten password',
    description: 'The target of the link in a mail about a changed password. The page asks for an address and mails it a link.',
    isPublic: true,
    responses: { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } },
  },
]
