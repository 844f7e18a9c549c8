import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { lockWaits } from './support/servers.ts'
import { startSmtp } from './support/smtp.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp(
  {
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    MAIL_FROM: 'Gridpost <news@grid.example>',
    PUBLIC_URL: 'https://grid.example',
    TRUST_PROXY: 'true',
  },
  { worker: true },
)

const NEW_PASSWORD = 'staple battery horse'
let addresses = 0
const elsewhere = () => ({ 'x-forwarded-for': `192.0.2.${(addresses++ % 250) + 1}` })
const forgot = (email: string, headers: Record<string, string> = elsewhere()) => app.as(null).post('/api/auth/forgot', { email }, headers)
const reset = (token: string, password = NEW_PASSWORD) => app.as(null).post('/api/auth/reset', { token, password })
const signIn = (email: string, password: string, headers: Record<string, string> = elsewhere()) =>
  app.as(null).post('/api/auth/login', { email, password }, headers)

const NOTICE = 'Your password for Gridpost was changed'
const mailsTo = (email: string) => smtp.received.filter(({ envelopeTo }) => envelopeTo.includes(email)).map(({ email: letter }) => letter)
const lettersTo = (email: string) => mailsTo(email).filter(({ subject }) => subject !== NOTICE)
const noticesTo = (email: string) => mailsTo(email).filter(({ subject }) => subject === NOTICE)
const tokenOf = (text: string | undefined) => /^https:\/\/grid\.example\/reset#([\w-]{43})&email=\S+%40\S+$/m.exec(text ?? '')?.[1] ?? ''

/** Asks for a link. @returns the token that was mailed */
async function mailedToken(email: string): Promise<string> {
  const before = lettersTo(email).length
  expect((await forgot(email)).body).toEqual({ ok: true })
  await expect.poll(() => lettersTo(email).length).toBe(before + 1)
  return tokenOf(lettersTo(email).at(-1)?.text)
}

/** Waits until the jobs for the address are done. @returns their number */
async function jobsFor(email: string): Promise<number> {
  const jobs = (isOpen: boolean) =>
    app.db.read(sql`
    select id from pgboss.job where name = 'auth.reset' and data->>'email' = ${email} and (not ${isOpen} or state < 'completed')`)
  await expect.poll(async () => (await jobs(true)).length).toBe(0)
  return (await jobs(false)).length
}

