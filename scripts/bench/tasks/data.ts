/** A million tasks and five million comments in one account of a thousand users; the tables are made through the API, the rest by SQL. */

import { insertKey } from '../../../src/keys/service.ts'
import { recordsOf } from '../../../src/platform/database/database.ts'
import type { Ground } from '../case.ts'
import { addMembers, chance, unhurried } from '../sql.ts'

export interface Filled {
  /** The caller: one of the thousand users, with a thousand tasks of their own. */
  userId: number
  secret: string
  tableIds: number[]
  recordsPerTable: number
  /** Ids of tasks on records. */
  taskIds: number[]
  /** The first fifty members beside the user. */
  memberIds: number[]
}

/** The word is in the title of one task in fifty. */
export const WORD = 'harbour'

const USERS = 1_000
const TABLES = 20
const RECORDS_PER_TABLE = 1_000
const COMMENTS_PER_TASK = 5

export async function fill(ground: Ground, { records: tasks }: { records: number }): Promise<Filled> {
  const { db, key, account } = ground
  const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Bench' })) as { id: number }
  const users = await addMembers(db, account.accountId, spaceId, USERS)
  const tableIds: number[] = []
  for (let index = 1; index <= TABLES; index++) {
    const table = { name: `Deals ${index}`, fields: [{ name: 'Name', type: 'text' }] }
    tableIds.push(((await key('POST', `/api/space/${spaceId}/tables/create`, table)) as { id: number }).id)
  }
  const taskIds = await unhurried(db, async (client) => {
    for (const tableId of tableIds)
      await client.query(
        `insert into ${recordsOf(tableId).sql} (created_at, updated_at, name)
         select now()::timestamp(0), now()::timestamp(0), 'Deal ' || i from generate_series(1, $1::int) i`,
        [RECORDS_PER_TABLE],
      )
    await client.query(TASKS, [tasks, account.accountId, users, spaceId, tableIds])
    await client.query(SUBSCRIBERS, [account.accountId])
    await client.query(COMMENTS, [account.accountId, users, tasks * COMMENTS_PER_TASK])
    for (const table of ['tasks', 'task_subscribers', 'task_comments']) await client.query(`vacuum analyze ${table}`)
    const { rows } = await client.query<{ id: number }>('select id from tasks where space_id = $1 order by id limit 10000', [spaceId])
    return rows.map(({ id }) => id)
  })
  const [userId = 0, ...others] = users
  const { secret } = await insertKey(db, { accountId: account.accountId, userId }, { kind: 'personal', name: 'Bench' }, new Date())
  return { userId, secret, tableIds, recordsPerTable: RECORDS_PER_TABLE, taskIds, memberIds: others.slice(0, 50) }
}

const of = (n: number | string, seed: number) => chance('i', n, seed)

/**
 * Nine in ten tasks are on a record, and three in ten are open; they are due up to 300 days before and after today, every fifth at a time
 * of day.
 */
const TASKS = `
  insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, details, due_date, due_time,
    status, completed_at, completed_by_user_id, created_at, updated_at)
  select $2, creator, assignee, case when on_record then $4::int end, case when on_record then ($5::int[])[1 + ${of('cardinality($5::int[])', 1)}] end,
    case when on_record then 1 + ${of(RECORDS_PER_TABLE, 2)} end,
    'Call back about offer ' || i || case when ${of(50, 3)} = 0 then ' at the ${WORD}' else '' end,
    'They asked for the new price list, and whether we can deliver to the second address in week ' || ${of(52, 4)} || '.',
    due, case when ${of(5, 5)} = 0 then time '00:00' + interval '1 minute' * ${of(1440, 6)} end,
    case when open then 'open' else 'done' end, case when not open then made + interval '1 day' end, case when not open then assignee end, made, made
  from generate_series(1, $1::int) i,
    lateral (select ($3::int[])[1 + ${of('cardinality($3::int[])', 7)}] as creator, ($3::int[])[1 + ${of('cardinality($3::int[])', 8)}] as assignee,
      ${of(10, 9)} > 0 as on_record, ${of(10, 10)} < 3 as open, current_date - 300 + ${of(601, 11)} as due,
      now()::timestamp(0) - interval '30 seconds' * ($1::int - i) - interval '2 days' as made) m`

const SUBSCRIBERS = `
  insert into task_subscribers (task_id, user_id)
  select id, assignee_user_id from tasks where account_id = $1 union select id, creator_user_id from tasks where account_id = $1`

const COMMENTS = `
  insert into task_comments (account_id, task_id, user_id, user_name, content, created_at)
  select $1, k.ids[1 + ${of('cardinality(k.ids)', 1)}], u.id, u.name,
    'We spoke on the phone, they will send the signed papers by the end of the week. Number ' || i, now()::timestamp(0) - interval '5 seconds' * ($3::int - i)
  from (select array_agg(id order by id) as ids from tasks where account_id = $1) k, generate_series(1, $3::int) i
  join lateral (select ($2::int[])[1 + ${of('cardinality($2::int[])', 2)}] as id, 'Person' as name) u on true`
