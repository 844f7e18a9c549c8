import { expect, test } from 'vitest'
import { works } from '../src/background.ts'
import { systemContext } from '../src/platform/context.ts'
import { ident, sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const app = await testApp({ RATE_LIMIT_PER_MINUTE: '100' })

const run = (name: string) => works.find(({ queue }) => queue.name === name)?.run(systemContext(app.deps), {} as never)
const TABLES = [
  'sessions',
  'rate_windows',
  'idempotency_keys',
  'invites',
  'password_resets',
  'address_changes',
  'sign_in_failures',
  'known_pairs',
  'login_failures',
] as const

async function counts() {
  const rows: Record<string, number> = {}
  for (const table of TABLES) {
    const [row] = await app.db.read<{ count: number }>({ text: `select count(*) from ${table}`, values: [] } as never)
    rows[table] = row?.count ?? 0
  }
  return rows
}

test('deletes expired rows, and keeps the others', async () => {
  // The window of a limit ends with the minute, which may be now.
  app.setClock(new Date())
  const { owner, keys } = await app.account({ withPassword: true })
  await app.as(keys.account).post('/api/spaces/create', { name: 'Kept' }, { 'idempotency-key': 'a' })
  await app.as(null).post('/api/auth/login', { email: 'nobody@example.com', password: 'wrong' })
  await app.as(null).post('/api/auth/login', { email: owner.email, password: owner.password })
  for (const table of ['invites', 'password_resets'])
    await app.db.write(
      sql`insert into ${ident(table)} (user_id, token_hash, expires_at) values (${owner.id}, 'a'::bytea, now() + interval '1 day')`,
    )
  await app.db.write(sql`
    insert into address_changes (user_id, email, expires_at) values (${owner.id}, 'new@example.com', now() + interval '1 day')`)
  // As the previous release writes it.
  await app.db.write(sql`insert into login_failures (email, failures, last_failed_at) values ('nobody@example.com', 1, now())`)
  const before = await counts()
  expect(Object.values(before).every((rows) => rows > 0)).toBe(true)

  await run('upkeep')
  await run('auth.forget')
  expect(await counts()).toEqual(before)

  app.setClock(new Date(Date.now() + 91 * 86_400_000))
  await run('upkeep')
  await run('auth.forget')
  app.setClock(null)
  expect(Object.values(await counts()).every((rows) => rows === 0)).toBe(true)
})
