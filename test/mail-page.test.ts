/** Mails as pages for a frame: what they show, and what they cannot do, in a real browser (contract.md §11, Mail as a page). */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser } from './support/browser.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }] })
const record = records[0] as number

const POLICY =
  "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"
const GIF = Buffer.from('R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=', 'base64')

/** Inserts a mail past the service, as if a release without the present rules had taken its HTML. @returns the id of its comment */
async function mail(html: string | null, more: { type?: string; text?: string; attachments?: object[]; inline?: object[] } = {}) {
  const { type = 'email_in', text = '', attachments = [], inline = [] } = more
  const isOut = type === 'email_out'
  const metadata = { subject: 'A & <b>', text, inline, ...(isOut ? { status: 'sent' } : { html }) }
  const [row] = await app.db.write<{ id: number }>(sql`
    insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content, attachments, metadata)
    values (${account.id}, ${account.space}, ${table}, ${record}, ${type}, 0, 'Ann', ${isOut ? html : text},
      ${JSON.stringify(attachments)}::jsonb, ${JSON.stringify(metadata)}::jsonb) returning id`)
  return (row as { id: number }).id
}

const upload = async (name: string, bytes: Buffer, type = 'image/gif') => {
  const body = { name, type, data: bytes.toString('base64') }
  const answer = await app.as(account.member).post(`/api/table/${table}/record/${record}/comments/upload`, body)
  expect(answer.status).toBe(200)
  return answer.body as { name: string; path: string; size: number; type: string; host: string }
}

const page = (id: unknown, query = '', caller: Caller | null = account.viewer) =>
  app.as(caller).send(`/api/email/${id}/html${query}`, { method: 'GET' })
const bodyOf = (text: string) => /<body>(.*)<\/body>/s.exec(text)?.[1] ?? ''

describe('the page of a mail', () => {
  test('is its body as HTML, with a policy of its own', async () => {
    const id = await mail('<p style="color:red">Dear <b>Ann</b></p>')
    const { status, body, headers } = await page(id)
    expect([status, headers.get('content-type'), headers.get('content-security-policy')]).toEqual([200, 'text/html; charset=utf-8', POLICY])
    expect([headers.get('x-content-type-options'), headers.get('cache-control')]).toEqual(['nosniff', 'private, no-store'])
    expect(bodyOf(body)).toBe('<p style="color:red">Dear <b>Ann</b></p>')
    expect(body).toContain('<title>A &amp; &lt;b&gt;</title>')
    const remote = await page(id, '?images=remote')
    expect(remote.headers.get('content-security-policy')).toBe(POLICY.replace('data:;', 'data: https:;'))
    expect((await app.as(account.viewer).send(`/api/email/${id}/html`, { method: 'HEAD' })).status).toBe(200)
  })

  test('of a mail that was sent is its content, and of one without HTML its text', async () => {
    expect(bodyOf((await page(await mail('<p>Our offer</p>', { type: 'email_out' }))).body)).toBe('<p>Our offer</p>')
    const text = bodyOf((await page(await mail(null, { text: 'Yes,\n<script>1</script> & so' }))).body)
    expect(text).toBe('<div class="text">Yes,\n&lt;script&gt;1&lt;/script&gt; &amp; so</div>')
  })

  test('has images of the mail as data, and those of other servers only if they are asked for, over TLS', async () => {
    const file = await upload('logo.gif', GIF)
    const svg = await upload('logo.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml')
    const inline = [
      { cid: 'Logo@x', path: file.path },
      { cid: 'svg@x', path: svg.path },
    ]
    const html = [
      'cid:logo%40X',
      'cid:svg@x',
      'cid:none',
      'https://a.example/1.png?a=1&amp;b=2',
      'http://a.example/2.png',
      '/api/auth/me',
      'x.png',
    ]
      .map((source) => `<img src="${source}" alt="i" />`)
      .join('')
    const id = await mail(html, { attachments: [file, svg], inline })
    const data = `data:image/gif;base64,${GIF.toString('base64')}`
    const sources = async (query = '') =>
      [...(await page(id, query)).body.matchAll(/<img([^>]*)>/g)].map(([, attributes]) => /src="([^"]*)"/.exec(attributes)?.[1])
    const none = undefined
    expect(await sources()).toEqual([data, none, none, none, none, none, none])
    expect(await sources('?images=remote')).toEqual([
      data,
      none,
      none,
      'https://a.example/1.png?a=1&amp;b=2',
      'https://a.example/2.png',
      none,
      none,
    ])
    const sent = await mail(`<img src="/api/file/${file.path}" /><img src="/api/file/${svg.path}x" />`, {
      type: 'email_out',
      attachments: [file],
    })
    expect(bodyOf((await page(sent)).body)).toBe(`<img src="${data}" /><img />`)
  })

  test('has at most 8 MB of images, each time that one is shown', async () => {
    const large = await upload('large.gif', Buffer.concat([GIF, Buffer.alloc(3 * 1_048_576)]))
    const inline = [{ cid: 'a', path: large.path }]
    const shown = async (times: number) => {
      const { body } = await page(await mail('<img src="cid:a" />'.repeat(times), { attachments: [large], inline }))
      return body.match(/src="data:/g)?.length ?? 0
    }
    expect(await shown(2)).toBe(2)
    expect(await shown(3)).toBe(2)
  })

  test('opens links beside it', async () => {
    const html = '<a href="https://a.example/" target="_top" rel="opener">a</a><a href="#b" target="_top">b</a><a name="b">c</a>'
    expect(bodyOf((await page(await mail(html))).body)).toBe(
      '<a href="https://a.example/" target="_blank" rel="noopener noreferrer">a</a><a href="#b">b</a><a name="b">c</a>',
    )
  })

  test('is for those who can read the record', async () => {
    const id = await mail('<p>Hi</p>')
    const { viewer, member, owner, outsider, keys } = account
    for (const caller of [viewer, member, owner, keys.account, keys.personal, keys.accountReadOnly])
      expect((await page(id, '', caller)).status).toBe(200)
    expect((await page(id, '', keys.accountOtherSpace)).status).toBe(403)
    expect([(await page(id, '', outsider)).status, (await page(id, '', null)).status]).toEqual([404, 401])
    const note = await app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: 'No mail' })
    for (const other of [note.body.id, 0, -1, 2_147_483_647]) {
      const { status, body } = await page(other)
      expect([status, body.message]).toEqual([404, 'Comment not found'])
    }
    for (const bad of ['x', '1.5']) expect((await page(bad)).status).toBe(400)
    for (const query of ['?images=all', '?images=', '?images=remote&images=remote']) {
      const { status, body } = await page(id, query)
      expect([status, body.issues]).toEqual([400, [{ path: ['images'], message: 'must be remote' }]])
    }
    expect((await page(id, '?other=1')).status).toBe(200)
  })
})