describe('a forgotten password', () => {
  test('is replaced with the link of a mail, which ends all sessions', async () => {
    const { owner } = await app.account({ withPassword: true })
    const token = await mailedToken(owner.email.toUpperCase().toLowerCase())
    const [letter] = lettersTo(owner.email)
    expect([letter?.from?.address, letter?.subject]).toEqual(['news@grid.example', 'Set a new password for Gridpost'])
    expect(letter?.html).toContain(`href="https://grid.example/reset#${token}&amp;email=${encodeURIComponent(owner.email)}"`)
    expect(letter?.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
    // Only a hash is stored.
    expect(await app.db.read(sql`select from password_resets where token_hash = ${Buffer.from(token)}`)).toEqual([])

    const done = await reset(token)
    expect([done.status, done.body]).toEqual([200, { ok: true }])
    expect((await app.as(owner).get('/api/auth/me')).status).toBe(401)
    expect((await signIn(owner.email, owner.password)).status).toBe(401)
    expect((await signIn(owner.email, NEW_PASSWORD)).status).toBe(200)
    const log = await app.db.read(sql`
      select action, actor_user_id, ip is not null as has_ip from audit_entries where object->>'id' = ${String(owner.id)} order by id limit 2`)
    expect(log).toEqual([
      { action: 'password.reset_requested', actor_user_id: null, has_ip: true },
      { action: 'password.reset', actor_user_id: owner.id, has_ip: true },
    ])
    const again = await reset(token, 'another battery horse')
    expect([again.status, again.body.message]).toEqual([400, 'token: is not valid any more'])
    expect((await signIn(owner.email, NEW_PASSWORD)).status).toBe(200)
  })

  test('is replaced over RPC as well, and in any notation of the address', async () => {
    const { owner } = await app.account({ withPassword: true })
    expect(await app.as(null).rpc.auth.forgot.mutate({ email: ` ${owner.email.toUpperCase()} ` })).toEqual({ ok: true })
    await expect.poll(() => lettersTo(owner.email).length).toBe(1)
    const token = tokenOf(lettersTo(owner.email)[0]?.text)
    expect(await app.as(null).rpc.auth.reset.mutate({ token, password: NEW_PASSWORD })).toEqual({ ok: true })
    await expect(app.as(null).rpc.auth.reset.mutate({ token, password: NEW_PASSWORD })).rejects.toMatchObject({
      data: { httpStatus: 400, message: 'token: is not valid any more' },
    })
  })

  test('makes the browser a known one, which others cannot delay', async () => {
    const { owner } = await app.account({ withPassword: true })
    // The delay of two seconds does not pass, however slow the machine is.
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const here = elsewhere()
    for (let failures = 0; failures < 6; failures++) await signIn(owner.email, 'wrong', here)
    const done = await reset(await mailedToken(owner.email))
    const [cookie = ''] = done.headers.getSetCookie()
    expect(cookie).toMatch(/^gridpost_device=/)
    expect((await signIn(owner.email, NEW_PASSWORD, here)).status).toBe(429)
    expect((await signIn(owner.email, NEW_PASSWORD, { ...here, cookie: cookie.split(';')[0] ?? '' })).status).toBe(200)
  })

  test('has links that end after an hour, and with any change of the password', async () => {
    const { owner } = await app.account({ withPassword: true })
    const [first, second, third] = [await mailedToken(owner.email), await mailedToken(owner.email), await mailedToken(owner.email)]
    app.setClock(new Date(Date.now() + 61 * 60_000))
    onTestFinished(() => app.setClock(null))
    expect((await reset(first)).body.message).toBe('token: is not valid any more')
    app.setClock(null)
    expect((await reset(first)).status).toBe(200)
    expect((await reset(second)).status).toBe(400)
    const { headers } = await signIn(owner.email, NEW_PASSWORD)
    const changed = await app
      .as(null)
      .post(
        '/api/auth/password',
        { current_password: NEW_PASSWORD, new_password: owner.password },
        { cookie: headers.getSetCookie()[0]?.split(';')[0] ?? '' },
      )
    expect(changed.status).toBe(200)
    expect((await reset(third)).status).toBe(400)
    expect((await signIn(owner.email, owner.password)).status).toBe(200)
  })

  test('is set by one of two simultaneous requests, with the same link and with two', async () => {
    const { owner } = await app.account({ withPassword: true })
    const token = await mailedToken(owner.email)
    const same = await Promise.all([reset(token, 'first battery horse'), reset(token, 'second battery horse')])
    expect(same.map(({ status }) => status).sort()).toEqual([200, 400])
    const won = same[0]?.status === 200 ? 'first battery horse' : 'second battery horse'
    expect((await signIn(owner.email, won)).status).toBe(200)

    const tokens = [await mailedToken(owner.email), await mailedToken(owner.email)]
    const both = await Promise.all(tokens.map((one) => reset(one)))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  })

  test('is not replaced by a change with the old password that was under way', async () => {
    const { owner } = await app.account({ withPassword: true })
    const token = await mailedToken(owner.email)
    // Both wait for the row of the user, the link first.
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const holding = app.db.transaction(async () => {
      await app.db.read(sql`select from users where id = ${owner.id} for update`)
      await released
    })
    const waiting = (count: number) => expect.poll(() => lockWaits()).toHaveLength(count)
    try {
      const byLink = reset(token)
      await waiting(1)
      const change = { current_password: owner.password, new_password: 'another battery horse' }
      const inSession = app.as(owner).post('/api/auth/password', change)
      await waiting(2)
      release()
      expect((await byLink).status).toBe(200)
      const { status, body } = await inSession
      expect([status, body.message]).toEqual([400, 'current_password: is wrong'])
    } finally {
      release()
      await holding
    }
    expect((await signIn(owner.email, NEW_PASSWORD)).status).toBe(200)
    expect((await app.as(owner).get('/api/auth/me')).status).toBe(401)
  })

  test('leaves no session to a sign-in with the old password at the same time', async () => {
    const { owner } = await app.account({ withPassword: true })
    const token = await mailedToken(owner.email)
    const [done, ...signedIn] = await Promise.all([reset(token), ...Array.from({ length: 6 }, () => signIn(owner.email, owner.password))])
    expect(done.status).toBe(200)
    for (const { headers } of signedIn) {
      const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
      expect((await app.as(null).get('/api/auth/me', { cookie })).status).toBe(401)
    }
  })
})

describe('a new password', () => {
  const sessionOf = ({ headers }: Awaited<ReturnType<typeof signIn>>) => ({ cookie: headers.getSetCookie()[0]?.split(';')[0] ?? '' })
  const at = new Date('2026-03-29T07:30:00Z')

  test('is reported to the user by mail, with its time, its address and what to do', async () => {
    const { owner, member } = await app.account({ withPassword: true, timezone: 'Europe/Berlin' })
    const token = await mailedToken(owner.email)
    app.setClock(at)
    onTestFinished(() => app.setClock(null))
    const headers = { 'x-forwarded-for': '::ffff:203.0.113.7' }
    const change = { current_password: owner.password, new_password: NEW_PASSWORD }
    expect((await app.as(owner).post('/api/auth/password', { ...change, current_password: 'wrong' }, headers)).status).toBe(400)
    expect((await app.as(owner).post('/api/auth/password', change, headers)).status).toBe(200)
    await expect.poll(() => noticesTo(owner.email)).toHaveLength(1)
    const [letter] = noticesTo(owner.email)
    expect(letter?.text?.trimEnd()).toBe(
      `The password of ${owner.email} on Gridpost was changed by somebody who was signed in, on Sunday, 29 March 2026, 09:30 (Europe/Berlin), ` +
        'from the address 203.0.113.7.\n\nIf this was your wish, there is nothing to do.\n\n' +
        'If it was not, set a new password at once, which signs everyone else out:\nhttps://grid.example/forgot\n\n' +
        'Then look for API keys that you have not created, and tell the operator of the service.',
    )
    expect(letter?.html).toContain('<a href="https://grid.example/forgot">')
    expect(letter?.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
    expect(letter?.text).not.toContain(NEW_PASSWORD)
    // The earlier link has ended with the change, and what fails is not reported.
    expect((await reset(token)).status).toBe(400)

    // Preferences for notifications do not count.
    await app.as(member).rpc.auth.profile.mutate({ mail_preference: 'none' })
    app.setClock(null)
    const link = await mailedToken(member.email)
    expect(
      (await app.as(null).post('/api/auth/reset', { token: link, password: NEW_PASSWORD }, { 'x-forwarded-for': '<b>nowhere' })).status,
    ).toBe(200)
    await expect.poll(() => noticesTo(member.email)).toHaveLength(1)
    const [notice] = noticesTo(member.email)
    expect(notice?.text).toMatch(
      / was replaced with a link that was mailed to this address, on \S+, [^,]+, \d\d:\d\d \(Europe\/Berlin\)\.\n/,
    )
    expect(notice?.text).toContain('change the password of your mailbox first')
    expect(noticesTo(owner.email)).toHaveLength(1)
  })

  test('is set by one of two simultaneous changes, which alone is reported and audited', async () => {
    const { owner } = await app.account({ withPassword: true })
    const change = (new_password: string) => app.as(owner).post('/api/auth/password', { current_password: owner.password, new_password })
    const passwords = ['first battery horse', 'second battery horse'] as const
    const answers = await Promise.all(passwords.map(change))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    expect(answers.find(({ status }) => status === 400)?.body.message).toBe('current_password: is wrong')
    const [won, lost] = answers[0]?.status === 200 ? passwords : passwords.toReversed()
    expect((await signIn(owner.email, won ?? '')).status).toBe(200)
    expect((await signIn(owner.email, lost ?? '')).status).toBe(401)
    expect((await app.as(owner).get('/api/auth/me')).status).toBe(200)
    const changes = await app.db.read(sql`select from audit_entries where action = 'password.changed' and actor_user_id = ${owner.id}`)
    expect(changes).toHaveLength(1)
  })

  test('does not wait for the mail, which comes once the mail server is back', async () => {
    const { owner } = await app.account({ withPassword: true })
    smtp.onGreeting = { code: 421 }
    onTestFinished(() => {
      smtp.onGreeting = {}
    })
    const session = sessionOf(await signIn(owner.email, owner.password))
    const change = { current_password: owner.password, new_password: NEW_PASSWORD }
    expect((await app.as(null).post('/api/auth/password', change, session)).status).toBe(200)
    const isRetried = async () =>
      (
        await app.db.read<{ state: string }>(sql`
        select state from pgboss.job where name = 'auth.password-notice' and data->>'user_id' = ${String(owner.id)}`)
      )[0]?.state
    await expect.poll(isRetried).toBe('retry')
    smtp.onGreeting = {}
    await app.db.write(sql`
      update pgboss.job set start_after = now() where name = 'auth.password-notice' and data->>'user_id' = ${String(owner.id)}`)
    await expect.poll(() => noticesTo(owner.email)).toHaveLength(1)
  })
})

describe('asking for a new password', () => {
  test('is answered alike, with the same work, whether or not a user has the address', async () => {
    const { owner, member, space, admin } = await app.account({ withPassword: true })
    const invited = `invited.${owner.id}@example.com`
    await app.as(admin).rpc.spaces.addMember.mutate({ space_id: space, email: invited, role: 'viewer' })
    const works: unknown[] = []
    for (const email of [owner.email, member.email, invited, `nobody.${owner.id}@example.com`]) {
      const spies = [vi.spyOn(app.db, 'read'), vi.spyOn(app.db, 'write')]
      const { status, body, headers } = await forgot(email)
      works.push([status, body, headers.getSetCookie(), spies.map((spy) => spy.mock.calls.filter(isOfRequest).length)])
      for (const spy of spies) spy.mockRestore()
      expect(await jobsFor(email)).toBe(1)
    }
    expect(works).toEqual(works.map(() => works[0]))
    await expect.poll(() => [owner, member].map(({ email }) => lettersTo(email).length)).toEqual([1, 1])
    expect(lettersTo(`nobody.${owner.id}@example.com`)).toEqual([])
    expect(lettersTo(invited).filter(({ subject }) => subject?.includes('password'))).toEqual([])
  })

  test('sends three mails to one address, whose links stay valid, and then one every 20 minutes', async () => {
    const { owner } = await app.account({ withPassword: true })
    const tokens = [await mailedToken(owner.email), await mailedToken(owner.email), await mailedToken(owner.email)]
    for (let more = 0; more < 3; more++) expect((await forgot(owner.email)).body).toEqual({ ok: true })
    expect(await jobsFor(owner.email)).toBe(3)
    app.setClock(new Date(Date.now() + 21 * 60_000))
    onTestFinished(() => app.setClock(null))
    await mailedToken(owner.email)
    expect((await reset(tokens[0] ?? '')).status).toBe(200)
  })

  test('takes a second after ten times from one address, and is refused after 60 in an hour, but not the first three for a user', async () => {
    const here = { 'x-forwarded-for': '198.51.100.77' }
    const { owner } = await app.account({ withPassword: true })
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const asked = async (email: string, headers: Record<string, string> = elsewhere()) => {
      const { status, body, headers: answered } = await forgot(email, headers)
      return { status, message: body.message, retryAfter: answered.get('retry-after') }
    }
    const askedLate = async (email: string) => {
      const startedAt = performance.now()
      const answer = await asked(email, here)
      return { ...answer, isLate: performance.now() - startedAt >= 995 }
    }
    const taken = { status: 200, message: undefined, retryAfter: null }
    const refused = { status: 429, message: 'Too many requests for a new password, please wait', retryAfter: '60' }
    for (let time = 0; time < 10; time++) expect(await asked('somebody@example.com', here)).toEqual(taken)
    expect(await Promise.all(Array.from({ length: 50 }, (_, time) => askedLate(`somebody.${time % 5}@example.com`)))).toEqual(
      Array.from({ length: 50 }, () => ({ ...taken, isLate: true })),
    )
    expect(await askedLate('somebody@example.com')).toEqual({ ...refused, isLate: true })
    expect(await asked('somebody@example.com')).toEqual(taken)
    // Names that no user has are answered alike, and cost no job.
    const nobody = `nobody.${owner.id}@example.com`
    for (const email of [owner.email, nobody]) {
      for (let time = 0; time < 3; time++) expect([email, await askedLate(email)]).toEqual([email, { ...taken, isLate: true }])
      expect([email, await askedLate(email)]).toEqual([email, { ...refused, isLate: true }])
    }
    await expect.poll(() => lettersTo(owner.email)).toHaveLength(3)
    expect([await jobsFor(owner.email), await jobsFor(nobody)]).toEqual([3, 0])
    app.setClock(new Date(app.deps.clock().getTime() + 60_000))
    expect(await askedLate('somebody@example.com')).toEqual({ ...taken, isLate: true })
  })

  test('names what is wrong with the input, and does not use up the link', async () => {
    const { owner } = await app.account({ withPassword: true })
    const messages = async (path: string, body: object) => {
      const { status, body: answer } = await app.as(null).post(path, body, elsewhere())
      return [status, answer.message]
    }
    expect(await messages('/api/auth/forgot', {})).toEqual([400, 'email: is required'])
    expect(await messages('/api/auth/forgot', { email: 'nobody' })).toEqual([400, 'email: must be an email address'])
    expect(await messages('/api/auth/forgot', { email: owner.email, name: 'x' })).toEqual([400, 'name: is not a known key'])
    const token = await mailedToken(owner.email)
    expect(await messages('/api/auth/reset', { token })).toEqual([400, 'password: is required'])
    expect(await messages('/api/auth/reset', { token, password: 'short' })).toEqual([400, 'password: must have 10 characters or more'])
    expect(await messages('/api/auth/reset', { token: '', password: NEW_PASSWORD })).toEqual([400, 'token: must not be empty'])
    for (const forged of ['x', token.toLowerCase(), `${token}=`, 'é'.repeat(200)])
      expect(await messages('/api/auth/reset', { token: forged, password: NEW_PASSWORD })).toEqual([400, 'token: is not valid any more'])
    const fromElsewhere = await app.as(null).post('/api/auth/reset', { token, password: NEW_PASSWORD }, { origin: 'https://evil.example' })
    expect(fromElsewhere.status).toBe(403)
    expect((await reset(token)).status).toBe(200)
  })
})

/** Jobs run in the same process; the statements of a request are those of the throttle and of the job that it enqueues. */
function isOfRequest([{ text }]: [{ text: string }, ...unknown[]]): boolean {
  return text.includes('sign_in_failures') || text.includes('pgboss')
}
