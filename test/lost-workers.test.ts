import { PgBoss } from 'pg-boss'
import { expect, it } from 'vitest'
import { works } from '../src/background.ts'
import { queueOptions } from '../src/platform/jobs/queue.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'

it('gives every queue a heartbeat', () => {
  for (const { queue } of works) expect([queue.name, queueOptions(queue).heartbeatSeconds]).toEqual([queue.name, expect.any(Number)])
})

/** A killed worker has claimed its job, and sends neither a result nor a heartbeat. */
it('runs the job of a killed worker again within a minute', async () => {
  const killed = new PgBoss({ ...(await testDatabase()).connection, migrate: false, supervise: false, schedule: false } as object)
  killed.on('error', () => {})
  await killed.start()
  const id = await killed.send('upkeep', {})
  const [claimed] = await killed.fetch('upkeep')
  expect(claimed?.id).toBe(id)
  await killed.stop({ graceful: false })

  const app = await testApp({}, { worker: true })
  const state = async () =>
    (await app.db.query<{ state: string }>({ text: `select state from pgboss.job where id = '${id}'`, values: [] }))[0]?.state
  await expect.poll(state, { timeout: 60_000, interval: 500 }).toBe('completed')
}, 70_000)
