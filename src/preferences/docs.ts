import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { Preference } from './schema.ts'

const draft: Preference = {
  name: 'draft.mail.4.12',
  value: { to: ['ann@customer.example'], subject: 'Offer', body: '<p>Dear Ann,</p>' },
  version: 3,
  updated_at: '2026-03-31 09:30:00',
}

export const docs = operationDocs('Preferences', {
  list: {
    summary: 'List preferences',
    description: "Returns the caller's own values, of all names or of those that begin with `prefix`, sorted by name.",
    example: { output: { rows: [draft] } },
  },

  update: {
    summary: 'Keep a preference',
    description:
      "Keeps any JSON value of the caller under the name, in place of an earlier one; `null` deletes it. A user's programs share the " +
      'values, and nobody else reads them. With If-Match it is 409 if the value has changed since; `"0"` means that the name has no ' +
      'value. A user has at most 500 values, of 256 KB each and 4 MB together.',
    example: { input: { value: draft.value }, output: draft },
    errors: { 409: 'The preference has changed since' },
  },
})
