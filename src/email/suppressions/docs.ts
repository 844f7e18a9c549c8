import { operationDocs } from '../../platform/http/procedures/operation-docs.ts'

export const suppressionDocs = operationDocs('Email', {
  list: {
    summary: 'List suppressed addresses',
    description:
      'Returns the addresses to which the account sends no mail, newest first: those that take no mail, and those whose recipient has ' +
      'reported a mail as unwanted. For admins of a space and account keys that see every space.',
    example: {
      output: { rows: [{ email: 'ann@customer.example', reason: 'hard_bounce', since: '2026-03-02 10:14:00', comment_id: 501 }] },
    },
  },

  remove: {
    summary: 'Remove a suppressed address',
    description:
      'Mail goes to the address again, until it bounces again. Mails that were dropped stay dropped; they can be retried. For the owner, ' +
      'account keys that see every space, and admins of a space that has mailed the address.',
    example: { input: { email: 'ann@customer.example' }, output: { ok: true } },
    errors: { 404: 'Suppression not found' },
  },
})
