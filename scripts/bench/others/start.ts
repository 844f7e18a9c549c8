import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../src/db.ts'
import { unhurried } from '../sql.ts'
import { startDirectus } from './directus.ts'
import { startNocodb } from './nocodb.ts'
import type { Peer, Place } from './peer.ts'

const STARTS = { directus: startDirectus, nocodb: startNocodb }

/**
 * Starts what is installed in `directus` and `nocodb` below the folder, on the table, and says what is not there.
 * @param started learns of each at once, so that it is stopped whatever happens to the next
 */
export async function startOthers(
  folder: string,
  place: Pick<Place, 'connection' | 'db'> & { tableId: number },
  started: Pick<Peer, 'stop'>[],
): Promise<Peer[]> {
  const peers: Peer[] = []
  for (const [name, start] of Object.entries(STARTS)) {
    const installed = resolve(folder, name)
    if (!existsSync(join(installed, 'node_modules', name))) {
      console.log(`${name} is not installed in ${installed}: it is left out.`)
      continue
    }
    const peer = await start({ folder: installed, connection: place.connection, db: place.db, schema: `t${place.tableId}` })
    started.push(peer)
    peers.push(peer)
  }
  return peers
}

const QUIET_POLL_MS = 100
const QUIET_POLLS = 3
const MOST_POLLS = 1_200

/** Waits until Postgres has ended what nobody waits for any more: a statement goes on when its caller has hung up. */
export async function untilQuiet(db: Database): Promise<void> {
  await unhurried(db, async (client) => {
    let quiet = 0
    for (let polls = 0; quiet < QUIET_POLLS && polls < MOST_POLLS; polls++) {
      await sleep(QUIET_POLL_MS)
      const { rows } = await client.query(
        `select from pg_stat_activity where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      quiet = rows.length ? 0 : quiet + 1
    }
  })
}
