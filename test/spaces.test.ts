import { describe, expect, onTestFinished, test } from 'vitest'
import { setPassword } from '../src/accounts/service.ts'
import { createInvite } from '../src/auth/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { mailInvite } from '../src/spaces/invites.ts'
import { testApp } from './support/app.ts'

const app = await testApp({}, { worker: true })
const DAY_MS = 86_400_000

describe('spaces', () => {
  test('are created, renamed and deleted by the owner and by account keys without a whitelist', async () => {
    const { owner, admin, keys, space } = await app.account()
    const made = await app.as(keys.account).post('/api/spaces/create', { name: 'Sales' })
    expect(made.body).toMatchObject({ name: 'Sales', role: 'admin' })
    expect((await app.as(owner).post(`/api/space/${made.body.id}/update`, { name: 'Sales EU' })).body.name).toBe('Sales EU')
    for (const [caller, message] of [
      [admin, 'Not authorized'],
      [keys.personal, 'Endpoint not available to personal API keys'],
      [keys.accountOtherSpace, 'API key not authorized for this workspace'],
      [keys.accountReadOnly, 'API key is read-only'],
    ] as const) {
      expect((await app.as(caller).post('/api/spaces/create', { name: 'No' })).body.message).toBe(message)
      expect((await app.as(caller).post(`/api/space/${space}/delete`)).body.message).toBe(message)
    }
    expect((await app.as(owner).post(`/api/space/${made.body.id}/delete`)).body).toEqual({ ok: true })
    expect((await app.as(owner).get(`/api/space/${made.body.id}/get`)).body.message).toBe('Space not found')
  })

  test("are listed with the caller's role, without those that the caller cannot reach", async () => {
    const { space, viewer, owner, outsider, keys } = await app.account()
    expect((await app.as(viewer).get('/api/spaces/list')).body).toEqual([expect.objectContaining({ id: space, role: 'viewer' })])
    const all = await app.as(owner).get('/api/spaces/list')
    expect(all.body).toHaveLength(2)
    expect(all.headers.get('x-total-count')).toBe('2')
    expect((await app.as(outsider).get('/api/spaces/list')).body).toEqual([])
    expect((await app.as(keys.personalViewer).rpc.spaces.list.query()).rows).toHaveLength(1)
  })

  test('are hidden from users who are not members, and from other accounts', async () => {
    const { otherSpace, member, outsider } = await app.account()
    expect((await app.as(member).get(`/api/space/${otherSpace}/get`)).body).toMatchObject({ message: 'Not authorized', code: 'FORBIDDEN' })
    expect((await app.as(outsider).get(`/api/space/${otherSpace}/get`)).body.message).toBe('Space not found')
  })
})

