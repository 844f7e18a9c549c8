/** The texts about an operation for /docs and openapi.json. Its router defines how it behaves. */

/** The sections of /docs, in order. */
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
  'Audit',
  'Operations',
] as const

export interface OperationDocs {
  tag: (typeof TAGS)[number]
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
