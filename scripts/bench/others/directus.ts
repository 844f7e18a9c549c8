/** Directus on the measured table: its own tables are in the schema `directus` of the same database. */
import { once } from 'node:events'
import { unhurried } from '../sql.ts'
import { type Peer, type PeerOptions, run, startPeer } from './peer.ts'

const CLI = 'node_modules/directus/cli.js'
const TOKEN = 'bench-token-of-the-admin'

export async function startDirectus({ folder, connection, db, schema }: PeerOptions): Promise<Peer> {
  const environment = {
    DB_CLIENT: 'pg',
    DB_HOST: connection.host,
    DB_PORT: String(connection.port),
    DB_USER: connection.user,
    // Directus requires a password; the socket ignores it.
    DB_PASSWORD: 'none',
    DB_DATABASE: connection.database,
    DB_SEARCH_PATH: `array:directus,${schema}`,
    SECRET: 'bench-secret-of-thirty-two-bytes',
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: 'bench-password',
    ADMIN_TOKEN: TOKEN,
    LOG_LEVEL: 'warn',
    NODE_ENV: 'production',
    TELEMETRY: 'false',
    RATE_LIMITER_ENABLED: 'false',
    // Without this it answers 503 when its event loop is late.
    PRESSURE_LIMITER_ENABLED: 'false',
  }
  const isInstalled = await unhurried(db, async (client) => {
    await client.query('create schema if not exists directus')
    return (await client.query("select to_regclass('directus.directus_settings') is not null as there")).rows[0].there
  })
  if (!isInstalled) await bootstrap(folder, environment)
  const { url, process } = await startPeer(folder, [CLI, 'start'], environment, '/server/ping')
  return { name: 'directus', url, headers: { authorization: `Bearer ${TOKEN}` }, pid: process.child.pid ?? 0, stop: process.stop }
}

async function bootstrap(folder: string, environment: Record<string, string>): Promise<void> {
  const [status] = await once(run(folder, [CLI, 'bootstrap'], environment), 'exit')
  if (status !== 0) throw new Error(`directus bootstrap ended with ${status}: see server.log in ${folder}`)
}
