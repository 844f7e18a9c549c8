import { describe, expect, it } from 'vitest'
import { testApp } from './support/app.ts'

const app = await testApp({}, { worker: true })

describe('spaces', () => {
  it('are created, renamed and deleted by the owner and by account keys without a whitelist', async () => {
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

  it("are listed with the caller's role, without those that the caller cannot reach", async () => {
    const { space, viewer, owner, outsider, keys } = await app.account()
    expect((await app.as(viewer).get('/api/spaces/list')).body).toEqual([expect.objectContaining({ id: space, role: 'viewer' })])
    const all = await app.as(owner).get('/api/spaces/list')
    expect(all.body).toHaveLength(2)
    expect(all.headers.get('x-total-count')).toBe('2')
    expect((await app.as(outsider).get('/api/spaces/list')).body).toEqual([])
    expect((await app.as(keys.personalViewer).rpc.spaces.list.query()).rows).toHaveLength(1)
  })

  it('are hidden from users who are not members, and from other accounts', async () => {
    const { otherSpace, member, outsider } = await app.account()
    expect((await app.as(member).get(`/api/space/${otherSpace}/get`)).body).toMatchObject({ message: 'Not authorized', code: 'FORBIDDEN' })
    expect((await app.as(outsider).get(`/api/space/${otherSpace}/get`)).body.message).toBe('Space not found')
  })
})

describe('members', () => {
  it('are added by admins, with an invitation by mail for an unknown address', async () => {
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

  it('of another account are refused, because a user belongs to one', async () => {
    const { space, owner } = await app.account()
    const { member } = await app.account()
    const answer = await app.as(owner).post(`/api/space/${space}/members/add`, { email: member.email, role: 'member' })
    expect([answer.status, answer.body.message]).toEqual([409, 'This email address belongs to another account'])
  })

  it('can no longer see the space once they are removed, and the owner cannot be removed', async () => {
    const { space, admin, member, owner, keys } = await app.account()
    expect((await app.as(member).get(`/api/space/${space}/members/list`)).body.message).toBe('Not authorized')
    const list = await app.as(admin).get(`/api/space/${space}/members/list`)
    expect(list.body.map(({ role }: { role: string }) => role).sort()).toEqual(['admin', 'admin', 'member', 'viewer'])
    expect((await app.as(admin).post(`/api/space/${space}/member/${member.id}/update`, { role: 'viewer' })).body.role).toBe('viewer')
    expect((await app.as(keys.account).post(`/api/space/${space}/member/${member.id}/remove`)).body).toEqual({ ok: true })
    expect((await app.as(member).get(`/api/space/${space}/get`)).status).toBe(403)
    expect((await app.as(admin).post(`/api/space/${space}/member/${member.id}/remove`)).body.message).toBe('Member not found')
    expect((await app.as(admin).post(`/api/space/${space}/member/${owner.id}/remove`)).status).toBe(409)
  })
})
