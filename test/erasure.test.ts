/** Erasing a person (contract.md §9, People of an account): what goes, what stays, and under which name. */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { mailReset } from '../src/auth/password-reset.ts'
import { forget } from '../src/people/erasure.ts'
import { systemContext } from '../src/platform/context.ts'
import { ident, recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type Caller, type Person, type TestAccount, testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({}, { worker: true })
const { holding, told } = taskSupport(app)
const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

const post = (caller: Caller, path: string, body?: object) => app.as(caller).post(path, body)
const answerOf = ({ status, body }: Answer) => (status === 200 ? 200 : `${status} ${body.message}`)
const made = async (caller: Caller, path: string, body?: object) => {
  const answer = await post(caller, path, body)
  expect([path, answerOf(answer)]).toEqual([path, 200])
  return answer.body
}
const newAccount = () => app.account({ withPassword: true })
const erase = ({ owner }: TestAccount, { id }: { id: number }, current_password = owner.password) =>
  post(owner, `/api/user/${id}/erase`, { current_password })
/** The same, until the texts about the user are changed as well. What is not quick is left to a job. */
const eraseWholly = async (account: TestAccount, user: { id: number }) => {
  expect(answerOf(await erase(account, user))).toBe(200)
  await expect.poll(() => app.db.read(sql`select 1 from erasures where user_id = ${user.id}`)).toEqual([])
}
const rowOf = async ({ owner }: TestAccount, { id }: { id: number }) =>
  (await app.as(owner).get('/api/account/users/list')).body.find((row: { id: number }) => row.id === id)
const withPassword = ({ owner }: TestAccount, { id }: Person) =>
  app.db.write(sql`update users set password_hash = (select password_hash from users where id = ${owner.id}) where id = ${id}`)
const login = (email: string, password: string) => post(null, '/api/auth/login', { email, password })
const named = (id: number) => `Deleted user ${id}`

describe('a user who is erased', () => {
  test('has no name, address or space, and comes in by no session, key, password or link', async () => {
    const account = await newAccount()
    const { owner, member, keys } = account
    await withPassword(account, member)
    expect((await login(member.email, owner.password)).status).toBe(200)
    await mailReset(systemContext(app.deps), { email: member.email, ip: '192.0.2.1' })
    const token = /#([\w-]+)/.exec(app.letters.at(-1)?.text ?? '')?.[1] ?? ''
    const letters = app.letters.length

    expect((await erase(account, member)).body).toEqual({ ok: true })
    expect(await rowOf(account, member)).toEqual({
      ...{ id: member.id, name: named(member.id), email: null, status: 'erased', last_seen_at: null, spaces: [] },
    })
    for (const caller of [member, keys.personal]) {
      expect((await app.as(caller).get('/api/spaces/list')).status).toBe(401)
      await expect(app.as(caller).rpc.spaces.list.query()).rejects.toMatchObject({ data: { httpStatus: 401 } })
    }
    expect(answerOf(await login(member.email, owner.password))).toBe('401 Wrong email or password')
    expect((await login(`deleted-user-${member.id}`, owner.password)).status).toBe(400)
    await post(null, '/api/auth/forgot', { email: member.email })
    await mailReset(systemContext(app.deps), { email: member.email, ip: '192.0.2.1' })
    expect(app.letters).toHaveLength(letters)
    expect(answerOf(await post(null, '/api/auth/reset', { token, password: 'another good password' }))).toBe(
      '400 token: is not valid any more',
    )
    const [entry] = (await app.as(owner).get('/api/audit/list?action=user.erased')).body
    expect(entry).toMatchObject({
      actor_user_id: owner.id,
      object: { type: 'user', id: String(member.id), name: null },
      detail: { sessions: 2, keys: 1, signatures: 0, mails: 0 },
    })
    const members = (await app.as(owner).get(`/api/space/${account.space}/members/list`)).body
    expect(members.map(({ user_id }: { user_id: number }) => user_id)).not.toContain(member.id)
  })

  test('is erased over RPC as well, also when disabled or invited before', async () => {
    const account = await newAccount()
    const { owner, member, viewer } = account
    await made(owner, `/api/user/${member.id}/disable`)
    const { user_id: guest } = await made(owner, `/api/space/${account.space}/members/add`, {
      email: `gus.${account.id}@example.com`,
      role: 'viewer',
    })
    for (const user_id of [member.id, guest, viewer.id]) {
      expect(await app.as(owner).rpc.users.erase.mutate({ user_id, current_password: owner.password })).toEqual({ ok: true })
      expect(await rowOf(account, { id: user_id })).toMatchObject({ name: named(user_id), email: null, status: 'erased' })
    }
  })

  test('leaves an address that can be invited again, as another person', async () => {
    const account = await newAccount()
    const { owner, member, space } = account
    const { id } = await made(member, `/api/tasks/onRecord/${(await makeTable(app, account, { records: [{}] })).id}/1/create`, {
      title: 'Call',
      assignee_user_id: member.id,
    })
    await erase(account, member)
    const added = await made(owner, `/api/space/${space}/members/add`, { email: member.email, role: 'member' })
    expect(added).toMatchObject({ name: member.email, email: member.email, status: 'invited' })
    expect(added.user_id).not.toBe(member.id)
    expect((await app.as(owner).get(`/api/task/${id}/get`)).body).toMatchObject({ assignee_user_id: member.id, creator_user_id: member.id })
    expect(await rowOf(account, member)).toMatchObject({ status: 'erased', spaces: [] })
    // Another account may invite it, too, once the account has erased it.
    await erase(account, { id: added.user_id })
    const other = await app.account()
    await made(other.owner, `/api/space/${other.space}/members/add`, { email: member.email, role: 'viewer' })
  })
})

describe('erasing a user', () => {
  test('is for the owner alone, in a session, with the password', async () => {
    const account = await newAccount()
    const { owner, admin, member, viewer, outsider, keys } = account
    const path = `/api/user/${viewer.id}/erase`
    for (const caller of [admin, member, viewer])
      expect(answerOf(await post(caller, path, { current_password: owner.password }))).toBe('403 Not authorized')
    for (const key of [keys.account, keys.accountReadOnly, keys.personal])
      expect(answerOf(await post(key, path, { current_password: owner.password }))).toBe('403 API endpoint not available to API keys')
    expect((await post(null, path, { current_password: owner.password })).status).toBe(401)
    expect(answerOf(await post(outsider, path, { current_password: owner.password }))).toBe('404 User not found')
    expect(answerOf(await post(owner, `/api/user/${outsider.id}/erase`, { current_password: owner.password }))).toBe('404 User not found')
    for (const body of [{}, undefined, { current_password: 8 }, { current_password: owner.password, force: true }])
      expect((await post(owner, path, body)).status).toBe(400)
    for (const [id, expected] of Object.entries({ abc: 400, '1.5': 400, '0': 404, '-1': 404, '99999999999': 404 }))
      expect((await post(owner, `/api/user/${id}/erase`, { current_password: owner.password })).status).toBe(expected)
    expect(await rowOf(account, viewer)).toMatchObject({ status: 'active', email: viewer.email })
  })

  test('counts wrong passwords as failed sign-ins', async () => {
    const account = await newAccount()
    const answers: (number | string)[] = []
    for (let time = 0; time < 12 && !String(answers.at(-1)).startsWith('429'); time++)
      answers.push(answerOf(await erase(account, account.member, 'not the password')))
    expect(answers[0]).toBe('400 current_password: is wrong')
    expect(answers.at(-1)).toMatch(/^429 /)
    expect(await rowOf(account, account.member)).toMatchObject({ status: 'active' })
  })

  test('is refused for the owner, who is also the one who asks, and the second time', async () => {
    const account = await newAccount()
    const { owner, member } = account
    expect(answerOf(await erase(account, owner))).toBe("409 The account's owner cannot be erased; hand the account to another user first")
    expect(answerOf(await erase(account, member))).toBe(200)
    expect(answerOf(await erase(account, member))).toBe('409 The user was erased')
    for (const what of ['disable', 'enable'])
      expect(answerOf(await post(owner, `/api/user/${member.id}/${what}`))).toBe('409 The user was erased')
    const body = { user_id: member.id, current_password: owner.password }
    expect(answerOf(await post(owner, '/api/account/owner', body))).toBe('409 Only an active user can own the account; this one is erased')
    expect(await rowOf(account, owner)).toMatchObject({ status: 'active', email: owner.email })
  })

  test('may leave a space without another admin than the owner, who always is one', async () => {
    const account = await newAccount()
    expect(answerOf(await erase(account, account.admin))).toBe(200)
    expect((await app.as(account.owner).get(`/api/space/${account.space}/get`)).body.role).toBe('admin')
  })

  test('is done once of two calls at once', async () => {
    const account = await newAccount()
    const answers = await Promise.all([erase(account, account.member), erase(account, account.member)])
    expect(answers.map(answerOf).sort()).toEqual([200, '409 The user was erased'])
  })

  test('and handing over the account at once, which only one of the two survives', async () => {
    const account = await newAccount()
    const { owner, member } = account
    const handing = post(owner, '/api/account/owner', { user_id: member.id, current_password: owner.password })
    const [erased, handed] = await Promise.all([erase(account, member), handing])
    const [row] = await app.db.read<{ status: string; owns: boolean }>(sql`
      select u.status, a.owner_user_id = u.id as owns from users u join accounts a on a.id = u.account_id where u.id = ${member.id}`)
    expect([erased.status, handed.status, row]).toEqual(
      erased.status === 200 ? [200, 409, { status: 'deleted', owns: false }] : [409, 200, { status: 'active', owns: true }],
    )
  })

  test('and enabling or disabling at once leaves an erased user', async () => {
    const account = await newAccount()
    const { owner, member } = account
    await made(owner, `/api/user/${member.id}/disable`)
    const calls = ['enable', 'disable', 'enable'].map((what) => post(owner, `/api/user/${member.id}/${what}`))
    const [erased, ...others] = await Promise.all([erase(account, member), ...calls])
    expect(answerOf(erased)).toBe(200)
    for (const other of others) expect([200, '409 The user was erased']).toContain(answerOf(other))
    expect(await rowOf(account, member)).toMatchObject({ status: 'erased', email: null })
  })

  test('while the user signs in, makes keys and asks for another address leaves nothing that comes in', async () => {
    const account = await newAccount()
    const { owner, member } = account
    await withPassword(account, member)
    await Promise.all([
      ...Array.from({ length: 3 }, () => login(member.email, owner.password)),
      ...Array.from({ length: 3 }, (_, at) => post(member, '/api/keys/create', { kind: 'personal', name: `Key ${at}` })),
      post(member, '/api/auth/email', { email: `new.${account.id}@example.com`, current_password: owner.password }),
      post(member, '/api/email/signatures/create', { name: 'Mine', html: '<p>Max</p>' }),
      post(member, '/api/preference/draft/update', { value: 'Max' }),
      erase(account, member),
    ])
    expect(await rowOf(account, member)).toMatchObject({ status: 'erased' })
    for (const table of ['sessions', 'api_keys', 'address_changes', 'password_resets', 'invites', 'email_signatures', 'preferences'])
      expect([table, await app.db.read(sql`select 1 from ${ident(table)} where user_id = ${member.id}`)]).toEqual([table, []])
  })

  test('lets a request that is running come to its end', async () => {
    const account = await newAccount()
    const { id: table, path, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
    const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>()
    // A lock in the database would end the update after five seconds, which a busy machine may need for the erasure.
    const waiting = queriesWith(queries, async ({ text }) => {
      if (!text.includes(`update ${recordsOf(table).text}`)) return
      begin()
      await mayGoOn
    })
    Object.assign(app.db, waiting)
    const running = post(account.member, `${path}/record/${records[0]}/update`, { data: { name: 'Acme Ltd' } })
    await isBegun
    expect(answerOf(await erase(account, account.member))).toBe(200)
    goOn()
    expect((await running).status).toBe(200)
    expect((await app.as(account.owner).get(`${path}/record/${records[0]}/get`)).body.data.name).toBe('Acme Ltd')
    expect((await app.as(account.member).get(`${path}/record/${records[0]}/get`)).status).toBe(401)
  })
})

describe('what an erased user leaves', () => {
  /** An account with a record and a task, on which the member has written and is mentioned. */
  async function desk() {
    const account = await newAccount()
    const { owner, admin, member } = account
    const table = await makeTable(app, account, {
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Who', type: 'user' },
        { name: 'Team', type: 'multi_user' },
      ],
      records: [{ name: 'Acme', who: member.id, team: [owner.id, member.id] }],
    })
    const record = `${table.path}/record/${table.records[0]}`
    const task = await made(member, `/api/tasks/onRecord/${table.id}/${table.records[0]}/create`, {
      title: 'Call',
      assignee_user_id: admin.id,
    })
    return { ...account, table, record, task: `/api/task/${task.id}` }
  }
  type Desk = Awaited<ReturnType<typeof desk>>
  const commentsOf = async ({ owner, record }: Desk) => (await app.as(owner).get(`${record}/comments/get?limit=100`)).body

  test('are comments, mentions and notifications with the new name', async () => {
    const here = await desk()
    const { owner, admin, member, viewer, record, task } = here
    await made(admin, `/api/subscriptions/${here.table.id}/${here.table.records[0]}/subscribe`, { force: true })
    await made(member, `${record}/comments/create`, { content: `Look @{${viewer.id}:${viewer.name}}` })
    const mention = `@{${member.id}:${member.name}}`
    const other = `@{${viewer.id}:${viewer.name}}`
    await made(admin, `${record}/comments/create`, { content: `${mention}, and ${mention} with ${other}: see @{${member.id}:Maxi}` })
    await made(viewer, `${task}/comments/create`, { content: `${mention} knows. ${member.name} does.` })
    await made(member, `${task}/comments/create`, { content: 'I do.' })
    await made(here.keys.personal, `${record}/comments/create`, { content: 'By a key' })
    await made(member, `${task}/markDone`)

    await eraseWholly(here, member)
    const name = named(member.id)
    const comments = await commentsOf(here)
    expect(comments.map(({ user_id, user_name, content }: Record<string, unknown>) => [user_id, user_name, content])).toEqual(
      expect.arrayContaining([
        [member.id, name, `Look ${other}`],
        [admin.id, admin.name, `@{${member.id}:${name}}, and @{${member.id}:${name}} with ${other}: see @{${member.id}:${name}}`],
        [0, expect.stringMatching(/^API: /), 'By a key'],
      ]),
    )
    for (const { updated_at } of comments) expect(updated_at).toBeNull()
    const onTask = (await app.as(owner).get(`${task}/comments/get`)).body
    expect(onTask.map(({ user_name, content }: Record<string, unknown>) => [user_name, content])).toEqual(
      expect.arrayContaining([
        // What people write in words is theirs.
        [viewer.name, `@{${member.id}:${name}} knows. ${member.name} does.`],
        [name, 'I do.'],
      ]),
    )
    const messages = (await told(admin.id)).filter(({ actor_user_id }) => actor_user_id === member.id)
    expect(messages.map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringContaining(`${name} commented on `), expect.stringContaining(`${name} assigned you `)]),
    )
    for (const { message } of messages) expect(message).not.toContain(member.name)
    const quoted = (await told(viewer.id)).map(({ message, summary }) => `${message} ${summary}`)
    expect(quoted.join('\n')).toContain(`@${name}, and @${name} with @${viewer.name}: see @${name}`)
    expect(await told(member.id)).toEqual([])
  })

  test('are cells, groups and files of records with the name and without an address', async () => {
    const here = await desk()
    const { owner, member, table, record } = here
    const person = { id: member.id, name: named(member.id), email: null }
    await eraseWholly(here, member)
    const { data } = (await app.as(owner).get(`${record}/get`)).body
    expect(data).toMatchObject({ who: person, team: [{ id: owner.id, email: owner.email }, person] })
    const [row] = (await post(owner, `${table.path}/records/query`, {})).body
    expect(row).toMatchObject({ who: person, team: [{ id: owner.id }, person] })
    const changed = await made(owner, `${record}/update`, { data: { name: 'Acme Ltd' } })
    expect(changed.data.who).toEqual(person)
    const [group] = (await post(owner, `${table.path}/records/groups`, { by: 'who' })).body
    expect(group).toMatchObject({ value: person, count: 1 })
    const csv = (await app.as(owner).get(`${table.path}/export.csv`)).body
    expect(csv).toContain(`,${person.name},"${owner.email}, ${person.name}"`)
    expect(JSON.stringify([data, row, changed, group, csv])).not.toContain(`deleted-user-${member.id}`)
    const { body: job } = await post(owner, `${table.path}/field/who/changeType`, { type: 'text' })
    await expect.poll(async () => (await app.as(owner).get(`/api/job/${job.job_id}`)).body.state).toBe('done')
    expect((await post(owner, `${table.path}/records/query`, {})).body[0]).toMatchObject({ who: person.name })
  })

  test('are saved views that mean the same user', async () => {
    const here = await desk()
    const { admin, member, table } = here
    const view = async (name: string, filters: object[]) =>
      (await made(admin, `${table.path}/views/create`, { name, type: 'grid', config: {}, filters })).id
    const ids = [
      await view('Is', [{ column: 'who', compare: '=', value: member.email }]),
      await view('Contains', [{ column: 'who', compare: 'contains', value: member.email }]),
      await view('Name', [{ column: 'who', compare: 'contains', value: member.name }]),
    ]
    const nested = { not: { column: 'who', compare: '=', value: [member.email, here.owner.email] } }
    const other = await made(admin, `${table.path}/views/create`, { name: 'Not', type: 'grid', config: {}, filter: nested })
    await eraseWholly(here, member)
    const { filter } = (await app.as(admin).get(`${table.path}/view/${other.id}/get`)).body
    expect(filter).toEqual({ not: { column: 'who', compare: '=', value: [member.id, here.owner.email] } })
    expect((await post(admin, `${table.path}/records/query`, { view_id: other.id })).body).toEqual([])
    const values: unknown[] = []
    for (const id of ids) {
      values.push((await app.as(admin).get(`${table.path}/view/${id}/get`)).body.filters[0].value)
      expect((await post(admin, `${table.path}/records/query`, { view_id: id })).body).toHaveLength(1)
    }
    expect(values).toEqual([member.id, named(member.id), named(member.id)])
  })

  test('is named nowhere any more, but in mails, by their own words and in the address of a sender', async () => {
    const here = await desk()
    const { owner, admin, member, record, task, space } = here
    await withPassword(here, member)
    await app.db.write(sql`update users set name = ${`Maximiliane ${here.id}`} where id = ${member.id}`)
    const name = `Maximiliane ${here.id}`
    const domain = 'beech.example'
    await app.db.write(sql`update users set email = ${`maximiliane.${here.id}@${domain}`} where id = ${member.id}`)
    const email = `maximiliane.${here.id}@${domain}`
    await made(owner, `/api/space/${space}/smtp/create`, {
      ...{ label: 'Desk', host: '127.0.0.1', port: 1, tls: 'none', from_domains: [domain] },
      from_identities: [
        { name, email },
        { name: 'Desk', email: `desk@${domain}` },
      ],
    })
    await made(member, '/api/email/signatures/create', { name: 'Mine', html: `<p>${name}</p>` })
    await made(member, `${record}/comments/create`, { content: 'Mine' })
    await made(admin, `${task}/comments/create`, { content: `@{${member.id}:${name}} look` })
    await made(here.table ? admin : owner, `${here.table.path}/views/create`, {
      ...{ name: 'Hers', type: 'grid', config: {}, filters: [{ column: 'who', compare: '=', value: email }] },
    })
    await post(null, '/api/auth/login', { email, password: 'a wrong password' })
    await post(null, '/api/auth/forgot', { email })
    await post(member, '/api/auth/email', { email: `later.${here.id}@${domain}`, current_password: owner.password })
    await made(owner, `/api/subscriptions/${here.table.id}/${here.table.records[0]}/subscribe`, { force: true })
    await made(member, `/api/subscriptions/${here.table.id}/${here.table.records[0]}/subscribe`, { force: true })

    await eraseWholly(here, member)
    const tables = await app.db.read<{ table: string }>(sql`
      select table_schema || '.' || table_name as table from information_schema.tables
      where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'`)
    const naming = async () => {
      const found: string[] = []
      for (const { table } of tables) {
        const from = table
          .split('.')
          .map((part) => ident(part).text)
          .join('.')
        const text = {
          text: `select r::text as row from ${from} r where lower(r::text) like any($1)`,
          values: [[`%${email}%`, `%${name.toLowerCase()}%`]],
        }
        for (const { row } of await app.db.read<{ row: string }>(text)) found.push(`${table}: ${row}`)
      }
      return found
    }
    await expect.poll(naming).toEqual([])
    const rows = sql`select 1 from subscriptions where user_id = ${member.id} union all select 1 from task_subscribers where user_id = ${member.id}`
    expect(await app.db.read(rows)).toEqual([])
    const [integration] = (await app.as(owner).get(`/api/space/${space}/smtp/list`)).body
    expect(integration.from_identities).toEqual([{ name: 'Desk', email: `desk@${domain}` }])
  })

  test('takes its time where it is much or locked, while the user is out at once', async () => {
    const here = await desk()
    const { owner, admin, member, record } = here
    const { id } = await made(admin, `${record}/comments/create`, { content: `@{${member.id}:${member.name}}` })
    await app.db.write(sql`
      insert into record_comments (account_id, space_id, table_id, record_id, user_id, user_name, content)
      select account_id, space_id, table_id, record_id, ${member.id}, ${member.name}, 'x' from record_comments, generate_series(1, 2500)
      where id = ${id}`)
    const release = await holding(sql`update record_comments set content = content where id = ${id}`)
    expect(answerOf(await erase(here, member))).toBe(200)
    expect((await app.as(member).get('/api/spaces/list')).status).toBe(401)
    await release()
    const left = () =>
      app.db.read(sql`
        select id from record_comments
        where account_id = ${here.id} and (user_name = ${member.name} or position(${member.name} in content) > 0)`)
    await expect.poll(left).toEqual([])
    await expect.poll(() => app.db.read(sql`select 1 from erasures where user_id = ${member.id}`)).toEqual([])
    expect((await commentsOf(here))[0].user_name).toBe(named(member.id))
    expect((await app.as(owner).get(`${record}/get`)).status).toBe(200)
  })

  test('is what notifications quote, by whatever name, although one of them is locked at first', async () => {
    const here = await desk()
    const { admin, member, viewer, record } = here
    await made(admin, `${record}/comments/create`, { content: `See @{${member.id}:Maxi} and @{${viewer.id}:${viewer.name}}` })
    const release = await holding(sql`update notifications set read_at = read_at where user_id = ${viewer.id}`)
    expect(answerOf(await erase(here, member))).toBe(200)
    await release()
    await expect.poll(() => app.db.read(sql`select 1 from erasures where user_id = ${member.id}`)).toEqual([])
    const name = named(member.id)
    expect((await told(viewer.id)).map(({ summary }) => summary)).toContain(`See @${name} and @${viewer.name}`)
    const contents = (await commentsOf(here)).map(({ content }: { content: string }) => content)
    expect(contents).toContain(`See @{${member.id}:${name}} and @{${viewer.id}:${viewer.name}}`)
  })

  test('is looked at again for what requests have written meanwhile', async () => {
    const here = await desk()
    const { owner, member, record } = here
    await eraseWholly(here, member)
    await made(owner, `${record}/comments/create`, { content: `@{${member.id}:${member.name}} was here` })
    const contentsLater = async () => {
      await forget(systemContext(app.deps), { user_id: member.id })
      return (await commentsOf(here)).map(({ content }: { content: string }) => content)
    }
    // The job of the erasure may do the same meanwhile.
    await expect.poll(contentsLater).toContain(`@{${member.id}:${named(member.id)}} was here`)
    // Nothing is forgotten of somebody who is not erased.
    await forget(systemContext(app.deps), { user_id: owner.id })
    expect(await rowOf(here, owner)).toMatchObject({ name: owner.name, email: owner.email })
  })
})

