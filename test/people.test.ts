/** The users of an account: who they are, who may come in, and who owns the account (contract.md §9, People of an account). */
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { mailReset } from '../src/auth/password-reset.ts'
import { createInvite } from '../src/auth/service.ts'
import { mailOwnerNotice, sendOwnerNotice } from '../src/people/owner-notice.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { sweepReminders } from '../src/tasks/reminders/reminder-sweep.ts'
import { type Answer, type Caller, type Person, type TestAccount, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { openStream } from './support/streams.ts'
import { makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { told } = taskSupport(app)
const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

const post = (caller: Caller, path: string, body?: object) => app.as(caller).post(path, body)
const disable = ({ owner }: TestAccount, { id }: { id: number }) => post(owner, `/api/user/${id}/disable`)
const enable = ({ owner }: TestAccount, { id }: { id: number }) => post(owner, `/api/user/${id}/enable`)
const answerOf = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.message}`)
const users = async ({ owner }: TestAccount) => (await app.as(owner).get('/api/account/users/list')).body
const rowOf = async (account: TestAccount, { id }: { id: number }) => (await users(account)).find((row: { id: number }) => row.id === id)
const login = ({ email, password }: Person) => post(null, '/api/auth/login', { email, password })
/** The person with the session that they have just signed in to. */
async function signedIn(person: Person): Promise<Person> {
  const answer = await login(person)
  expect(answerOf(answer)).toBe(200)
  return { ...person, session: /gridpost_session=([\w-]+)/.exec(answer.headers.getSetCookie()[0] ?? '')?.[1] ?? '' }
}
/** Gives the person the password of the owner. */
const withPassword = ({ owner }: TestAccount, { id }: Person) =>
  app.db.write(sql`update users set password_hash = (select password_hash from users where id = ${owner.id}) where id = ${id}`)
/** As if the user had been erased. */
const eraseRow = ({ id }: Person) => app.db.write(sql`update users set status = 'deleted', disabled_from = null where id = ${id}`)

async function invited(account: TestAccount): Promise<{ id: number; email: string }> {
  const email = `ivy.${account.id}@example.com`
  const { body } = await post(account.owner, `/api/space/${account.space}/members/add`, { email, role: 'viewer' })
  return { id: body.user_id, email }
}

describe('the users of an account', () => {
  test('are listed by name, with their state, their spaces and when they were last seen', async () => {
    const account = await app.account()
    const { owner, admin, member, viewer, space, otherSpace } = account
    const guest = await invited(account)
    await disable(account, viewer)
    await eraseRow(admin)
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    const expected = [
      {
        id: guest.id,
        name: guest.email,
        email: guest.email,
        status: 'invited',
        last_seen_at: null,
        spaces: [{ space_id: space, role: 'viewer' }],
      },
      {
        id: member.id,
        name: member.name,
        email: member.email,
        status: 'active',
        last_seen_at: at,
        spaces: [{ space_id: space, role: 'member' }],
      },
      {
        ...{ id: owner.id, name: owner.name, email: owner.email, status: 'active', last_seen_at: at },
        spaces: [space, otherSpace].map((space_id) => ({ space_id, role: 'admin' })),
      },
      {
        id: viewer.id,
        name: viewer.name,
        email: viewer.email,
        status: 'disabled',
        last_seen_at: at,
        spaces: [{ space_id: space, role: 'viewer' }],
      },
      { id: admin.id, name: admin.name, email: null, status: 'erased', last_seen_at: at, spaces: [{ space_id: space, role: 'admin' }] },
    ]
    const answer = await app.as(owner).get('/api/account/users/list')
    expect(answer.body).toEqual(expected)
    expect(answer.headers.get('x-total-count')).toBe('5')
    expect(await app.as(owner).rpc.users.list.query()).toEqual({ rows: expected, total: 5 })
  })

  test('leave out deleted spaces, and name the owner an admin of spaces that they are no member of', async () => {
    const account = await app.account()
    await app.db.write(sql`delete from space_members where user_id = ${account.owner.id}`)
    await app.db.write(sql`update spaces set deleted_at = now() where id = ${account.space}`)
    expect(await rowOf(account, account.owner)).toMatchObject({ spaces: [{ space_id: account.otherSpace, role: 'admin' }] })
    expect(await rowOf(account, account.member)).toMatchObject({ spaces: [] })
  })

  test('are last seen when they last used a session, also after they have signed out', async () => {
    onTestFinished(() => app.setClock(null))
    app.setClock(new Date('2030-05-01T10:00:00Z'))
    const account = await app.account({ withPassword: true })
    await withPassword(account, account.member)
    app.setClock(new Date('2030-05-01T11:00:00Z'))
    const browser = await signedIn(account.member)
    expect(await rowOf(account, account.member)).toMatchObject({ last_seen_at: '2030-05-01 11:00:00' })
    app.setClock(new Date('2030-05-01T12:00:00Z'))
    await app.as(browser).get('/api/auth/me')
    await expect.poll(() => rowOf(account, account.member)).toMatchObject({ last_seen_at: '2030-05-01 12:00:00' })
    await post(browser, '/api/auth/logout')
    await app.db.write(sql`delete from sessions where user_id = ${account.member.id}`)
    expect(await rowOf(account, account.member)).toMatchObject({ last_seen_at: '2030-05-01 12:00:00' })
  })

  test('are for the owner alone, in a session', async () => {
    const account = await app.account()
    const { admin, member, viewer, outsider, keys } = account
    const calls: [path: string, call: (caller: Caller) => Promise<Answer>][] = [
      ['list', (caller) => app.as(caller).get('/api/account/users/list')],
      ['disable', (caller) => post(caller, `/api/user/${viewer.id}/disable`)],
      ['enable', (caller) => post(caller, `/api/user/${viewer.id}/enable`)],
      ['owner', (caller) => post(caller, '/api/account/owner', { user_id: member.id, current_password: member.password })],
    ]
    const noKeys = '403 API endpoint not available to API keys'
    for (const [name, call] of calls) {
      for (const caller of [admin, member, viewer]) expect([name, answerOf(await call(caller))]).toEqual([name, '403 Not authorized'])
      for (const key of [keys.account, keys.accountReadOnly, keys.personal])
        expect([name, answerOf(await call(key))]).toEqual([name, noKeys])
      expect([name, (await call(null)).status]).toEqual([name, 401])
      const foreign = { list: 200, owner: '400 current_password: is wrong' }[name] ?? '404 User not found'
      expect([name, answerOf(await call(outsider))]).toEqual([name, foreign])
    }
    expect(await rowOf(account, viewer)).toMatchObject({ status: 'active' })
    const foreign = JSON.stringify((await app.as(outsider).get('/api/account/users/list')).body)
    expect(foreign).not.toContain(member.email)
  })

  test.each([
    ['abc', '400 user_id: must be a whole number'],
    ['1.5', '400 user_id: must be a whole number'],
    ['0', '404 User not found'],
    ['-1', '404 User not found'],
    ['99999999999', '404 User not found'],
  ])('are disabled and enabled by a whole number, so that %s is refused', async (id, expected) => {
    const { owner } = await app.account()
    for (const what of ['disable', 'enable']) expect(answerOf(await post(owner, `/api/user/${id}/${what}`))).toBe(expected)
  })
})

describe('a user who is disabled', () => {
  test('comes in by no session, key, password or link, and by the same password once enabled', async () => {
    const account = await app.account({ withPassword: true })
    const { member, keys } = account
    await withPassword(account, member)
    const second = await signedIn(member)
    await mailReset(systemContext(app.deps), { email: member.email, ip: '192.0.2.1' })
    const token = /#([\w-]+)/.exec(app.letters.at(-1)?.text ?? '')?.[1] ?? ''
    const letters = app.letters.length
    expect((await app.as(keys.personal).get('/api/spaces/list')).status).toBe(200)

    expect((await disable(account, member)).body).toEqual({ ok: true })
    for (const caller of [member, second, keys.personal]) {
      expect((await app.as(caller).get('/api/spaces/list')).status).toBe(401)
      await expect(app.as(caller).rpc.spaces.list.query()).rejects.toMatchObject({ data: { httpStatus: 401 } })
    }
    expect(answerOf(await login(member))).toBe('401 Wrong email or password')
    expect((await post(null, '/api/auth/forgot', { email: member.email })).body).toEqual({ ok: true })
    await mailReset(systemContext(app.deps), { email: member.email, ip: '192.0.2.1' })
    expect(app.letters).toHaveLength(letters)
    const reset = { token, password: 'another good password' }
    expect(answerOf(await post(null, '/api/auth/reset', reset))).toBe('400 token: is not valid any more')
    // The keys of the account are no user's.
    expect((await app.as(keys.account).get('/api/spaces/list')).status).toBe(200)

    expect((await enable(account, member)).body).toEqual({ ok: true })
    for (const ended of [member, second, keys.personal]) expect((await app.as(ended).get('/api/spaces/list')).status).toBe(401)
    expect(answerOf(await post(null, '/api/auth/reset', reset))).toBe('400 token: is not valid any more')
    const back = await signedIn(member)
    expect((await app.as(back).get('/api/spaces/list')).body).toMatchObject([{ id: account.space, role: 'member' }])
    expect((await app.as(back).get('/api/keys/list')).body).toEqual([])
  })

  test('loses open streams, of a session and of a key', async () => {
    const account = await app.account()
    const streams = [await openStream(app.url, account.member), await openStream(app.url, account.keys.personal)]
    const others = await openStream(app.url, account.viewer)
    await disable(account, account.member)
    const { id } = await makeTable(app, account)
    await post(account.owner, `/api/table/${id}/records/create`, { data: {} })
    await post(account.viewer, '/api/tasks/create', { title: 'Mine' })
    await others.until(1)
    for (const { heard } of streams) expect(heard).toEqual([])
    await Promise.all(streams.map(({ ended }) => ended))
    others.cut()
  })

  test('is none of the members, and cannot be added, changed or removed meanwhile', async () => {
    const account = await app.account()
    const { admin, member, space } = account
    await disable(account, member)
    const list = async () =>
      (await app.as(admin).get(`/api/space/${space}/members/list`)).body.map((row: { user_id: number }) => row.user_id)
    expect(await list()).not.toContain(member.id)
    const add = await post(admin, `/api/space/${space}/members/add`, { email: member.email, role: 'admin' })
    expect(answerOf(add)).toBe("409 This user is disabled; the account's owner can enable them")
    const path = `/api/space/${space}/member/${member.id}`
    expect(answerOf(await post(admin, `${path}/update`, { role: 'admin' }))).toBe('404 Member not found')
    expect(answerOf(await post(admin, `${path}/remove`))).toBe('404 Member not found')
    await enable(account, member)
    expect(await list()).toContain(member.id)
    expect(await rowOf(account, member)).toMatchObject({ status: 'active', spaces: [{ space_id: space, role: 'member' }] })
  })

  test('keeps tasks and cells, which others can go on changing, and gets no new ones', async () => {
    const account = await app.account()
    const { admin, member } = account
    const table = await makeTable(app, account, {
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Who', type: 'user' },
      ],
      records: [{ who: member.id }],
    })
    const task = `/api/tasks/onRecord/${table.id}/${table.records[0]}`
    const { body: created } = await post(admin, `${task}/create`, { title: 'Call', assignee_user_id: member.id })
    await disable(account, member)
    const get = async () => (await app.as(admin).get(`/api/task/${created.id}/get`)).body
    expect(await get()).toMatchObject({ assignee_user_id: member.id })
    const changed = await post(admin, `/api/task/${created.id}/update`, { title: 'Call again', assignee_user_id: member.id })
    expect([changed.status, changed.body.title, changed.body.assignee_user_id]).toEqual([200, 'Call again', member.id])
    expect((await post(admin, `${task}/create`, { title: 'New', assignee_user_id: member.id })).status).toBe(400)
    const record = await app.as(admin).get(`${table.path}/record/${table.records[0]}/get`)
    expect(record.body.data.who).toMatchObject({ id: member.id, name: member.name })
    const other = await post(admin, `${table.path}/record/${table.records[0]}/update`, { data: { name: 'Acme' } })
    expect(other.body.data).toMatchObject({ name: 'Acme', who: { id: member.id } })
    expect((await post(admin, `${table.path}/records/create`, { data: { who: member.id } })).status).toBe(400)
  })

  test('is neither notified nor reminded until enabled, and a reminder that has passed is not made up for', async () => {
    onTestFinished(() => app.setClock(null))
    app.setClock(new Date('2030-05-01T09:00:00Z'))
    const account = await app.account()
    const { admin, member } = account
    const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
    const made = async (due_time: string): Promise<number> => {
      const input = { title: due_time, assignee_user_id: member.id, due_date: '2030-05-01', due_time, reminder_offset_mins: 0 }
      return (await post(admin, `/api/tasks/onRecord/${table}/${records[0]}/create`, input)).body.id
    }
    const [first, second] = [await made('10:00'), await made('12:00')]
    const stateOf = async (id: number) => (await app.as(admin).get(`/api/task/${id}/reminder`)).body.state
    const sweepAt = async (time: string) => {
      app.setClock(new Date(`2030-05-01T${time}:00Z`))
      await sweepReminders(systemContext(app.deps), async () => {})
    }
    const before = (await told(member.id)).length
    await disable(account, member)
    await sweepAt('10:00')
    await post(admin, `/api/task/${first}/comments/create`, { content: `@{${member.id}:Max} look` })
    await post(admin, `/api/task/${first}/markDone`)
    expect(await told(member.id)).toHaveLength(before)
    expect([await stateOf(first), await stateOf(second)]).toEqual(['missed', 'none'])

    await sweepAt('11:00')
    await enable(account, member)
    expect(await told(member.id)).toHaveLength(before)
    expect(await stateOf(second)).toBe('scheduled')
    await sweepAt('12:00')
    await post(admin, `/api/task/${second}/comments/create`, { content: 'Well?' })
    const types = (await told(member.id)).slice(before).map(({ event_type }) => event_type)
    expect(types).toEqual(['TASK_REMINDER', 'TASK_COMMENT'])
  })

  test('finishes a request that is running', async () => {
    const account = await app.account()
    const { id: table, path, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
    const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>()
    // A lock in the database would end the update after five seconds, which a busy machine may need for the call between.
    const waiting = queriesWith(queries, async ({ text }) => {
      if (!text.includes(`update ${recordsOf(table).text}`)) return
      begin()
      await mayGoOn
    })
    Object.assign(app.db, waiting)
    const running = post(account.member, `${path}/record/${records[0]}/update`, { data: { name: 'Acme Ltd' } })
    await isBegun
    expect(answerOf(await disable(account, account.member))).toBe(200)
    goOn()
    expect((await running).status).toBe(200)
    const record = await app.as(account.owner).get(`${path}/record/${records[0]}/get`)
    expect(record.body.data.name).toBe('Acme Ltd')
    expect((await app.as(account.member).get(`${path}/record/${records[0]}/get`)).status).toBe(401)
  })

  test('has no session or key from a request that was under way', async () => {
    const account = await app.account({ withPassword: true })
    const { member, keys } = account
    await withPassword(account, member)
    await Promise.all([
      ...Array.from({ length: 3 }, () => login(member)),
      ...Array.from({ length: 3 }, (_, at) => post(member, '/api/keys/create', { kind: 'personal', name: `Key ${at}` })),
      disable(account, member),
    ])
    const left = sql`select 1 from sessions where user_id = ${member.id} union all
      select 1 from api_keys where user_id = ${member.id} and kind = 'personal'`
    expect(await app.db.read(left)).toEqual([])
    await enable(account, member)
    expect((await app.as(keys.personal).get('/api/spaces/list')).status).toBe(401)
  })

  test('is disabled and enabled once, however often it is asked for, also at once', async () => {
    const account = await app.account()
    const { owner, member } = account
    for (const call of [disable, enable]) {
      const answers = await Promise.all([call(account, member), call(account, member), call(account, member)])
      expect(answers.map(({ body }) => body)).toEqual([{ ok: true }, { ok: true }, { ok: true }])
      expect((await call(account, member)).body).toEqual({ ok: true })
    }
    const log = (await app.as(owner).get('/api/audit/list')).body.filter(({ action }: { action: string }) => action.startsWith('user.'))
    const object = { type: 'user', id: String(member.id), name: null }
    expect(log).toMatchObject([
      { action: 'user.enabled', actor_user_id: owner.id, object, detail: {} },
      { action: 'user.disabled', actor_user_id: owner.id, object, detail: { sessions: 1, keys: 1, mails: 0 } },
    ])
  })

  test('is not the owner, who is also the one who asks, and nobody who was erased', async () => {
    const account = await app.account()
    const { owner, viewer } = account
    const message = "409 The account's owner cannot be disabled; hand the account to another user first"
    expect(answerOf(await disable(account, owner))).toBe(message)
    expect((await enable(account, owner)).body).toEqual({ ok: true })
    await eraseRow(viewer)
    expect(answerOf(await disable(account, viewer))).toBe('409 The user was erased')
    expect(answerOf(await enable(account, viewer))).toBe('409 The user was erased')
    expect(answerOf(await post(owner, `/api/user/${viewer.id}/disable`, { force: true }))).toBe('400 force: is not a known key')
  })

  test('may be the last admin of a space besides the owner', async () => {
    const account = await app.account()
    expect(answerOf(await disable(account, account.admin))).toBe(200)
    expect((await app.as(account.owner).get(`/api/space/${account.space}/get`)).body.role).toBe('admin')
  })

  test('may be an invited person, whose link ends', async () => {
    const account = await app.account()
    const guest = await invited(account)
    const token = await createInvite(app.db, guest.id, app.deps.clock())
    await disable(account, guest)
    const accept = { token, name: 'Ivy', password: 'a good long password' }
    expect(answerOf(await post(null, '/api/auth/acceptInvite', accept))).toBe('400 token: is not valid any more')
    await enable(account, guest)
    expect(await rowOf(account, guest)).toMatchObject({ status: 'invited', spaces: [{ space_id: account.space, role: 'viewer' }] })
    expect(answerOf(await post(null, '/api/auth/acceptInvite', accept))).toBe('400 token: is not valid any more')
    const again = await post(account.owner, `/api/space/${account.space}/members/add`, { email: guest.email, role: 'member' })
    expect(again.body).toMatchObject({ status: 'invited', role: 'member' })
  })
})

describe('the account is handed to another user', () => {
  const handOver = ({ owner }: TestAccount, to: { id: number }, current_password = owner.password) =>
    post(owner, '/api/account/owner', { user_id: to.id, current_password })

  test('who is then its owner, for whom its keys act, while the former one keeps their spaces', async () => {
    const account = await app.account({ withPassword: true })
    const { owner, viewer, keys, space, otherSpace } = account
    expect((await handOver(account, viewer)).body).toEqual({ ok: true })
    expect((await app.as(owner).get('/api/account/users/list')).status).toBe(403)
    const rows = (await app.as(viewer).get('/api/account/users/list')).body
    const both = [space, otherSpace].map((space_id) => ({ space_id, role: 'admin' }))
    for (const { id } of [owner, viewer]) expect(rows.find((row: { id: number }) => row.id === id).spaces).toEqual(both)
    expect((await app.as(keys.account).get('/api/key/self')).body.acts_as).toMatchObject({ id: viewer.id })
    const members = (await app.as(viewer).get(`/api/space/${otherSpace}/members/list`)).body
    expect(members.map(({ user_id, role }: { user_id: number; role: string }) => [user_id, role])).toEqual([
      [owner.id, 'admin'],
      [viewer.id, 'admin'],
    ])
    expect(answerOf(await post(viewer, `/api/space/${space}/member/${owner.id}/update`, { role: 'member' }))).toBe(200)
    const [entry] = (await app.as(viewer).get('/api/audit/list?action=account.owner_changed')).body
    expect(entry).toMatchObject({
      actor_user_id: owner.id,
      object: { type: 'account', id: String(account.id) },
      detail: { owner: viewer.id, before: owner.id },
    })
    // The former owner is a user like others now.
    expect(answerOf(await post(viewer, `/api/user/${owner.id}/disable`))).toBe(200)
    expect((await app.as(keys.account).get('/api/spaces/list')).status).toBe(200)
    expect((await app.as(owner).get('/api/spaces/list')).status).toBe(401)
  })

  test('and both are told by mail', async () => {
    const account = await app.account({ withPassword: true })
    const { owner, viewer } = account
    const queued = sql`select data from pgboss.job where name = ${sendOwnerNotice.name} and (data->>'account_id')::int = ${account.id} order by data->>'user_id'`
    expect((await handOver(account, viewer)).body).toEqual({ ok: true })
    const letters = app.letters.length
    const jobs = await app.db.read<{ data: Parameters<typeof mailOwnerNotice>[1] }>(queued)
    for (const { data } of [...jobs, ...jobs]) await mailOwnerNotice(systemContext(app.deps), data)
    const [first, second, ...again] = app.letters.slice(letters)
    expect(first).toMatchObject({ to: owner.email, subject: 'Your account on Gridpost has another owner' })
    expect(first?.text).toContain(`was handed to ${viewer.name}`)
    expect(second).toMatchObject({ to: viewer.email, subject: 'You own an account on Gridpost' })
    expect(second?.text).toContain(`was handed to you by ${owner.name}`)
    expect(again.map(({ headers }) => headers?.['Message-ID'])).toEqual([first, second].map((letter) => letter?.headers?.['Message-ID']))
    // Somebody who is disabled meanwhile gets no mail.
    await disable({ ...account, owner: viewer as TestAccount['owner'] }, owner)
    for (const { data } of jobs) await mailOwnerNotice(systemContext(app.deps), data)
    expect(app.letters.slice(letters + 4).map(({ to }) => to)).toEqual([viewer.email])
  })

  test('over RPC, in one of two calls at once', async () => {
    const account = await app.account({ withPassword: true })
    const { owner, member, viewer } = account
    const rpc = app.as(owner).rpc.account.owner
    const current_password = owner.password
    const calls = await Promise.allSettled([member, viewer].map(({ id }) => rpc.mutate({ user_id: id, current_password })))
    expect(calls.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const [{ owner_user_id } = {}] = await app.db.read<{ owner_user_id: number }>(
      sql`select owner_user_id from accounts where id = ${account.id}`,
    )
    expect(owner_user_id).toBe(calls[0]?.status === 'fulfilled' ? member.id : viewer.id)
  })

  test('but to nobody else', async () => {
    const account = await app.account({ withPassword: true })
    const { owner, member, viewer, outsider } = account
    const guest = await invited(account)
    await disable(account, viewer)
    expect(answerOf(await handOver(account, outsider))).toBe('404 User not found')
    expect(answerOf(await handOver(account, { id: 2_000_000_000 }))).toBe('404 User not found')
    expect(answerOf(await handOver(account, owner))).toBe('409 The user is the owner of the account already')
    expect(answerOf(await handOver(account, guest))).toBe('409 Only an active user can own the account; this one is invited')
    expect(answerOf(await handOver(account, viewer))).toBe('409 Only an active user can own the account; this one is disabled')
    await eraseRow(viewer)
    expect(answerOf(await handOver(account, viewer))).toBe('409 Only an active user can own the account; this one is erased')
    const { body } = await post(owner, '/api/account/owner', {})
    expect(body.issues.map(({ path }: { path: string[] }) => path[0]).sort()).toEqual(['current_password', 'user_id'])
    for (const user_id of ['8', 1.5, null, [member.id]])
      expect((await post(owner, '/api/account/owner', { user_id, current_password: owner.password })).status).toBe(400)
    expect((await app.as(owner).get('/api/account/users/list')).status).toBe(200)
  })

  test('by nobody who does not know the password, and wrong ones are counted', async () => {
    const account = await app.account({ withPassword: true })
    const answers: (number | string)[] = []
    for (let time = 0; time < 12 && !String(answers.at(-1)).startsWith('429'); time++)
      answers.push(answerOf(await handOver(account, account.member, 'not the password')))
    expect(answers[0]).toBe('400 current_password: is wrong')
    expect(answers.at(-1)).toMatch(/^429 /)
    const log = (await app.as(account.owner).get('/api/audit/list?action=sign_in.failed')).body
    expect(log[0]).toMatchObject({ object: { type: 'user', id: String(account.owner.id) } })
    expect((await app.as(account.owner).get('/api/account/users/list')).status).toBe(200)
  })

  test('while that user is being disabled, which only one of the two survives', async () => {
    const account = await app.account({ withPassword: true })
    const { member } = account
    await Promise.all([handOver(account, member), disable(account, member)])
    const [row] = await app.db.read<{ status: string; owns: boolean }>(sql`
      select u.status, a.owner_user_id = u.id as owns from users u join accounts a on a.id = u.account_id where u.id = ${member.id}`)
    expect([
      { status: 'active', owns: true },
      { status: 'deleted', owns: false },
    ]).toContainEqual(row)
  })
})
