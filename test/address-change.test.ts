/** Another address for a user (contract.md §9, People): confirmed by the new one, told to the old one. */
import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Person, testApp } from './support/app.ts'

const app = await testApp({ PUBLIC_URL: 'https://grid.example', TRUST_PROXY: 'true' }, { worker: true })

const newEmail = () => `new.${randomUUID().slice(0, 8)}@example.com`
const lettersTo = (email: string) => app.letters.filter(({ to }) => to === email)
const tokenOf = (text = '') => /^https:\/\/grid\.example\/confirm#([\w-]{43})&email=/m.exec(text)?.[1] ?? ''
const request = (person: Pick<Person, 'session' | 'password'>, email: string, current_password = person.password) =>
  app.as(person as Person).post('/api/auth/email', { email, current_password })
const confirm = (token: string) => app.as(null).post('/api/auth/email/confirm', { token })
const signIn = (email: string, password: string) => app.as(null).post('/api/auth/login', { email, password })
const emailOf = async (person: Person) => (await app.as(person).get('/api/auth/me')).body.email

/** Asks for the address. @returns the token that was mailed to it */
async function mailedToken(person: Person, email: string): Promise<string> {
  const before = lettersTo(email).length
  expect((await request(person, email)).body).toEqual({ ok: true })
  await expect.poll(() => lettersTo(email).length).toBe(before + 1)
  return tokenOf(lettersTo(email).at(-1)?.text)
}

const actionsOf = async ({ id }: Person) =>
  (
    await app.db.read<{ action: string; actor_user_id: number | null; text: string }>(sql`
      select action, actor_user_id, (object::text || detail::text) as text from audit_entries
      where object->>'type' = 'user' and object->>'id' = ${String(id)} order by id`)
  ).map(({ action, actor_user_id, text }) => ({ action, actor_user_id, namesAddress: text.includes('@') }))

