/** Statements that the suites run in the database directly, because the same would take hours over HTTP. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Database } from '../../src/platform/database/database.ts'

/** Uses a connection without timeouts and without checks of foreign keys, because the data are known to be valid. */
export async function unhurried<T>(db: Database, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await db.connect(Number.POSITIVE_INFINITY)
  try {
    await client.query(`set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0;
      set maintenance_work_mem = '1GB'; set session_replication_role = replica`)
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A pseudo-random number from 0 to n - 1, which is the same in every run and differs by seed. @param i an int, in SQL */
export const chance = (i: string, n: number | string, seed: number) => `(abs(hashint8extended(${i}::int8, ${seed})) % ${n})::int`

/** Adds users to the account as members of the space. @returns their ids */
export async function addMembers(db: Database, accountId: number, spaceId: number, count: number): Promise<number[]> {
  return unhurried(db, async (client) => {
    const { rows } = await client.query<{ user_id: number }>(
      `with u as (
        insert into users (account_id, email, name, created_at, updated_at)
        select $1::int, 'person' || i || '.' || $1::int || '@example.com', 'Person ' || i, now()::timestamp(0), now()::timestamp(0) from generate_series(1, $3::int) i returning id)
      insert into space_members (space_id, user_id, account_id, role) select $2::int, id, $1::int, 'member' from u returning user_id`,
      [accountId, spaceId, count],
    )
    return rows.map(({ user_id }) => user_id)
  })
}

const QUIET_POLL_MS = 100
const QUIET_POLLS = 3
const MOST_POLLS = 1_200

/** Waits until Postgres is idle: a statement goes on after its caller has hung up. */
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
