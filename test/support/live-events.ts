/** Reads the events of live tables as they are stored. */
import { sql } from '../../src/platform/database/database.ts'
import type { TestAccount, TestApp } from './app.ts'

export type Told = { type: string } & Record<string, unknown>

export function liveEvents({ db }: TestApp) {
  const seen = new Map<number, number>()
  return {
    /** The events of live tables of the account since the last call, without what is null. */
    async told({ id }: Pick<TestAccount, 'id'>): Promise<Told[]> {
      const rows = await db.read<{ id: number; event: Told }>(sql`
        select e.id, jsonb_strip_nulls(to_jsonb(e)) - '{id,xact_id,account_id,audience,at}'::text[] as event from events e
        where e.account_id = ${id} and e.audience = '{}' and e.id > ${seen.get(id) ?? 0} order by e.id`)
      seen.set(id, rows.at(-1)?.id ?? seen.get(id) ?? 0)
      return rows.map(({ event }) => event)
    },
  }
}