describe('a new address', () => {
  test('counts once its mailed link has confirmed it, and the old one is told', async () => {
    const { owner } = await app.account({ withPassword: true })
    const email = newEmail()
    const token = await mailedToken(owner, ` ${email.toUpperCase()} `.trim().toLowerCase())
    const [letter] = lettersTo(email)
    expect(letter?.subject).toBe('Confirm your new address for Gridpost')
    expect(letter?.html).toContain(`href="https://grid.example/confirm#${token}&amp;email=${encodeURIComponent(email)}"`)
    expect(lettersTo(owner.email)).toEqual([])
    // The old one counts until then. Only a hash of the token is stored.
    expect(await emailOf(owner)).toBe(owner.email)
    expect(await app.db.read(sql`select from address_changes where token_hash = ${Buffer.from(token)}`)).toEqual([])

    const done = await confirm(token)
    expect([done.status, done.body]).toEqual([200, { ok: true }])
    expect(done.headers.getSetCookie()[0]).toMatch(/^gridpost_device=/)
    // Sessions stay, and know the new address at once.
    expect(await emailOf(owner)).toBe(email)
    expect((await signIn(owner.email, owner.password)).status).toBe(401)
    expect((await signIn(email, owner.password)).body).toMatchObject({ id: owner.id, email })
    await expect.poll(() => lettersTo(owner.email)).toHaveLength(1)
    const [notice] = lettersTo(owner.email)
    expect(notice?.subject).toBe('Your address for Gridpost was changed')
    expect(notice?.text).toContain(`The address of ${owner.email} on Gridpost was changed to ${email}, on `)
    expect(await actionsOf(owner)).toEqual([
      { action: 'address.change_requested', actor_user_id: owner.id, namesAddress: false },
      { action: 'address.changed', actor_user_id: owner.id, namesAddress: false },
      { action: 'sign_in.succeeded', actor_user_id: owner.id, namesAddress: false },
    ])
    const again = await confirm(token)
    expect([again.status, again.body.message]).toEqual([400, 'token: is not valid any more'])
  })

  test('is taken over RPC as well, in any notation, with all that follows the # as the token', async () => {
    const { owner } = await app.account({ withPassword: true })
    const email = newEmail()
    const { auth } = app.as(owner).rpc
    expect(await auth.email.mutate({ email: ` ${email.toUpperCase()} `, current_password: owner.password })).toEqual({ ok: true })
    await expect.poll(() => lettersTo(email)).toHaveLength(1)
    const [, fragment = ''] = /confirm#(\S+)/.exec(lettersTo(email)[0]?.text ?? '') ?? []
    expect(await app.as(null).rpc.auth.confirmEmail.mutate({ token: fragment })).toEqual({ ok: true })
    await expect(app.as(null).rpc.auth.confirmEmail.mutate({ token: fragment })).rejects.toMatchObject({
      data: { httpStatus: 400, message: 'token: is not valid any more' },
    })
  })

  test('is won by one of two simultaneous confirmations, also of two links', async () => {
    const { owner } = await app.account({ withPassword: true })
    const [first, second] = [newEmail(), newEmail()]
    const tokens = [await mailedToken(owner, first), await mailedToken(owner, second)]
    const answers = await Promise.all([...tokens, ...tokens].map(confirm))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    const email = await emailOf(owner)
    expect([first, second]).toContain(email)
    await expect.poll(() => lettersTo(owner.email)).toHaveLength(1)
  })

  test('ends links for a new password that the old address was mailed', async () => {
    const { owner } = await app.account({ withPassword: true })
    await app.as(null).post('/api/auth/forgot', { email: owner.email })
    await expect.poll(() => lettersTo(owner.email)).toHaveLength(1)
    const [, reset = ''] = /reset#([\w-]{43})/.exec(lettersTo(owner.email)[0]?.text ?? '') ?? []
    await confirm(await mailedToken(owner, newEmail()))
    expect((await app.as(null).post('/api/auth/reset', { token: reset, password: 'staple battery horse' })).status).toBe(400)
  })

  test('takes the place of the old one in the conditions of saved views on fields of users, and nowhere else', async () => {
    const { owner, member, space } = await app.account({ withPassword: true })
    const as = app.as(owner)
    const { body: table } = await as.post(`/api/space/${space}/tables/create`, {
      name: 'Deals',
      fields: [
        { name: 'Seller', type: 'user' },
        { name: 'Helpers', type: 'multi_user' },
        { name: 'Mail', type: 'email' },
      ],
    })
    const conditions = (email: string, text: string) => [
      { column: 'seller', compare: '=', value: email, connector: 'AND' },
      { column: 'helpers', compare: 'contains', value: email, connector: 'OR' },
      { column: 'seller', compare: '=', value: member.email, connector: 'OR' },
      { column: 'mail', compare: '=', value: text, connector: 'AND' },
    ]
    const made = await as.post(`/api/table/${table.id}/views/create`, {
      name: 'Mine',
      type: 'grid',
      config: {},
      filters: conditions(owner.email.toUpperCase(), owner.email),
    })
    const grouped = await as.post(`/api/table/${table.id}/views/create`, {
      name: 'Ours',
      type: 'grid',
      config: {},
      filter: { any: [{ column: 'seller', compare: '=', value: owner.email }, { all: [{ column: 'mail', compare: 'is_empty' }] }] },
    })
    await as.post(`/api/table/${table.id}/records/create`, { data: { seller: owner.id, mail: owner.email } })
    const found = () => as.post(`/api/table/${table.id}/records/query`, { view_id: grouped.body.id })
    expect((await found()).body).toHaveLength(1)
    const email = newEmail()
    await confirm(await mailedToken(owner, email))
    const viewOf = async (id: number) => (await as.get(`/api/table/${table.id}/view/${id}/get`)).body
    await expect.poll(async () => (await viewOf(made.body.id)).filters).toEqual(conditions(email, owner.email))
    expect((await viewOf(grouped.body.id)).filter.any[0]).toEqual({ column: 'seller', compare: '=', value: email })
    expect((await found()).body).toHaveLength(1)
  })
})

