/** The schema of pg-boss and its queues in the database, which `deploy` prepares with the migrations. */
import type pg from 'pg'
import { getConstructionPlans, getMigrationPlans, PgBoss, type QueueOptions, type QueueResult } from 'pg-boss'
import bossPackage from 'pg-boss/package.json' with { type: 'json' }
import { changeSchema } from '../database/migrations/deploy.ts'
import { DEAD_LETTERS, type Queue, queueOptions } from './queue.ts'

/**
 * The step of `deploy` that creates or upgrades pg-boss's schema and the queues; the service then runs with `migrate: false`.
 * @param queues all of them (background.ts). Existing ones get the current options
 */
export const queueSchema =
  (queues: readonly Queue[]) =>
  (client: pg.Client): Promise<void> =>
    prepareQueues(client, queues)

async function prepareQueues(client: pg.Client, queues: readonly Queue[]): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => client.query(text, values) },
    migrate: false,
    supervise: false,
    schedule: false,
  })
  // The plans are run as text, which builds their indexes at once; `migrate: true` leaves them to a worker of this process.
  if (!(await boss.isInstalled())) await runPlan(client, getConstructionPlans())
  const version = await boss.schemaVersion()
  if (version !== null && version < bossPackage.pgboss.schema) await runPlan(client, getMigrationPlans('pgboss', version))
  const there = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
  if (!there.has(DEAD_LETTERS)) await boss.createQueue(DEAD_LETTERS)
  for (const queue of queues) {
    const [present, options] = [there.get(queue.name), queueOptions(queue)]
    if (!present) await boss.createQueue(queue.name, options)
    else if (!hasOptions(present, options)) await boss.updateQueue(queue.name, options)
  }
}

/** True at nearly every start, which then writes nothing. */
const hasOptions = (present: QueueResult, options: QueueOptions) =>
  Object.entries(options).every(([name, value]) => present[name as keyof QueueOptions] === value)

/** A plan begins and commits its transaction. Its own lock_timeout is longer than that of `deploy`, and goes. */
const runPlan = (client: pg.Client, plan: string): Promise<void> =>
  changeSchema(client, 'The schema of the job queue could not be prepared', () =>
    client.query(plan.replace(/SET LOCAL lock_timeout = \d+;/, '')),
  )
