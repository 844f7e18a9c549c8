/** Reads stored messages again with the present code: `npm run admin -- replay` (docs/decisions/0020-stored-messages.md). */
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { replay } from '../inbound/receive.ts'
import type { Verdict } from './schema.ts'

export interface ReplaySummary {
  /** How many messages were read. */
  read: number
  /** Those that are read in another way than before. */
  changed: number[]
  failed: { id: number; message: string }[]
  /** How often each verdict was given; a message for two records has two. */
  verdicts: Partial<Record<Verdict, number>>
}

/** Which messages to read: one by its id, or all that arrived in a second or later, as `YYYY-MM-DD HH:MM:SS` in UTC. */
export type ReplayChoice = { id: number } | { since: string }

const AT_ONCE = 100

/** Reads the messages in the order of their arrival. One that fails does not stop the others. */
export async function replayMessages(context: Context, choice: ReplayChoice): Promise<ReplaySummary> {
  const summary: ReplaySummary = { read: 0, changed: [], failed: [], verdicts: {} }
  if ('id' in choice) {
    await replayOne(context, choice.id, summary)
    return summary
  }
  let ids: number[] = []
  do {
    ids = await idsAfter(context, ids.at(-1) ?? 0, choice.since)
    for (const id of ids) await replayOne(context, id, summary)
  } while (ids.length === AT_ONCE)
  return summary
}

async function idsAfter({ db }: Context, last: number, since: string): Promise<number[]> {
  const rows = await db.read<{ id: number }>(sql`
    select id from inbound_emails
    where id > ${last} and received_at >= ${since}::timestamp and raw is not null order by id limit ${AT_ONCE}`)
  return rows.map(({ id }) => id)
}

async function replayOne(context: Context, id: number, summary: ReplaySummary): Promise<void> {
  try {
    const results = await replay(context, id)
    if (!results) return void summary.failed.push({ id, message: `There is no message ${id}` })
    summary.read += 1
    if (results.some(({ isChanged }) => isChanged)) summary.changed.push(id)
    for (const { verdict } of results) summary.verdicts[verdict] = (summary.verdicts[verdict] ?? 0) + 1
  } catch (error) {
    context.log.error({ err: error, id }, 'message not replayed')
    summary.failed.push({ id, message: (error as Error).message })
  }
}
