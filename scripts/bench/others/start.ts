import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
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
