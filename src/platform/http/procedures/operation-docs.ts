/** The texts about an operation for /docs and openapi.json. Its router defines how it behaves. */

/** The sections of /docs, in order, each with its description. */
export const TAGS = {
  'Sign-in': 'Passwords, sessions, invitations and the profile of the person who signs in.',
  Keys: 'API keys of the account and of people, with their spaces, addresses and expiry.',
  Preferences: 'What programs keep for their user by name: drafts, recent things, a theme.',
  People: 'The users of an account, for its owner: who they are, who may come in, and who owns the account.',
  Spaces: 'Spaces and their members, each with a role.',
  Tables: 'Tables and their fields, type changes and indexes.',
  Records: 'The rows of a table: reading, searching, grouping and changing them, one by one or in batches.',
  Views: 'Saved filters, orders and layouts of a table.',
  Tasks: 'Tasks on records or by themselves, with assignees, due times, reminders and sync.',
  Subscriptions: 'Who follows a record or task, and so is notified of its changes.',
  Comments: 'Comments on records and tasks, with mentions and attachments.',
  Files: 'Files of records, tasks and comments.',
  Notifications: 'The notifications of the calling user.',
  Email: 'Email from a record: integrations, signatures, sending, tracking, and mail that comes in.',
  Events: 'The stream of changes.',
  Audit: 'The log of sign-ins, rights, settings, exports and deletions.',
  Operations: 'Health and metrics, for those who run the service.',
} as const

export interface OperationDocs {
  tag: keyof typeof TAGS
  /** A verb and its object: `Create a table`. */
  summary: string
  /** Details beyond the summary: who may call the operation, its other effects, the inputs that it refuses. */
  description: string
  example: { input?: unknown; output: unknown }
  /** Error statuses beyond the common ones, each with its message. */
  errors?: Record<number, string>
}

/** Adds the tag to the texts of one router, which are given by procedure. */
export function operationDocs<Name extends string>(
  tag: OperationDocs['tag'],
  docs: Record<Name, Omit<OperationDocs, 'tag'>>,
): Record<Name, OperationDocs> {
  const names = Object.keys(docs) as Name[]
  return Object.fromEntries(names.map((name) => [name, { tag, ...docs[name] }])) as Record<Name, OperationDocs>
}