describe('asking for another address', () => {
  test('is answered alike, with the same work, whether or not somebody has it; who has it is told', async () => {
    const { owner, member, outsider, admin, space } = await app.account({ withPassword: true })
    const invited = newEmail()
    await app.as(admin).rpc.spaces.addMember.mutate({ space_id: space, email: invited, role: 'viewer' })
    const taken = [owner.email, member.email, outsider.email, invited]
    await expect.poll(() => lettersTo(invited)).toHaveLength(1)
    const works: unknown[] = []
    for (const email of [newEmail(), ...taken]) {
      const spies = [vi.spyOn(app.db, 'read'), vi.spyOn(app.db, 'write')]
      const { status, body } = await request(owner, email)
      works.push([status, body, spies.map((spy) => spy.mock.calls.filter(isOfRequest).length)])
      for (const spy of spies) spy.mockRestore()
    }
    expect(works).toEqual(works.map(() => works[0]))
    for (const email of taken) {
      await expect.poll(() => lettersTo(email).at(-1)?.subject).toBe('Your address for Gridpost was asked for')
      // It names nobody but the reader, and leads nowhere.
      const text = lettersTo(email).at(-1)?.text ?? ''
      expect(text.split(/[\s,]+/).filter((word) => word.includes('@'))).toEqual([`${email}.`])
      expect(text).not.toContain('http')
    }
    expect(await emailOf(owner)).toBe(owner.email)
  })

  test('needs the current password, which is counted as at a change of the password', async () => {
    const { owner } = await app.account({ withPassword: true })
    const email = newEmail()
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const wrong = await request(owner, email, 'wrong')
    expect([wrong.status, wrong.body.message]).toEqual([400, 'current_password: is wrong'])
    for (let more = 0; more < 2; more++) await request(owner, email, 'wrong')
    for (let more = 0; more < 2; more++)
      await app.as(owner).post('/api/auth/password', { current_password: 'wrong', new_password: 'staple battery horse' })
    const late = await request(owner, email)
    expect([late.status, late.headers.get('retry-after')]).toEqual([429, '1'])
    app.setClock(new Date(app.deps.clock().getTime() + 2_000))
    expect((await request(owner, email)).status).toBe(200)
    const failures = (await actionsOf(owner)).filter(({ action }) => action === 'sign_in.failed')
    expect(failures).toHaveLength(5)
  })

  test('mails three links to one address, whose links stay valid, and lets one user ask ten times', async () => {
    const { owner } = await app.account({ withPassword: true })
    const email = newEmail()
    app.setClock(new Date())
    onTestFinished(() => app.setClock(null))
    const tokens = [await mailedToken(owner, email), await mailedToken(owner, email), await mailedToken(owner, email)]
    for (let more = 0; more < 7; more++) expect((await request(owner, email)).body).toEqual({ ok: true })
    const refused = await request(owner, newEmail())
    expect([refused.status, refused.body.message]).toEqual([429, 'Too many changes of the address, please wait'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(lettersTo(email)).toHaveLength(3)
    expect((await confirm(tokens[0] ?? '')).status).toBe(200)
  })

  test('ends after an hour, and with a change of the password', async () => {
    const { owner } = await app.account({ withPassword: true })
    const token = await mailedToken(owner, newEmail())
    app.setClock(new Date(Date.now() + 61 * 60_000))
    onTestFinished(() => app.setClock(null))
    expect((await confirm(token)).body.message).toBe('token: is not valid any more')
    app.setClock(null)
    const change = { current_password: owner.password, new_password: 'staple battery horse' }
    expect((await app.as(owner).post('/api/auth/password', change)).status).toBe(200)
    expect((await confirm(token)).status).toBe(400)
    const other = await mailedToken({ ...owner, password: change.new_password }, newEmail())
    expect((await confirm(other)).status).toBe(200)
  })

  test('is in vain if somebody gets the address meanwhile', async () => {
    const { owner } = await app.account({ withPassword: true })
    const email = newEmail()
    const token = await mailedToken(owner, email)
    const rival = await app.person((await app.account()).id, 'Rita Rival')
    await app.db.write(sql`update users set email = ${email} where id = ${rival.id}`)
    const late = await confirm(token)
    expect([late.status, late.body.message]).toEqual([409, 'This email address belongs to a user already'])
    expect(await emailOf(owner)).toBe(owner.email)
  })

  test('is for sessions only, and names what is wrong with the input', async () => {
    const { owner, keys } = await app.account({ withPassword: true })
    const current_password = owner.password
    const answer = async (caller: Parameters<typeof app.as>[0], path: string, body: object) => {
      const { status, body: answered } = await app.as(caller).post(path, body)
      return [status, answered.message]
    }
    const body = { email: newEmail(), current_password }
    expect((await answer(null, '/api/auth/email', body))[0]).toBe(401)
    for (const key of [keys.account, keys.personal])
      expect(await answer(key, '/api/auth/email', body)).toEqual([403, 'API endpoint not available to API keys'])
    for (const [input, message] of [
      [{ email: body.email }, 'current_password: is required'],
      [{ current_password }, 'email: is required'],
      [{ ...body, email: 'nobody' }, 'email: must be an email address'],
      [{ ...body, email: 'a@example.com\r\nBcc: b@example.com' }, 'email: must be an email address'],
      [{ ...body, email: ['a@example.com'] }, undefined],
      [{ ...body, name: 'x' }, 'name: is not a known key'],
    ] as const) {
      const [status, said] = await answer(owner, '/api/auth/email', input)
      expect([status, message === undefined ? undefined : said]).toEqual([400, message])
    }
    for (const token of ['x', `${'a'.repeat(43)}`, 'é'.repeat(200)])
      expect(await answer(null, '/api/auth/email/confirm', { token })).toEqual([400, 'token: is not valid any more'])
    expect(await answer(null, '/api/auth/email/confirm', {})).toEqual([400, 'token: is required'])
    expect(await answer(null, '/api/auth/email/confirm', { token: '' })).toEqual([400, 'token: must not be empty'])
  })
})

/** Jobs run in the same process; the statements of a request are those of the throttle, of the change and of the job that it enqueues. */
function isOfRequest([{ text }]: [{ text: string }, ...unknown[]]): boolean {
  return text.includes('sign_in_failures') || text.includes('insert into address_changes') || text.includes('pgboss')
}
