import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

const user = {
  id: 8,
  name: 'Max Born',
  email: 'max@example.com',
  status: 'active' as const,
  last_seen_at: '2026-11-22 09:30:00',
  spaces: [{ space_id: 1, role: 'member' as const }],
}

export const docs = operationDocs('People', {
  list: {
    summary: 'List the users of the account',
    description: "Requires the account's owner. Everybody who was ever invited is in it, sorted by name; users who were erased come last.",
    example: { output: { rows: [user] } },
  },

  disable: {
    summary: 'Disable a user',
    description:
      "Requires the account's owner. The user's sessions, links and personal keys end at once; a request that is running comes to its " +
      'end. Emails of the user that wait are dropped with the code `SENDER_DISABLED`. Reminders and notifications rest: none is made or ' +
      'mailed meanwhile, and a reminder whose time passes counts as missed. Tasks, memberships and what the user wrote stay. Disabling a ' +
      'user twice has no further effect.',
    example: { output: { ok: true } },
    errors: { 409: "The account's owner cannot be disabled; hand the account to another user first" },
  },

  enable: {
    summary: 'Enable a user',
    description:
      "Requires the account's owner. The user can sign in again with the same password, and has the same spaces and tasks. Sessions, " +
      'keys, invitations and emails that ended stay so. Enabling a user who is not disabled has no effect.',
    example: { output: { ok: true } },
    errors: { 409: 'The user was erased' },
  },

  erase: {
    summary: 'Erase a user for good',
    description:
      "Requires the account's owner and their password; a wrong one counts as a failed sign-in. The user is called `Deleted user <id>` " +
      'from then on and has no address, which can be invited again as a new person. Sessions, links, personal keys, signatures, ' +
      'memberships, subscriptions and own notifications go, and emails that wait are dropped with the code `SENDER_DISABLED`. Tasks and ' +
      'what the user wrote stay; comments, mentions, notifications, saved views and the histories of records show the new name, which ' +
      'takes a while where there are many. Emails that were sent or received, and the audit log, which has ids only, stay as they are. ' +
      'There is no way back.',
    example: { input: { current_password: 'the password of the owner' }, output: { ok: true } },
    errors: { 409: 'The user was erased' },
  },

  owner: {
    summary: 'Hand the account to another owner',
    description:
      "Requires the account's owner and their password; a wrong one counts as a failed sign-in. The new owner has to be an active user " +
      "of the account. They become an admin of every space, and the account's keys act for them from the next request on. The former " +
      'owner stays a user with the role that they have in each space.',
    example: { input: { user_id: 8, current_password: 'the password of the owner' }, output: { ok: true } },
    errors: { 404: 'User not found', 409: 'Only an active user can own the account; this one is invited' },
  },
})

const userId = {
  name: 'user_id',
  in: 'path',
  required: true,
  description: 'A user of the account.',
  schema: { type: 'integer' },
  example: 8,
}

export const peopleOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/user/{user_id}/export.zip',
    operationId: 'users.export',
    tag: 'People',
    summary: 'Export what is kept about a user',
    description:
      "Requires the account's owner, or the user. A ZIP archive, written while it is read: `profile.json`, and a JSON array for each of " +
      'memberships, sessions, keys (without secrets), signatures, changes of the address, subscriptions, tasks, comments, changes of ' +
      'records, mails that were sent, notifications, views and entries of the audit log; `files.json` lists the files that the user ' +
      'has uploaded, which are in `files/`. Users who export their own data do not get tasks, changes of records, notifications and ' +
      'views in spaces that they may not read any more. Each export is audited. If it fails on the way, the connection is closed before ' +
      'the end.',
    isPublic: false,
    parameters: [userId],
    responses: {
      200: { description: 'The archive.', content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } } },
    },
    errors: [400, 401, 403, 404, 429],
  },
]

export const setupDocs = operationDocs('Sign-in', {
  setup: {
    summary: 'Create the first owner',
    description:
      'With the token of the link that a start of the service prints while it has no user: the part after the #. Creates the account, ' +
      'called `account_name` or `Main`, and a space `Main`, and signs the owner in. A token is valid for 24 hours, in every ' +
      'process with the same SECRET_KEY; a wrong one is 400 `token: is not valid any more`, and repeated ones from a network are delayed ' +
      'like failed sign-ins.',
    example: {
      input: { token: 'q1Zx…', name: 'Ada Byron', email: 'ada@example.com', password: 'correct horse battery', timezone: 'Europe/London' },
      output: {
        ...{ id: 1, name: 'Ada Byron', email: 'ada@example.com', timezone: 'Europe/London' },
        ...{ account_id: 1, is_owner: true, mail_preference: 'digest' },
      },
    },
    errors: { 409: 'Already set up' },
  },
})
