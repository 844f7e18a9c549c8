import { expect, onTestFinished, test } from 'vitest'
import { works } from '../src/background.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'

const DAY_MS = 86_400_000
const app = await testApp({ KEEP_SESSIONS_DAYS: '2', KEEP_OPENS_DAYS: '10', KEEP_RAW_MAIL_DAYS: '20' })

const forgetMail = () => works.find(({ queue }) => queue.name === 'email.forget-mail')?.run(systemContext(app.deps), {} as never)
function at(days: number): void {
  app.setClock(new Date(Date.now() + days * DAY_MS))
  onTestFinished(() => app.setClock(null))
}

test('ends a session and its cookie at the configured time after its last use', async () => {
  const { owner } = await app.account({ withPassword: true })
  const login = await app.as(null).post('/api/auth/login', { email: owner.email, password: owner.password })
  expect(login.headers.get('set-cookie')).toContain(`Max-Age=${2 * 86_400};`)
  at(1.9)
  expect((await app.as(owner).get('/api/auth/me')).status).toBe(200)
  await expect
    .poll(() => app.db.read(sql`select 1 as used from sessions where user_id = ${owner.id} and last_seen_at > now() + interval '1 day'`))
    .toEqual([{ used: 1 }])
  at(3.8)
  expect((await app.as(owner).get('/api/auth/me')).status).toBe(200)
  at(5.9)
  expect((await app.as(owner).get('/api/auth/me')).status).toBe(401)
})

test('keeps raw mail and pixel hits for the configured time, and unprocessed raw mail without limit', async () => {
  await app.db.write(sql`
    insert into inbound_emails (raw, sha256, token_hashes, received_at, processed_at)
    select ''::bytea, sha256(n::text::bytea), '{}', now() - make_interval(days => n), case when n <> 30 then now() end
    from unnest(array[1, 19, 21, 30, 40]) n`)
  await app.db.write(sql`
    insert into email_opens (comment_id, class, opened_at) select n, 'human', now() - make_interval(days => n) from unnest(array[1, 9, 11]) n`)
  await app.db.write(sql`
    insert into email_opens (comment_id, class, opened_at) select 12, 'human', now() - interval '12 days' from generate_series(1, 1200)`)
  await forgetMail()
  expect(
    await app.db.read(sql`select round(extract(epoch from now() - received_at) / 86400)::int as days from inbound_emails order by 1`),
  ).toEqual([{ days: 1 }, { days: 19 }, { days: 30 }])
  expect(await app.db.read(sql`select comment_id from email_opens order by 1`)).toEqual([{ comment_id: 1 }, { comment_id: 9 }])
})
