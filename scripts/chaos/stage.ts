/** The account on which chaos plays: a person, keys, tables, an SMTP integration. */
import { createAccount } from '../../src/accounts/service.ts'
import { SESSION_COOKIE, startSession } from '../../src/auth/sessions.ts'
import { insertKey } from '../../src/keys/service.ts'
import { type Database, recordsOf, sql } from '../../src/platform/database/database.ts'
import { api } from '../bench/api.ts'

export interface Stage {
  accountId: number
  ownerId: number
  /** An account key, which may work with records. */
  key: string
  /** The header of a session of the owner, who may do everything. */
  session: { cookie: string }
  /** The table in which records are created and deleted. */
  table: number
  /** A table that is large enough for indexes on its views. */
  large: number
  smtp: number
}

/** More than this many records get b-trees for the saved views (docs/indexes.md). */
const LARGE = 22_000

/** @param largeRows the number of records in the large table */
export async function prepareStage(
  db: Database,
  url: string,
  { smtpPort, largeRows = LARGE }: { smtpPort: number; largeRows?: number },
): Promise<Stage> {
  const now = new Date()
  const suffix = now.getTime().toString(36)
  const { accountId, ownerId } = await createAccount(db, 'Chaos', { email: `chaos.${suffix}@example.com`, name: 'Carla Chaos' }, now)
  const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name: 'Chaos' }, now)
  const session = { cookie: `${SESSION_COOKIE}=${await startSession({ db, settings: { keepSessionsDays: 30 } }, ownerId, now)}` }
  const call = api(url, session)
  const make = async (path: string, body: object): Promise<number> => ((await call('POST', path, body)) as { id: number }).id

  const space = await make('/api/spaces/create', { name: 'Chaos' })
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Stage', type: 'select', options: ['New', 'Won', 'Lost'] },
    { name: 'Due', type: 'date' },
    { name: 'Amount', type: 'number', decimals: 2 },
    { name: 'Notes', type: 'long_text' },
    { name: 'Files', type: 'file' },
  ]
  const table = await make(`/api/space/${space}/tables/create`, { name: 'Deals', fields })
  const large = await make(`/api/space/${space}/tables/create`, { name: 'Large', fields: fields.slice(0, 4) })
  await db.write(sql`
    insert into ${recordsOf(large)} (created_at, updated_at, name, due, amount)
    select now(), now(), 'Row ' || i, date '2026-01-01' + i % 300, i % 1000 from generate_series(1, ${largeRows}::int) i`)
  const smtp = await make(`/api/space/${space}/smtp/create`, {
    label: 'Sink',
    host: '127.0.0.1',
    port: smtpPort,
    tls: 'none',
    from_domains: ['example.com'],
  })
  return { accountId, ownerId, key: secret, session, table, large, smtp }
}
