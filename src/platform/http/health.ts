/** Health checks for operators. */
import type { FastifyInstance } from 'fastify'
import type { Deps } from '../context.ts'
import { type Database, sql } from '../database/database.ts'
import { readMigrations } from '../database/migrations.ts'
import type { PlainOperation } from './openapi.ts'

/** Mounts /healthz and /readyz. */
export function mountHealth(app: FastifyInstance, { db, jobs }: Deps): void {
  const config = { isAlwaysServed: true }
  app.get('/healthz', { config }, async () => ({ ok: true }))

  app.get('/readyz', { config }, async (_, reply) => {
    const checks = {
      database: await holds(() => db.query(sql`select 1`)),
      migrations: await holds(() => isMigrated(db)),
      queue: await holds(() => jobs.isReady()),
    }
    const ok = Object.values(checks).every(Boolean)
    return reply.code(ok ? 200 : 503).send({ ok, ...checks })
  })
}

/** Whether the check passed. An error counts as a failure; the component that failed logs the details. */
async function holds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    return (await check()) !== false
  } catch {
    return false
  }
}

async function isMigrated(db: Database): Promise<boolean> {
  const applied = await db.query<{ migration_name: string }>(sql`
    select migration_name from _prisma_migrations where finished_at is not null and rolled_back_at is null`)
  const names = new Set(applied.map(({ migration_name }) => migration_name))
  return readMigrations().every(({ name }) => names.has(name))
}

const Answer = (example: object) => ({ description: 'Success.', content: { 'application/json': { schema: { type: 'object' }, example } } })

export const healthOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/healthz',
    operationId: 'health.alive',
    tag: 'Operations',
    summary: 'Check that the process is alive',
    description: 'Depends on nothing but the process.',
    isPublic: true,
    responses: { 200: Answer({ ok: true }) },
  },
  {
    method: 'get',
    path: '/readyz',
    operationId: 'health.ready',
    tag: 'Operations',
    summary: 'Check that the process can serve requests',
    description:
      'The database answers, all migrations are applied, and the queue runs. If one of them fails, the same body comes with 503.',
    isPublic: true,
    responses: {
      200: Answer({ ok: true, database: true, migrations: true, queue: true }),
      503: { ...Answer({ ok: false, database: false, migrations: false, queue: false }), description: 'At least one check failed.' },
    },
  },
]
