/** STORAGE_LINKS=signed: downloads are redirected to links of the bucket. */
import { expect, test } from 'vitest'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { SettingsError } from '../src/settings.ts'
import { type Caller, testApp } from './support/app.ts'
import { startBucket } from './support/bucket.ts'
import { makeTable } from './support/tables.ts'

const bucket = await startBucket()
const app = await testApp({ STORAGE: bucket.setting, STORAGE_LINKS: 'signed' })

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

async function filesOf() {
  const account = await app.account()
  const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
  const upload = async (name: string, type: string, bytes: Buffer): Promise<string> => {
    const file = { field_id: 'file', name, type, data: bytes.toString('base64') }
    return `/api/file/${(await app.as(account.member).post(`${path}/record/${records[0]}/files/create`, file)).body.at(-1).path}`
  }
  const get = (caller: Caller, url: string, headers: Record<string, string> = {}) =>
    app.as(caller).send(url, { redirect: 'manual', headers })
  return { account, upload, get }
}

test('a caller who may read a file gets a link that works without credentials, with its type, name and ranges', async () => {
  const { account, upload, get } = await filesOf()
  const url = await upload('Angebot "Ä".txt', 'text/plain; charset=utf-8', Buffer.from('0123456789'))
  const answer = await get(account.viewer, url)
  expect([answer.status, answer.headers.get('cache-control'), answer.body]).toEqual([302, 'private, no-store', ''])
  const link = new URL(answer.headers.get('location') ?? '')
  expect(link.searchParams.get('X-Amz-Expires')).toBe('300')

  const whole = await fetch(link)
  expect([whole.status, await whole.text()]).toEqual([200, '0123456789'])
  expect(whole.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(whole.headers.get('content-disposition')).toBe(
    `attachment; filename="Angebot ___.txt"; filename*=UTF-8''Angebot%20%22%C3%84%22.txt`,
  )
  const part = await fetch(link, { headers: { range: 'bytes=2-4' } })
  expect([part.status, await part.text()]).toEqual([206, '234'])
  // A client that follows redirects by itself, such as curl and fetch, needs to know nothing of them.
  expect((await app.as(account.keys.account).get(url)).body).toBe('0123456789')
})

test('an image is shown and everything else is saved, as when the service sends it', async () => {
  const { account, upload, get } = await filesOf()
  const dispositionOf = async (url: string) => {
    const { headers } = await get(account.member, url)
    return (await fetch(headers.get('location') ?? '')).headers.get('content-disposition')
  }
  expect(await dispositionOf(await upload('a.png', 'image/png', PNG))).toMatch(/^inline/)
  expect(await dispositionOf(await upload('a.html', 'text/html', Buffer.from('<script>alert(1)</script>')))).toMatch(/^attachment/)
  expect(await dispositionOf(await upload('a.svg', 'image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')))).toMatch(
    /^attachment/,
  )
})

test('who may not read a file gets no link', async () => {
  const { account, upload, get } = await filesOf()
  const url = await upload('a.txt', 'text/plain', Buffer.from('secret'))
  const refusals: [Caller, number][] = [
    [null, 401],
    ['gp_acct_wrong', 401],
    [account.outsider, 404],
    [account.keys.accountOtherSpace, 403],
  ]
  for (const [caller, status] of refusals) {
    const answer = await get(caller, url)
    expect([answer.status, answer.headers.get('location')]).toEqual([status, null])
  }
})

test('HEAD and a cached copy need no link, nor do files whose bytes are about to be moved', async () => {
  const { account, upload, get } = await filesOf()
  const url = await upload('a.txt', 'text/plain', Buffer.from('0123456789'))
  const head = await app.as(account.member).send(url, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '10'])
  expect((await get(account.member, url, { 'if-none-match': '*' })).status).toBe(304)

  const as = app.as(account.member)
  const staged = (await as.post('/api/tasks/upload', { name: 'a.txt', data: Buffer.from('staged').toString('base64') })).body
  const task = (await as.post('/api/tasks/create', { title: 'Call', attachments: [staged] })).body
  const { path } = task.attachments[0]
  expect((await get(account.member, `/api/file/${path}`)).body).toBe('staged')
  await settleAll(systemContext(app.deps), { paths: [path] })
  expect((await get(account.member, `/api/file/${path}`)).status).toBe(302)
})

test('a folder has no links, and the settings say so', async () => {
  await expect(testApp({ STORAGE: '/srv/files', STORAGE_LINKS: 'signed' })).rejects.toThrow(
    new SettingsError('STORAGE_LINKS: signed needs a bucket as STORAGE, because a folder has no links'),
  )
})
