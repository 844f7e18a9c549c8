/** Checks again the credentials of callers that hold a stream open. */

import type { Actor } from '../actor.ts'
import { type Database, sql } from '../database/database.ts'
import { labelled } from '../database/statements/statement.ts'
import { actorOf, type Credentials, type PrincipalRow, refusalOf, selectKey, selectSession } from './authenticate.ts'

export interface StreamCaller {
  credentials: Credentials
  ip: string
}

export interface CheckedCaller {
  actor: Actor
  /** When the key or session ends by itself, in UTC. */
  expiresAt: string | null
}

/** Reads what each caller is now, in their order, in one statement; undefined if the key or session has ended. */
export async function reauthenticate(db: Database, callers: readonly StreamCaller[], now: Date): Promise<(CheckedCaller | undefined)[]> {
  const hashes = (kind: 'key' | 'session') =>
    callers.flatMap(({ credentials }) => (credentials.kind === kind ? [credentials.tokenHash] : []))
  const rows = await db.read<PrincipalRow & { hash: string }>(
    labelled(
      'who:guests',
      sql`${selectKey(sql`any(${hashes('key')}::bytea[])`, sql`encode(k.token_hash, 'hex') as hash,`)}
      union all ${selectSession(sql`any(${hashes('session')}::bytea[])`, sql`encode(s.token_hash, 'hex') as hash,`)}`,
    ),
  )
  const found = new Map(rows.map((row) => [row.hash, row]))
  return callers.map(({ credentials, ip }) => {
    const row = 'tokenHash' in credentials ? found.get(credentials.tokenHash.toString('hex')) : undefined
    return row && !refusalOf(row, ip, now) ? { actor: actorOf(row), expiresAt: row.p_expires_at } : undefined
  })
}