describe('the mails of an erased user', () => {
  async function sender() {
    const account = await newAccount()
    const { path, id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
    const server = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
    const { id } = await made(account.admin, `/api/space/${account.space}/smtp/create`, server)
    const send = async (caller: Caller, more: object = {}): Promise<number> => {
      const mail = { tableId: table, recordId: records[0], smtpIntegrationId: id, fromIdentity: { email: `desk-${id}@example.com` } }
      const { status, body } = await post(caller, '/api/email/send', { ...mail, to: ['ann@customer.example'], ...more })
      expect([status, body.message]).toEqual([202, undefined])
      return body.id
    }
    const comments = async () => (await app.as(account.owner).get(`${path}/record/${records[0]}/comments/get?limit=100`)).body
    const mailOf = async (id: number) => (await comments()).find((comment: { id: number }) => comment.id === id)
    return { ...account, send, mailOf }
  }
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

  test('that wait are dropped, by session and by key; those that were sent stay, under the new name', async () => {
    const here = await sender()
    const { member, keys, send, mailOf } = here
    const sent = await send(member)
    await expect.poll(async () => (await mailOf(sent)).metadata.status).toBe('sent')
    const waiting = [await send(member, { sendAt: inAnHour() }), await send(keys.personal, { sendAt: inAnHour() })]
    await eraseWholly(here, member)
    for (const id of waiting)
      expect((await mailOf(id)).metadata).toMatchObject({ status: 'dropped', error: expect.objectContaining({ code: 'SENDER_DISABLED' }) })
    expect(await mailOf(sent)).toMatchObject({ user_name: named(member.id), metadata: { status: 'sent' } })
    const [entry] = (await app.as(here.owner).get('/api/audit/list?action=user.erased')).body
    expect(entry.detail).toMatchObject({ mails: 2 })
  })

  test('that is being handed over is delivered', async () => {
    const here = await sender()
    const { member, send, mailOf } = here
    smtp.onContent = { meanwhile: async () => expect(answerOf(await erase(here, member))).toBe(200) }
    const id = await send(member)
    await expect.poll(async () => (await mailOf(id)).metadata.status).toBe('sent')
    smtp.onContent = {}
    expect(await rowOf(here, member)).toMatchObject({ status: 'erased' })
    expect((await mailOf(id)).user_name).toBe(named(member.id))
  })
})