describe('members', () => {
  test('are added by admins, with an invitation by mail for an unknown address', async () => {
    const { space, admin, member } = await app.account()
    const email = `new.${Date.now()}@example.com`
    const added = await app.as(admin).post(`/api/space/${space}/members/add`, { email: email.toUpperCase(), role: 'member' })
    expect(added.body).toMatchObject({ email, role: 'member', status: 'invited' })
    await expect.poll(() => app.letters.some(({ to }) => to === email)).toBe(true)
    const letter = app.letters.find(({ to }) => to === email)
    const token = /#([\w-]+)/.exec(letter?.text ?? '')?.[1]
    const accept = (name: string) => app.as(null).post('/api/auth/acceptInvite', { token, name, password: 'correct horse battery' })
    const [first, second] = await Promise.all([accept('Nora New'), accept('Nora New')])
    expect([first.status, second.status].sort()).toEqual([200, 400])
    const session =
      [first, second]
        .find(({ status }) => status === 200)
        ?.headers.get('set-cookie')
        ?.split(';')[0] ?? ''
    expect((await app.as(null).get(`/api/space/${space}/get`, { cookie: session })).body.role).toBe('member')

    expect((await app.as(admin).post(`/api/space/${space}/members/add`, { email, role: 'viewer' })).status).toBe(409)
    expect((await app.as(member).post(`/api/space/${space}/members/add`, { email, role: 'viewer' })).status).toBe(403)
    expect((await app.as(admin).post(`/api/space/${space}/members/add`, { email: 'no address', role: 'boss' })).body.issues).toHaveLength(2)
  })

  describe('who have not accepted their invitation', () => {
    const invitedTo = async (account: Awaited<ReturnType<typeof app.account>>, role = 'member') => {
      const email = `invited.${account.space}.${app.letters.length}@example.com`
      const add = (space = account.space, as: string = role) =>
        app.as(account.owner).post(`/api/space/${space}/members/add`, { email, role: as })
      const letters = () => app.letters.filter(({ to }) => to === email)
      /** Waits for the mail. @returns its token */
      const mailed = async (count: number) => {
        await expect.poll(() => letters().length).toBe(count)
        return /#([\w-]+)/.exec(letters().at(-1)?.text ?? '')?.[1] ?? ''
      }
      const { body } = await add()
      return { email, id: body.user_id as number, add, letters, mailed }
    }
    const accept = (token: string, password = 'correct horse battery') =>
      app.as(null).post('/api/auth/acceptInvite', { token, name: 'Ines', password })
    const signIn = (email: string, password: string) => app.as(null).post('/api/auth/login', { email, password })
    const refused = { status: 400, body: expect.objectContaining({ message: 'token: is not valid any more' }) }

    test('are mailed a new link when they are added again, and the earlier one ends', async () => {
      const account = await app.account()
      const { add, email, id, mailed } = await invitedTo(account)
      const first = await mailed(1)
      const again = await add(account.space, 'viewer')
      expect([again.status, again.body]).toEqual([200, { user_id: id, name: email, email, role: 'viewer', status: 'invited' }])
      const second = await mailed(2)
      expect(await accept(first)).toMatchObject(refused)
      expect((await accept(second)).status).toBe(200)
      const log = await app.db.read(sql`
        select action, actor_user_id, detail from audit_entries where space_id = ${account.space} and object->>'id' = ${String(id)} order by id`)
      expect(log).toEqual([
        { action: 'member.added', actor_user_id: account.owner.id, detail: { role: 'member', invited: true } },
        { action: 'member.updated', actor_user_id: account.owner.id, detail: { role: 'viewer', before: 'member' } },
        { action: 'member.invited_again', actor_user_id: account.owner.id, detail: {} },
      ])
      expect([(await add()).status, (await add()).body.message]).toEqual([409, 'Already a member of this space'])
    })

    test('are mailed three times at once, then every 20 minutes, and once for several spaces', async () => {
      const account = await app.account()
      app.setClock(new Date())
      onTestFinished(() => app.setClock(null))
      const { add, mailed } = await invitedTo(account)
      await mailed(1)
      expect((await add(account.otherSpace)).status).toBe(200)
      for (const count of [2, 3]) {
        expect((await add()).status).toBe(200)
        await mailed(count)
      }
      const limited = await add()
      expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1200'])
      expect(limited.body.message).toBe('The invitation was mailed several times; let the person look for it, or retry later')
      app.setClock(new Date(Date.now() + 21 * 60_000))
      expect((await add()).status).toBe(200)
      await mailed(4)
    })

    test('are mailed a link with another space once the earlier one has expired, and one for several such spaces', async () => {
      const account = await app.account()
      app.setClock(new Date())
      onTestFinished(() => app.setClock(null))
      const { add, letters, mailed } = await invitedTo(account)
      const first = await mailed(1)
      const addElsewhere = async () => {
        const space = await app.makeSpace(account.id, account.owner.id, {})
        expect((await add(space)).status).toBe(200)
      }
      app.setClock(new Date(Date.now() + 12 * DAY_MS))
      await addElsewhere()
      app.setClock(new Date(Date.now() + 20 * DAY_MS))
      for (let count = 0; count < 5; count++) await addElsewhere()
      const second = await mailed(2)
      expect(await accept(first)).toMatchObject(refused)
      await addElsewhere()
      expect((await accept(second)).status).toBe(200)
      expect(letters()).toHaveLength(2)
    })

    test('cannot accept once they are removed from their last space, until they are invited again', async () => {
      const account = await app.account()
      const { add, id, mailed, email } = await invitedTo(account)
      const first = await mailed(1)
      await add(account.otherSpace)
      const remove = (space: number) => app.as(account.owner).post(`/api/space/${space}/member/${id}/remove`)
      await remove(account.space)
      await remove(account.otherSpace)
      expect(await accept(first)).toMatchObject(refused)
      expect((await add()).status).toBe(200)
      const second = await mailed(2)
      expect(await accept(first)).toMatchObject(refused)
      expect((await accept(second)).status).toBe(200)
      expect((await signIn(email, 'correct horse battery')).status).toBe(200)
    })

    test('cannot replace a password that the operator has set, nor one that they have set themselves', async () => {
      const account = await app.account()
      const { id, email, mailed } = await invitedTo(account)
      const token = await mailed(1)
      await setPassword(app.db, email, 'set by the operator', new Date())
      expect(await accept(token)).toMatchObject(refused)
      expect((await signIn(email, 'set by the operator')).status).toBe(200)
      // A link that is made a moment too late works no more than one that was mailed before.
      expect(await accept(await createInvite(app.db, id, new Date()))).toMatchObject(refused)
      expect((await signIn(email, 'set by the operator')).status).toBe(200)
    })

    test('accept with one of two passwords that are sent at once', async () => {
      const account = await app.account()
      const { email, mailed } = await invitedTo(account)
      const token = await mailed(1)
      const passwords = ['first battery horse', 'second battery horse'] as const
      const answers = await Promise.all(passwords.map((password) => accept(token, password)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
      const won = answers.findIndex(({ status }) => status === 200)
      expect((await signIn(email, passwords[won] ?? '')).status).toBe(200)
      expect((await signIn(email, passwords[1 - won] ?? '')).status).toBe(401)
    })

    test('are mailed nothing if they are removed first', async () => {
      const account = await app.account()
      const { id } = await app.db.prisma.user.create({
        data: { accountId: account.id, email: `gone.${account.space}@example.com`, name: 'Gone', status: 'invited' },
      })
      await mailInvite(systemContext(app.deps), { user_id: id, space_name: 'Sales', inviter: 'Olga' })
      expect(app.letters.filter(({ to }) => to.startsWith(`gone.${account.space}@`))).toEqual([])
    })
  })

  test('of another account are refused, because a user belongs to one', async () => {
    const { space, owner } = await app.account()
    const { member } = await app.account()
    const answer = await app.as(owner).post(`/api/space/${space}/members/add`, { email: member.email, role: 'member' })
    expect([answer.status, answer.body.message]).toEqual([409, 'This email address belongs to another account'])
  })

  test('can no longer see the space once they are removed, and the owner cannot be removed', async () => {
    const { space, admin, member, owner, keys } = await app.account()
    const list = await app.as(admin).get(`/api/space/${space}/members/list`)
    expect(list.body.map(({ role }: { role: string }) => role).sort()).toEqual(['admin', 'admin', 'member', 'viewer'])
    expect((await app.as(admin).post(`/api/space/${space}/member/${member.id}/update`, { role: 'viewer' })).body.role).toBe('viewer')
    expect((await app.as(keys.account).post(`/api/space/${space}/member/${member.id}/remove`)).body).toEqual({ ok: true })
    expect((await app.as(member).get(`/api/space/${space}/get`)).status).toBe(403)
    expect((await app.as(admin).post(`/api/space/${space}/member/${member.id}/remove`)).body.message).toBe('Member not found')
    expect((await app.as(admin).post(`/api/space/${space}/member/${owner.id}/remove`)).status).toBe(409)
  })
})

describe('the list of members', () => {
  /** An account whose space has a member of each role, and an invited person. */
  async function withInvited() {
    const account = await app.account()
    const path = `/api/space/${account.space}/members`
    const email = `invited.${account.space}@example.com`
    expect((await app.as(account.owner).post(`${path}/add`, { email, role: 'member' })).body.status).toBe('invited')
    return { ...account, email, path: `${path}/list` }
  }

  test('is open to everybody who can read the space, without status and invited people', async () => {
    const { path, space, viewer, member, admin, owner, keys } = await withInvited()
    for (const caller of [viewer, member, keys.personal, keys.personalViewer]) {
      const { status, body, headers } = await app.as(caller).get(path)
      expect([status, headers.get('x-total-count')]).toEqual([200, '4'])
      for (const row of body) expect(Object.keys(row)).toEqual(['user_id', 'name', 'email', 'role'])
      const ids = body.map(({ user_id }: { user_id: number }) => user_id)
      expect([...ids].sort()).toEqual([viewer, member, admin, owner].map(({ id }) => id).sort())
    }
    const { rows, total } = await app.as(viewer).rpc.spaces.members.query({ space_id: space })
    expect([rows, total]).toEqual([(await app.as(viewer).get(path)).body, 4])
  })

  test('shows admins and account keys the status of everybody, in the keys of before', async () => {
    const { path, admin, owner, keys, email } = await withInvited()
    for (const caller of [admin, owner, keys.account, keys.accountReadOnly]) {
      const { body, headers } = await app.as(caller).get(path)
      expect(headers.get('x-total-count')).toBe('5')
      for (const row of body) expect(Object.keys(row)).toEqual(['user_id', 'name', 'email', 'role', 'status'])
      expect(body.filter(({ status }: { status: string }) => status === 'invited')).toMatchObject([{ email, role: 'member' }])
    }
  })

  test('stays closed to everybody else', async () => {
    const { path, outsider, otherSpace, keys, viewer } = await withInvited()
    expect((await app.as(null).get(path)).status).toBe(401)
    expect((await app.as(outsider).get(path)).status).toBe(404)
    expect((await app.as(keys.accountOtherSpace).get(path)).status).toBe(403)
    expect((await app.as(viewer).get(`/api/space/${otherSpace}/members/list`)).status).toBe(403)
    expect((await app.as(viewer).get('/api/space/99999999/members/list')).status).toBe(404)
  })

  test('has the owner, who is an admin of every space, even of one that names another role or none', async () => {
    const { id, space, owner, viewer, admin } = await app.account()
    await app.db.write(sql`update space_members set role = 'viewer' where space_id = ${space} and user_id = ${owner.id}`)
    const other = await app.makeSpace(id, owner.id, { [viewer.id]: 'viewer' })
    await app.db.write(sql`delete from space_members where space_id = ${other} and user_id = ${owner.id}`)
    for (const [caller, of] of [
      [admin, space],
      [viewer, other],
    ] as const) {
      const { body } = await app.as(caller).get(`/api/space/${of}/members/list?search=${owner.email}`)
      expect(body).toMatchObject([{ user_id: owner.id, role: 'admin' }])
    }
  })

  test('is searched by all words in name and address, whatever their case, and limited', async () => {
    const { path, viewer, member, owner, admin, email } = await withInvited()
    await app.as(member).post('/api/auth/profile', { name: 'Zoë ÅNGSTRÖM 100%_' })
    const found = async (caller: typeof viewer, query: Record<string, string>) => {
      const { status, body, headers } = await app.as(caller).get(`${path}?${new URLSearchParams(query)}`)
      return status === 200
        ? [body.map(({ user_id }: { user_id: number }) => user_id), headers.get('x-total-count')]
        : [status, body.message]
    }
    const alone = [[member.id], '1']
    for (const search of ['zoë', 'ångström ZOË', 'ZOE\u0308', '100%_', member.email.toUpperCase(), ` zoë  ${member.email} `])
      expect(await found(viewer, { search }), search).toEqual(alone)
    for (const search of ['zoë nobody', '0_', '%x', '\\', email]) expect(await found(viewer, { search }), search).not.toEqual(alone)
    expect(await found(viewer, { search: email })).toEqual([[], '0'])
    expect(await found(admin, { search: email })).toEqual([[expect.any(Number)], '1'])
    const everybody = (await found(viewer, {}))[0] as number[]
    expect(everybody.at(-1)).toBe(member.id)
    for (const search of ['', '  ']) expect(await found(viewer, { search })).toEqual([everybody, '4'])
    expect(await found(viewer, { limit: '2' })).toEqual([everybody.slice(0, 2), '4'])
    for (const limit of ['0', '-3']) expect(await found(viewer, { limit })).toEqual([everybody.slice(0, 1), '4'])
    expect(await found(owner, { limit: '100000' })).toEqual([expect.any(Array), '5'])
    expect(await found(viewer, { limit: 'many' })).toEqual([400, 'limit: must be a whole number'])
    expect(await found(viewer, { search: 'x'.repeat(501) })).toEqual([400, 'search: must have at most 500 characters'])
    expect((await found(viewer, { search: '\0' }))[0]).toBe(400)
  })
})
