import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

const space = { id: 1, name: 'Sales', account_id: 1, role: 'admin' as const }
const member = { user_id: 8, name: 'Max Born', email: 'max@example.com', role: 'member' as const, status: 'active' as const }

export const docs = operationDocs('Spaces', {
  list: {
    summary: 'List spaces',
    description: 'Returns the spaces that the caller can read, sorted by name.',
    example: { output: { rows: [space] } },
  },

  get: {
    summary: 'Get a space',
    description: "The answer includes the caller's role in the space.",
    example: { output: space },
  },

  create: {
    summary: 'Create a space',
    description: "Requires the account's owner, or an account key that is not limited to certain spaces.",
    example: { input: { name: 'Sales' }, output: space },
  },

  update: {
    summary: 'Rename a space',
    description: "Requires the account's owner, or an account key that is not limited to certain spaces.",
    example: { input: { name: 'Sales EU' }, output: { ...space, name: 'Sales EU' } },
  },

  delete: {
    summary: 'Delete a space',
    description: 'Also deletes its tables, records, tasks and comments. An operator can restore the space for seven days.',
    example: { output: { ok: true } },
  },

  members: {
    summary: 'List the members of a space',
    description:
      'Returns everyone who can be assigned, mentioned or named in a user field, sorted by name. Whoever can read the space may list ' +
      'them; people who are invited, and `status`, are shown to its admins and account keys only.',
    example: { input: { search: 'max', limit: 20 }, output: { rows: [member], total: 1 } },
  },

  addMember: {
    summary: 'Add a member',
    description:
      'An unknown address is invited by mail. A member who has not accepted yet is mailed a new link, which ends the earlier one, and ' +
      'gets the given role; three mails are sent at once, then one every 20 minutes, and more is 429. A user belongs to one account, ' +
      'so an address of another account is refused with 409.',
    example: { input: { email: 'max@example.com', role: 'member' }, output: member },
    errors: { 409: 'Already a member of this space' },
  },

  updateMember: {
    summary: "Change a member's role",
    description: 'The new role applies from the next request on.',
    example: { input: { role: 'admin' }, output: { ...member, role: 'admin' } },
    errors: { 409: "The account's owner is an admin of every space" },
  },

  removeMember: {
    summary: 'Remove a member',
    description: 'The user loses access to the space at once. Their comments and changes stay, with their name.',
    example: { output: { ok: true } },
    errors: { 409: "The account's owner is an admin of every space" },
  },
})
