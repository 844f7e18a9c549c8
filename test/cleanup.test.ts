import { expect, it } from 'vitest'
import { works } from '../src/background.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '100' })

const run = (name: string) => works.find(({ queue }) => queue.name === name)?.run(systemContext(app.deps), {} as never)
const count = async (table: 'sessions' | 'rate_windows' | 'idempotency_keys' | 'invites' | 'login_failures') =>
  (await app.db.query<{ count: number }>({ text: `select count(*) from ${table}`, values: [] } as never))[0]?.count ?? 0

it('deletes expired rows, and keeps the others', async () => {
  const { owner, keys } = await app.account()
  await app.as(keys.account).post('/api/spaces/create', { name: 'Kept' }, { 'idempotency-key': 'a' })
  await app.as(null).post('/api/auth/login', { email: 'nobody@example.com', password: 'wrong' })
  await app.db.execute(
    sql`insert into invites (user_id, token_hash, expires_at) values (${owner.id}, 'a'::bytea, now() + interval '1 day')`,
  )
  const before = [
    await count('sessions'),
    await count('rate_windows'),
    await count('idempotency_keys'),
    await count('invites'),
    await count('login_failures'),
  ]
  expect(before.every((rows) => rows > 0)).toBe(true)

  await run('upkeep')
  await run('auth.forget')
  expect([
    await count('sessions'),
    await count('rate_windows'),
    await count('idempotency_keys'),
    await count('invites'),
    await count('login_failures'),
  ]).toEqual(before)

  app.setClock(new Date(Date.now() + 40 * 86_400_000))
  await run('upkeep')
  await run('auth.forget')
  app.setClock(null)
  expect([
    await count('sessions'),
    await count('rate_windows'),
    await count('idempotency_keys'),
    await count('invites'),
    await count('login_failures'),
  ]).toEqual([0, 0, 0, 0, 0])
})
