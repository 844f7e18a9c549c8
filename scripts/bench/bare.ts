/**
 * The server that the service is measured against: bare Fastify and hand-written SQL through pg, on the same database, without keys,
 * checks, limits or validation. Each route gives the same answer as the service, which `measure.ts` checks before it measures, and
 * writes the same rows.
 */
import Fastify from 'fastify'
import pg from 'pg'

const AS_TEXT = new Set([1082, 1083, 1114, 1184])
const AS_NUMBER = new Set([20, 1700])
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    AS_NUMBER.has(oid) ? Number : AS_TEXT.has(oid) ? String : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** @template Setting the settings that the suite gives to its bare server */
export function openBare<Setting>() {
  const setting = JSON.parse(process.env.BENCH_BARE ?? '{}') as Setting & { connection: pg.PoolConfig }
  const pool = new pg.Pool({ ...setting.connection, max: 10, types, options: '-c TimeZone=UTC' })
  const app = Fastify()

  /** Prints the address, which the parent process waits for. */
  async function listen(): Promise<void> {
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    process.stdout.write(`${url}\n`)
    process.on('SIGTERM', () => {
      app.close().then(() => pool.end())
    })
  }

  return { setting, pool, app, listen }
}

/** Returns the titles of a table's options by field and id. */
export async function optionTitles(pool: pg.Pool, tableId: number): Promise<Record<string, Map<number, string>>> {
  const { rows } = await pool.query<{ id: string; options: { id: number; title: string }[] }>(
    'select id, options from fields where table_id = $1 and options is not null',
    [tableId],
  )
  return Object.fromEntries(rows.map(({ id, options }) => [id, new Map(options.map((option) => [option.id, option.title]))]))
}
