import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { recordsOf } from '../../../src/platform/database/database.ts'
import { unhurried } from '../sql.ts'
import { startDirectus } from './directus.ts'
import { startNocodb } from './nocodb.ts'
import type { Peer, PeerOptions } from './peer.ts'

const STARTS = { directus: startDirectus, nocodb: startNocodb }

/**
 * Starts the products in `directus` and `nocodb` below the folder, on the table or a copy of it, and reports missing ones.
 * @param started receives each product at once, so that it is stopped even if the next one fails
 */
export async function startOthers(
  folder: string,
  options: Pick<PeerOptions, 'connection' | 'db'> & { tableId: number; isCopied: boolean },
  started: Pick<Peer, 'stop'>[],
): Promise<Peer[]> {
  const peers: Peer[] = []
  const schema = options.isCopied ? await copied(options) : `t${options.tableId}`
  for (const [name, start] of Object.entries(STARTS)) {
    const installed = resolve(folder, name)
    if (!existsSync(join(installed, 'node_modules', name))) {
      console.log(`${name} is not installed in ${installed}: it is left out.`)
      continue
    }
    const peer = await start({ folder: installed, connection: options.connection, db: options.db, schema })
    started.push(peer)
    peers.push(peer)
  }
  return peers
}

const COPY = 'own_copy'

/** Creates the copy that the products would have created themselves: the current records with a primary key. @returns its schema */
async function copied({ db, tableId }: Pick<PeerOptions, 'db'> & { tableId: number }): Promise<string> {
  const from = recordsOf(tableId).sql
  const to = `${COPY}.records`
  await unhurried(db, async (client) => {
    await client.query(`create schema if not exists ${COPY}; drop table if exists ${to};
      create table ${to} (like ${from} including defaults including identity); insert into ${to} select * from ${from};
      alter table ${to} add primary key (id);
      select setval(pg_get_serial_sequence('${to}', 'id'), (select max(id) from ${to}))`)
    await client.query(`vacuum analyze ${to}`)
  })
  return COPY
}
