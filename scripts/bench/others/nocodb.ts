/** NocoDB on the measured table: its own tables are in the database `nocodb` of the same server. */
import { join } from 'node:path'
import { until } from '../../../test/support/until.ts'
import { unhurried } from '../sql.ts'
import { type Peer, type PeerOptions, startPeer } from './peer.ts'

const ADMIN = { email: 'bench@example.com', password: 'Bench-passw0rd' }
const DATABASE = 'nocodb'
const PATIENCE = { withinMs: 120_000, everyMs: 500 }

/** @returns `url`, the address of the table's records */
export async function startNocodb({ folder, connection, db, schema }: PeerOptions): Promise<Peer> {
  await unhurried(db, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (!rowCount) await client.query(`create database ${DATABASE}`)
  })
  // NocoDB requires a password; the socket ignores it.
  const to = { host: connection.host, port: connection.port, user: connection.user, password: 'none' }
  const environment = {
    NC_DB_JSON: JSON.stringify({ client: 'pg', connection: { ...to, database: DATABASE } }),
    NC_ADMIN_EMAIL: ADMIN.email,
    NC_ADMIN_PASSWORD: ADMIN.password,
    NC_AUTH_JWT_SECRET: 'bench-secret-of-thirty-two-bytes',
    NC_TOOL_DIR: folder,
    NC_DISABLE_TELE: 'true',
    NC_DISABLE_ERR_REPORTS: 'true',
    NODE_ENV: 'production',
  }
  const { url, process } = await startPeer(folder, [join(import.meta.dirname, 'nocodb-server.ts')], environment, '/api/v1/health')
  try {
    const { token: session } = await call(url, {}, '/api/v1/auth/user/signin', ADMIN)
    const admin = { 'xc-auth': String(session) }
    const table = await findTable(url, admin, schema, { client: 'pg', connection: { ...to, database: connection.database } })
    const { token } = await call(url, admin, '/api/v1/tokens', { description: 'bench' })
    const headers = { 'xc-token': String(token) }
    return { name: 'nocodb', url: `${url}/api/v2/tables/${table}/records`, headers, pid: process.child.pid ?? 0, stop: process.stop }
  } catch (error) {
    await process.stop()
    throw error
  }
}

/** Creates the base once per data directory; it has the name of the schema. */
async function findTable(url: string, admin: Record<string, string>, schema: string, config: object): Promise<string> {
  const bases = await call(url, admin, '/api/v2/meta/bases')
  const base = bases.list?.find(({ title }) => title === schema) ?? (await makeBase(url, admin, schema, config))
  const records = async () => {
    const { list } = await call(url, admin, `/api/v2/meta/bases/${base.id}/tables`)
    return list?.find(({ table_name }) => table_name === 'records')
  }
  return String((await until(records, 'for NocoDB to find the table', PATIENCE)).id)
}

/** The schema is given with the source, because NocoDB ignores it in the connection. */
async function makeBase(url: string, admin: Record<string, string>, schema: string, config: object): Promise<Called> {
  const integration = await call(url, admin, '/api/v2/meta/integrations', { title: schema, type: 'database', sub_type: 'pg', config })
  const source = { fk_integration_id: integration.id, alias: schema, type: 'pg', inflection_column: 'none', inflection_table: 'none' }
  return call(url, admin, '/api/v2/meta/bases', {
    title: schema,
    external: true,
    sources: [{ ...source, config: { searchPath: [schema] } }],
  })
}

interface Called extends Record<string, unknown> {
  list?: Record<string, unknown>[]
}

async function call(url: string, headers: Record<string, string>, path: string, body?: object): Promise<Called> {
  const answer = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`NocoDB: ${path} answers ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Called
}