describe.skipIf(isBrowserMissing)(browserTitle('a hostile mail in a frame'), () => {
  const asked: string[] = []
  // It stands for any server of a stranger: whatever asks it has left the frame.
  const stranger = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end('')
  })
  let opened: Browser
  let evil: string
  beforeAll(async () => {
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    evil = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    opened = await openBrowser()
  })
  afterAll(async () => {
    await opened?.close()
    stranger.close()
  })

  /** Shows the mail in a frame of the service's own origin. @returns the text in the frame, and what came out of it */
  async function show(id: number, query = '') {
    const { context } = opened
    await context.addCookies([{ name: 'gridpost_session', value: account.viewer.session as string, url: app.url }])
    const shown = await context.newPage()
    const host = `${app.url}/frame-of-a-test`
    await shown.route(host, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><title>Host</title><script>onmessage = () => { document.title = 'Reached' }</script>
          <iframe name="mail" src="/api/email/${id}/html${query}" width="900" height="700"></iframe>`,
      }),
    )
    await shown.goto(host, { waitUntil: 'load' })
    const frame = shown.frame({ name: 'mail' })
    if (!frame) throw new Error('The page has no frame')
    await frame.waitForLoadState('load')
    const text = await frame.locator('body').innerText()
    const result = { text, title: await shown.title(), url: frame.url(), pages: context.pages().length, shown }
    return result
  }

  const hostile = () => `
    <script>parent.postMessage('ran', '*'); top.location = '${evil}/top'; fetch('${evil}/fetch')</script>
    <meta http-equiv="refresh" content="0;url=${evil}/refresh"><base href="${evil}/"><link rel="stylesheet" href="${evil}/link.css">
    <style>@import url(${evil}/import.css); @font-face { font-family: f; src: url(${evil}/font) } p { background: url(${evil}/style.png); font-family: f }</style>
    <p>Read me</p><div style="background:url(${evil}/attribute.png)">styled</div>
    <img src="${evil}/pixel.png"><img src="x" onerror="parent.postMessage('ran', '*')"><img srcset="${evil}/srcset.png 1x">
    <svg onload="parent.postMessage('ran', '*')"><image href="${evil}/svg.png"/><script>parent.postMessage('ran', '*')</script></svg>
    <iframe src="${evil}/frame"></iframe><object data="${evil}/object"></object><embed src="${evil}/embed"><video src="${evil}/video" poster="${evil}/poster.png" autoplay></video>
    <a href="javascript:parent.postMessage('ran', '*')" id="a">a link</a> <a href="data:text/html,<script>alert(1)</script>">data</a>
    <form action="${evil}/form" method="post"><input name="q" autofocus onfocus="this.form.submit()"><button>Send</button></form>`

  test.each([
    ['as it is stored today', true],
    ['as a release without any rules would have stored it', false],
  ])('%s runs nothing, loads nothing, and stays in its frame', async (_, isSanitised) => {
    const { sanitizeHtml } = await import('../src/platform/mail/html.ts')
    const html = hostile()
    const id = await mail(isSanitised ? sanitizeHtml(html) : html)
    for (const query of ['', '?images=remote']) {
      const { text, title, url, pages, shown } = await show(id, query)
      expect(text).toContain('Read me')
      expect([title, url, pages]).toEqual(['Host', `${app.url}/api/email/${id}/html${query}`, 1])
      const frame = shown.frame({ name: 'mail' })
      const button = frame?.getByRole('button', { name: 'Send' })
      if (await button?.count()) await button?.click()
      expect([await shown.title(), frame?.url(), asked]).toEqual(['Host', `${app.url}/api/email/${id}/html${query}`, []])
      await shown.close()
    }
  })

  test('of 2 MB is shown', async () => {
    const { text, shown } = await show(await mail(`<p>${'word '.repeat(400_000)}</p><p>The end</p>`))
    expect(text.endsWith('The end')).toBe(true)
    await shown.close()
  })

  test('with an image of its own shows it', async () => {
    const file = await upload('logo.gif', GIF)
    const { shown } = await show(
      await mail('<img src="cid:a" alt="logo">', { attachments: [file], inline: [{ cid: 'a', path: file.path }] }),
    )
    const width = await shown
      .frame({ name: 'mail' })
      ?.locator('img')
      .evaluate((image: { naturalWidth?: number }) => image.naturalWidth)
    expect(width).toBe(1)
    await shown.close()
  })
})
