/** What /docs and openapi.json tell a reader about an operation. How it behaves is said in its router. */

/** The sections of /docs, in the order in which readers look for them. */
export const TAGS = [
  'Sign-in',
  'Keys',
  'Spaces',
  'Tables',
  'Records',
  'Views',
  'Tasks',
  'Subscriptions',
  'Comments',
  'Files',
  'Notifications',
  'Email',
  'Events',
  'Operations',
] as const

export interface OperationDocs {
  tag: (typeof TAGS)[number]
  /** A verb and its object: `Create a table`. */
  summary: string
  /** What the summary leaves open: who may call it, what else it changes, what it refuses. */
  description: string
  example: { input?: unknown; output: unknown }
  /** Statuses beyond those that every operation of its kind can answer, each with its message. */
  errors?: Record<number, string>
}

/** The texts of one router, by procedure. */
export function operationDocs<Name extends string>(
  tag: OperationDocs['tag'],
  docs: Record<Name, Omit<OperationDocs, 'tag'>>,
): Record<Name, OperationDocs> {
  const names = Object.keys(docs) as Name[]
  return Object.fromEntries(names.map((name) => [name, { tag, ...docs[name] }])) as Record<Name, OperationDocs>
}
