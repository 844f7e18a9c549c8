/** Health checks for operators. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { withinTime } from '../concurrency/time-limit.ts'
import type { Deps } from '../context.ts'
import { type Database, sql } from '../database/database.ts'
import { readMigrations } from '../database/migrations/migrations.ts'
import { isStartComplete } from '../processes/member.ts'
import { membership } from '../processes/per-process.ts'
import type { PlainOperation } from './openapi/document.ts'

/** A check that takes longer has failed. Proxies wait for about three seconds. */
const CHECK_WITHIN_MS = 2_000
/** Strangers may ask as often as they like, so the result of a check is used again for this long. */
const KEEP_MS = 250
/** The storage has a shorter limit, because it does not decide the status, and a longer memory, because requests to a bucket cost money. */
const STORAGE_CHECK = { withinMs: 1_000, keepMs: 5_000 }

/** Mounts /healthz and /readyz. */
export function mountHealth(app: FastifyInstance, { db, jobs, storage, replicas }: Deps): void {
  const config = { isAlwaysServed: true }
  app.get('/healthz', { config }, async () => ({ ok: true }))

  const needed = readMigrations().map(({ name }) => name)
  const checks = {
    database: sharedCheck(() => db.read(sql`select 1`)),
    migrations: sharedCheck(() => isMigrated(db, needed)),
    queue: sharedCheck(() => jobs.isReady()),
    storage: sharedCheck(() => storage.check(), STORAGE_CHECK),
  }
  app.get('/readyz', { config }, async (_, reply) => {
    const each = [checks.database(), checks.migrations(), checks.queue(), checks.storage()] as const
    const [database, migrations, queue, isStorageThere] = await Promise.all(each)
    // Without the storage everything but files works, and other processes would not have it either, so the process stays in rotation.
    const processes = isStartComplete()
    const ok = database && migrations && queue && processes
    // Strangers may ask, so the answer has neither names nor reasons.
    const counted = replicas && { replicas: { read: replicas.all.filter(({ isRead }) => isRead).length, all: replicas.all.length } }
    return reply
      .code(ok ? 200 : 503)
      .send({ ok, database, migrations, queue, storage: isStorageThere, ...(membership && { processes }), ...counted })
  })
}

/** A check that many may ask for at once. One that hangs is not started a second time. @returns false if it did not pass in time */
function sharedCheck(
  check: () => Promise<unknown>,
  { withinMs, keepMs } = { withinMs: CHECK_WITHIN_MS, keepMs: KEEP_MS },
): () => Promise<boolean> {
  let running: Promise<boolean> | undefined
  const forget = () => {
    running = undefined
  }
  return () => {
    running ??= passes(check).finally(() => setTimeout(forget, keepMs).unref())
    return withinTime(running, withinMs, false)
  }
}

/** Whether the check passed. An error counts as a failure; the component that failed logs the details. */
async function passes(check: () => Promise<unknown>): Promise<boolean> {
  try {
    return (await check()) !== false
  } catch {
    return false
  }
}

async function isMigrated(db: Database, needed: readonly string[]): Promise<boolean> {
  const applied = await db.read<{ migration_name: string }>(sql`
    select migration_name from _prisma_migrations where finished_at is not null and rolled_back_at is null`)
  const names = new Set(applied.map(({ migration_name }) => migration_name))
  return needed.every((name) => names.has(name))
}

const check = (description: string) => z.boolean().meta({ description })

const Alive = z
  .object({ ok: check('Always true: a process that is not alive does not answer.') })
  .meta({ id: 'Alive', description: 'The process is alive.' })
const Readiness = z
  .object({
    ok: check('True if the process can serve requests; the status says the same.'),
    database: check('The database answers.'),
    migrations: check('All migrations of this release are applied.'),
    queue: check('The queue of jobs runs.'),
    storage: check('Files can be stored and read. It does not decide `ok`.'),
    processes: check('Each process has listened once. Only with several processes.').optional(),
    replicas: z
      .object({
        read: z.int().meta({ description: 'Those that are read now.' }),
        all: z.int().meta({ description: 'Those that the settings name.' }),
      })
      .optional()
      .meta({ description: 'The replicas of the database. Only with replicas; it does not decide `ok`.' }),
  })
  .meta({ id: 'Readiness', description: 'Whether the process can serve requests, and each check on its own.' })

const answer = (schema: z.ZodType, example: object) => ({
  description: 'Success.',
  content: { 'application/json': { schema, example } },
})

export const healthOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/healthz',
    operationId: 'health.alive',
    tag: 'Operations',
    summary: 'Check that the process is alive',
    description: 'Depends on nothing but the process.',
    isPublic: true,
    responses: { 200: answer(Alive, { ok: true }) },
  },
  {
    method: 'get',
    path: '/readyz',
    operationId: 'health.ready',
    tag: 'Operations',
    summary: 'Check that the process can serve requests',
    description:
      'The database answers, all migrations are applied, and the queue runs. If one of them fails, the same body comes with 503. ' +
      'With several processes, `processes` is false, and the status 503, until each of them has listened once. ' +
      '`storage` says whether files can be stored and read; it does not change the status, because everything else works without. With ' +
      'replicas of the database, `replicas` says how many there are and how many are read, which does not change the status either.',
    isPublic: true,
    responses: {
      200: answer(Readiness, { ok: true, database: true, migrations: true, queue: true, storage: true }),
      503: {
        ...answer(Readiness, { ok: false, database: false, migrations: false, queue: false, storage: false }),
        description: 'At least one check failed.',
      },
    },
  },
]
