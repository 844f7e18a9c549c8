/** Tests the demo account of the first start, and `npm run demo`, which walks the main workflow on it. */
import { once } from 'node:events'
import { rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DemoLogin, loginFile, readLogin } from '../src/demo/login.ts'
import { call, programs, type Service, signIn } from './support/programs.ts'

const own = programs()
let service: Service
let login: DemoLogin

beforeAll(async () => {
  service = await own.start()
  login = readLogin(own.dataDir) as DemoLogin
})
afterAll(() => own.cleanUp())

const get = async (path: string) => (await call(service.url, path, { key: login.keys.account })).body
const query = async (table: number, body: object) =>
  (await call(service.url, `/api/table/${table}/records/query`, { key: login.keys.account, body })).body

async function tableIds(): Promise<Record<string, number>> {
  const tables: { id: number; name: string }[] = await get(`/api/space/${login.space_id}/tables/list`)
  return Object.fromEntries(tables.map(({ id, name }) => [name, id]))
}

test('the first start prints the login, and stores it readable for its user alone', async () => {
  await expect.poll(() => service.output()).toContain('npm run demo walks through it')
  for (const { email, password } of [login.owner, login.member, login.viewer]) {
    expect(service.output()).toContain(email)
    expect(service.output()).toContain(password)
    await signIn(service.url, { email, password })
  }
  for (const key of Object.values(login.keys)) expect(service.output()).toContain(key)
  expect(statSync(loginFile(own.dataDir)).mode & 0o077).toBe(0)
})

test('the tables hold realistic records that link to each other', async () => {
  const { Countries = 0, Cities = 0, Holidays = 0, Contacts = 0 } = await tableIds()
  const count = async (table: number) =>
    (await call(service.url, `/api/table/${table}/records/count`, { key: login.keys.account, body: {} })).body.count
  expect(await count(Countries)).toBe(250)
  expect(await count(Cities)).toBe(1_000)
  expect(await count(Holidays)).toBeGreaterThan(1_000)
  expect(await count(Contacts)).toBeGreaterThan(30)
  const [largest] = await query(Cities, { order_by: 'population', order_dir: 'D', limit: 1 })
  expect(largest).toMatchObject({ name: 'Shanghai', country: { title: 'China' }, kind: 'Regional capital' })
  const [contact] = await query(Contacts, { limit: 1 })
  expect(contact).toMatchObject({ country: { title: 'Nigeria' }, city: { title: 'Lagos' }, email: expect.stringMatching(/\.example$/) })
})

test('every saved view shows something', async () => {
  const types = new Set<string>()
  for (const table of Object.values(await tableIds())) {
    for (const { id, name, type } of await get(`/api/table/${table}/views/list`)) {
      types.add(type)
      const rows = await query(table, { view_id: id, limit: 5 })
      // The holidays cover two years, and one day they will be over.
      if (name !== 'Next 30 days') expect({ name, some: rows.length > 0 }).toEqual({ name, some: true })
    }
  }
  expect([...types].sort()).toEqual(['calendar', 'gallery', 'grid', 'kanban'])
})

test('its member has due and overdue tasks', async () => {
  const { body } = await call(service.url, '/api/tasks/badgeCount', { key: login.keys.personal, body: {} })
  expect(body).toEqual({ count: 2, overdue: 1 })
})

test('the console begins with the contacts', async () => {
  const { Contacts } = await tableIds()
  const preferences = await call(service.url, '/api/preferences/list', { key: login.keys.personal })
  expect(preferences.body).toMatchObject([{ name: 'console.recent', value: [Contacts] }])
})

test('npm run demo walks the main workflow repeatedly', async () => {
  for (const walk of [own.npmRun, own.run]) {
    const { code, stdout, stderr } = await walk('demo')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const line of [
      'Due this week (grid)',
      '{"ok":true,"status":"done"}',
      'status sent',
      'replies go to reply-',
      'status read',
      '(email_in)',
    ])
      expect(stdout).toContain(line)
  }
})

test('a missing account, then a missing service, is reported in one line', async () => {
  rmSync(loginFile(own.dataDir))
  const withoutAccount = await own.run('demo')
  expect(withoutAccount.code).toBe(1)
  expect(withoutAccount.stderr).toMatch(/demo\.json is missing: .+\n$/)

  await service.stop()
  const withoutService = await own.run('demo')
  expect(withoutService.code).toBe(1)
  expect(withoutService.stderr).toMatch(/^No service answers at http:.+: run npm start in another terminal, then npm run demo\n$/)
})

test("another program on the service's port is reported in one line", async () => {
  const server = createServer((_, response) => void response.end('<p>Hello</p>')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const elsewhere = programs({ PORT: String(port) })
  const { code, stdout, stderr } = await elsewhere.run('demo')
  expect([code, stdout, stderr]).toEqual([1, '', `What answers at http://127.0.0.1:${port} is no Gridpost: set PORT to its port\n`])
  await elsewhere.cleanUp()
  server.close()
})

test('a second start leaves the account alone, even if its login file has been deleted', async () => {
  const again = await own.start()
  expect(again.output()).not.toContain('demo account')
  await signIn(again.url, login.member)
  await again.stop()
})
