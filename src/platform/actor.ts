/** Who acts: a user, a key, or the service itself. */

export type CallerKind = 'session' | 'account' | 'personal'

/** The user or key that acts. Jobs and scripts act as `system`, which no request can become. */
export interface Actor {
  kind: CallerKind | 'system'
  accountId: number
  /** The acting user: for an account key, the account's owner. */
  userId: number
  email: string
  name: string
  timeZone: string
  isOwner: boolean
  readOnly: boolean
  /** The whitelist of an account key; null admits every space. */
  spaceIds: number[] | null
  keyId: number | null
  keyName: string | null
  sessionId: number | null
}

/** The actor of jobs and scripts. */
export const systemActor: Actor = {
  kind: 'system',
  accountId: 0,
  userId: 0,
  email: '',
  name: 'Gridpost',
  timeZone: 'UTC',
  isOwner: false,
  readOnly: false,
  spaceIds: null,
  keyId: null,
  keyName: null,
  sessionId: null,
}
