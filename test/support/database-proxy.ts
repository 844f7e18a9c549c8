/** Stands between the service and PostgreSQL, so that a test can take the database away and bring it back. */
import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { testDatabase } from './database.ts'

export interface DatabaseProxy {
  /** The DATABASE_URL of the service. */
  url: string
  /** Ends all connections, and refuses new ones. */
  cut(): Promise<void>
  restore(): Promise<void>
  /** Lets nothing pass on the open connections any more, like a machine that has lost its power. New connections work. */
  silence(): void
}

export async function databaseProxy(): Promise<DatabaseProxy> {
  const { connection } = await testDatabase()
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const database = createConnection(join(connection.host, `.s.PGSQL.${connection.port}`))
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `postgresql://${connection.user}@127.0.0.1:${port}/${connection.database}`,
    async cut() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
    restore: () => listen(port),
    silence() {
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
}
