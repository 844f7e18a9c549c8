/** Those who were admitted and stay for longer than a request: who are they by now? */

import { type Database, sql } from '../database/database.ts'
import { type Actor, actorOf, type Credentials, ofKey, ofSession, type PrincipalRow, refusalOf } from './authorize.ts'

export interface Guest {
  credentials: Credentials
  ip: string
}

/** The actor that each of them is now; undefined where the key or session has ended. In their order, by one statement. */
export async function reauthenticate(db: Database, guests: readonly Guest[], now: Date): Promise<(Actor | undefined)[]> {
  const hashes = (kind: 'key' | 'session') =>
    guests.flatMap(({ credentials }) => (credentials.kind === kind ? [credentials.tokenHash] : []))
  const rows = await db.query<PrincipalRow & { hash: string }>(
    sql`${ofKey(sql`any(${hashes('key')}::bytea[])`, sql`encode(k.token_hash, 'hex') as hash,`)}
      union all ${ofSession(sql`any(${hashes('session')}::bytea[])`, sql`encode(s.token_hash, 'hex') as hash,`)}`,
    'who:guests',
  )
  const found = new Map(rows.map((row) => [row.hash, row]))
  return guests.map(({ credentials, ip }) => {
    const row = 'tokenHash' in credentials ? found.get(credentials.tokenHash.toString('hex')) : undefined
    return row && !refusalOf(row, ip, now) ? actorOf(row) : undefined
  })
}
