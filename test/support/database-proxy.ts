/** Stands between the service and PostgreSQL, so that a test can take the database away and bring it back. */
import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../scripts/free-port.ts'
import { testDatabase } from './database.ts'

export interface DatabaseProxy {
  /** The DATABASE_URL of the service. */
  url: string
  /** Ends all connections, and refuses new ones. */
  cut(): Promise<void>
  /** Refuses new connections, and keeps the open ones. */
  refuse(): void
  /** Accepts connections again. */
  restore(): Promise<void>
  /** Lets nothing pass on the open connections any more, like a machine that has lost its power. New connections work. */
  silence(): void
  /** Keeps all connections open and accepts others, but forwards nothing, like a suspended server. The others are closed at `resume`. */
  hang(): void
  resume(): void
}

export async function databaseProxy(): Promise<DatabaseProxy> {
  const { connection } = await testDatabase()
  /** Each with the socket that gets its bytes. */
  const sockets = new Map<Socket, Socket>()
  /** Connections that came while the proxy hangs. */
  const held: Socket[] = []
  let isHanging = false
  const server = createServer((client) => {
    if (isHanging) return void held.push(client.on('error', () => {}))
    const database = createConnection(join(connection.host, `.s.PGSQL.${connection.port}`))
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.set(from, to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  // One that systems give to nobody by themselves, not even to a client that tries to connect to it, while the proxy does not listen.
  const port = await freePort()
  const listen = async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen()
  return {
    url: `postgresql://${connection.user}@127.0.0.1:${port}/${connection.database}`,
    async cut() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets.keys()) socket.destroy()
      await closed
    },
    refuse: () => void server.close(),
    restore: listen,
    silence() {
      for (const socket of sockets.keys()) socket.unpipe().pause()
    },
    hang() {
      isHanging = true
      for (const socket of sockets.keys()) socket.unpipe().pause()
    },
    resume() {
      isHanging = false
      for (const client of held.splice(0)) client.destroy()
      for (const [from, to] of sockets) from.pipe(to)
    },
  }
}
