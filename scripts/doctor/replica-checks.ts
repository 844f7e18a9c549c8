/** The replicas of DATABASE_REPLICA_URLS. */
import pg from 'pg'
import { obstacleOf, PRIMARY_SQL, type PrimaryRow, REPLICA_SQL, type ReplicaRow } from '../../src/platform/database/replicas/suitability.ts'
import { nameOfReplica } from '../../src/platform/database/replicas/watched-replica.ts'
import type { Examined, Finding } from './finding.ts'

/** Replicas that the service would not read. It does without them, and asks the primary more. */
export async function checkReplicas({ database, settings }: Examined): Promise<Finding[]> {
  if (!settings.replicaUrls.length) return []
  const [primary] = await database.rows<PrimaryRow>(PRIMARY_SQL)
  const found = await Promise.all(
    settings.replicaUrls.map(async (url): Promise<Finding[]> => {
      const obstacle = primary && (await obstacleAt(url, primary))
      if (!obstacle) return []
      const advice = 'See docs/scaling.md (Replicas). Until then its reads go to the primary and to the other replicas.'
      return [
        { check: 'replicas.not_read', severity: 'warning', problem: `The replica ${nameOfReplica(url)} is not read: ${obstacle}`, advice },
      ]
    }),
  )
  return found.flat()
}

/** A replica that is suspended takes connections, and may have one open when it falls silent. */
const LIMITS = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 }

async function obstacleAt(url: string, primary: PrimaryRow): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, ...LIMITS, application_name: 'gridpost doctor' })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<ReplicaRow>(REPLICA_SQL)
    return rows[0] && obstacleOf(rows[0], primary)
  } catch (error) {
    return `it does not answer (${(error as Error).message})`
  } finally {
    await client.end().catch(() => {})
  }
}
