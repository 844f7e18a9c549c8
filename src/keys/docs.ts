import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

const key = {
  id: 3,
  kind: 'account' as const,
  name: 'Website form',
  read_only: false,
  space_ids: [1],
  ip_allowlist: [],
  expires_at: null,
  last_used_at: null,
  created_at: '2026-03-31 09:30:00',
}
const secret = 'gp_acct_…'

export const docs = operationDocs('Keys', {
  list: {
    summary: 'List API keys',
    description: "Returns the caller's personal keys, and to the account's owner the account keys, newest first.",
    example: { output: { rows: [key] } },
  },

  create: {
    summary: 'Create an API key',
    description: "Account keys require the account's owner. `expires_at` must be in the future. Only this answer shows the secret.",
    example: { input: { kind: 'account', name: 'Website form', space_ids: [1] }, output: { ...key, secret } },
  },

  update: {
    summary: 'Update an API key',
    description: 'Absent fields stay unchanged; null clears a field. The change applies from the next request on.',
    example: { input: { read_only: true }, output: { ...key, read_only: true } },
  },

  rotate: {
    summary: 'Replace the secret of an API key',
    description: 'The key keeps its id and settings; the old secret stops working at once.',
    example: { output: { ...key, secret } },
  },

  delete: {
    summary: 'Revoke an API key',
    description: 'The key stops working at once and cannot be restored.',
    example: { output: { ok: true } },
  },

  self: {
    summary: 'Get the calling key',
    description: 'Returns the key of the request, its rights, and the user it acts for.',
    example: {
      output: { key, account_id: 1, acts_as: { id: 7, email: 'ada@example.com', name: 'Ada Byron', timezone: 'Europe/London' } },
    },
  },
})
