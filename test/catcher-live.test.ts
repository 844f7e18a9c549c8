/** New mails on the open page /dev/mail: the stream that tells of them, and the page in a real browser, by role and label. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { createTransport } from 'nodemailer'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../scripts/free-port.ts'
import { buildApp } from '../src/app.ts'
import { catcherToken } from '../src/email/catcher/access.ts'
import { type Catcher, mountCatcher, openCaughtMails, startCatcher } from '../src/email/catcher/catcher.ts'
import type { CaughtMail } from '../src/email/catcher/mail-folder.ts'
import { openMailStreams } from '../src/email/catcher/streams.ts'
import { testApp } from './support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures, watchedPage } from './support/browser.ts'

const app = await testApp()
const settings = { ...app.settings, databaseUrl: undefined }

let folder: string
let catcher: Catcher
let service: Awaited<ReturnType<typeof serve>>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gridpost-live-'))
  catcher = await startCatcher({ folder })
  service = await serve(catcher)
})
afterEach(async () => {
  await service.close()
  await catcher.close()
  rmSync(folder, { recursive: true })
})

/** The service of the embedded default, with the mails of a catcher. */
async function serve(mails: Parameters<typeof mountCatcher>[1], port?: number) {
  const built = await buildApp(app.deps)
  mountCatcher(built, mails, settings)
  // Systems give the port to nobody by themselves before it is taken again.
  await built.listen({ port: port ?? (await freePort()), host: '127.0.0.1' })
  const { port: given } = built.server.address() as AddressInfo
  return { port: given, url: `http://127.0.0.1:${given}`, close: () => built.close() }
}

const send = (subject: string, text = 'Hello') =>
  createTransport({ host: '127.0.0.1', port: catcher.port, ignoreTLS: true }).sendMail({
    ...{ from: 'desk@example.com', to: 'ann@customer.example', replyTo: 'reply-0123456789abcdef@reply.localhost' },
    ...{ subject, text },
  })

describe('the stream', () => {
  /** @returns the events that have come, as their ids, and a way to wait for the end */
  async function listen(url: string, query = '', headers: Record<string, string> = {}) {
    const cut = new AbortController()
    const response = await fetch(`${url}/dev/mail/events${query}`, { headers, signal: cut.signal })
    onTestFinished(() => cut.abort())
    const told: number[] = []
    const ended = read(response, told)
    return { response, told, ended }
  }

  async function read({ body }: Response, told: number[]): Promise<'the end' | 'cut'> {
    try {
      let text = ''
      for await (const part of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
        text += part
        told.splice(0, told.length, ...[...text.matchAll(/event: mail\ndata: (\d+)\n\n/g)].map(([, id]) => Number(id)))
      }
      return 'the end'
    } catch {
      return 'cut'
    }
  }

  test('begins with the newest mail and tells of each later one that the search finds', async () => {
    const all = await listen(service.url)
    expect(all.response.headers.get('content-type')).toBe('text/event-stream')
    await expect.poll(() => all.told).toEqual([0])
    await send('A needle')
    await expect.poll(() => all.told).toEqual([0, 1])
    const found = await listen(service.url, '?q=NEEDLE')
    await expect.poll(() => found.told).toEqual([1])
    await send('Hay')
    await expect.poll(() => all.told).toEqual([0, 1, 2])
    await send('Another needle')
    await expect.poll(() => found.told).toEqual([1, 3])
    await expect.poll(() => all.told).toEqual([0, 1, 2, 3])
  })

  test('tells of the mails that another process catches', async () => {
    const other = await serve(await openCaughtMails(folder))
    onTestFinished(() => other.close())
    const { told } = await listen(other.url)
    await send('Caught elsewhere')
    await expect.poll(() => told).toEqual([0, 1])
  })

  test('ends when the service stops', async () => {
    const { told, ended } = await listen(service.url)
    await expect.poll(() => told).toEqual([0])
    await service.close()
    expect(await ended).toBe('the end')
  })

  test('and the script are for those who may see the mails', async () => {
    const proxied = { 'x-forwarded-for': '203.0.113.9' }
    const token = catcherToken(settings)
    const statusOf = async (path: string, headers: Record<string, string>) => {
      const cut = new AbortController()
      const { status } = await fetch(service.url + path, { headers, signal: cut.signal })
      cut.abort()
      return status
    }
    for (const path of ['/dev/mail/events', '/dev/mail/page.js']) {
      expect([path, await statusOf(path, {})]).toEqual([path, 200])
      expect([path, await statusOf(path, proxied)]).toEqual([path, 404])
      expect([path, await statusOf(`${path}?token=${token}`, proxied)]).toEqual([path, 404])
      expect([path, await statusOf(path, { ...proxied, cookie: `gridpost_mail=${token}` })]).toEqual([path, 200])
      expect([path, await statusOf(path, { ...proxied, authorization: `Bearer ${token}` })]).toEqual([path, 200])
    }
  })

  test.each(['?q=a&q=b', '?q[]=a', '?q=%00', '?q=%E0%A4%A', `?q=${'a'.repeat(500)}`, '?token=x&open=y'])(
    'takes the query %j',
    async (query) => {
      const { response } = await listen(service.url, query)
      expect(response.status).toBe(200)
    },
  )

  const mailOf = (id: number) => ({ id, subject: `Mail ${id}`, from: '', envelopeTo: [], text: null, html: null, messageId: '' }) as unknown

  /** A stream whose reader has room for one write. */
  function slowReply() {
    const raw = Object.assign(new PassThrough({ highWaterMark: 1 }), { setHeader: () => {}, writeHead: () => {} })
    return { raw, reply: { raw, hijack: () => {}, getHeaders: () => ({}) } as unknown as FastifyReply }
  }

  test('writes nothing to a slow reader, and then only the newest mail', async () => {
    const mails: unknown[] = []
    let looks = 0
    const streams = openMailStreams(
      async () => {
        looks += 1
        return [...mails] as CaughtMail[]
      },
      (error) => expect.unreachable(String(error)),
    )
    const { raw, reply } = slowReply()
    await streams.open(reply, '')
    for (const id of [1, 2, 3]) {
      mails.unshift(mailOf(id))
      const before = looks
      await expect.poll(() => looks).toBeGreaterThan(before + 1)
    }
    expect(String(raw.read())).toMatch(/^retry: \d+\nevent: mail\ndata: 0\n\n$/)
    await once(raw, 'readable')
    expect(String(raw.read())).toBe('event: mail\ndata: 3\n\n')
    streams.close()
  })

  test('mails that cannot be read end all streams, and are reported once', async () => {
    const reported: unknown[] = []
    let isBroken = false
    const streams = openMailStreams(
      async () => {
        if (isBroken) throw new Error('no folder')
        return []
      },
      (error) => reported.push(error),
    )
    const { raw, reply } = slowReply()
    await streams.open(reply, '')
    isBroken = true
    raw.resume()
    await once(raw, 'close')
    expect(reported).toEqual([new Error('no folder')])
  })
})

test('the page without its script shows times in UTC and says how to see new mails', async () => {
  await send('Hello')
  const [mail] = catcher.mails()
  const answer = await fetch(`${service.url}/dev/mail`)
  const html = await answer.text()
  const [day, time] = String(mail?.receivedAt).split('T')
  expect(html).toContain(`<time datetime="${mail?.receivedAt}">${day} ${time?.slice(0, 5)} UTC</time>`)
  expect(html).toContain('<span id="news">Reload to see new mails.</span>')
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'; connect-src 'self';")
})

describe.skipIf(isBrowserMissing)(browserTitle('in a browser'), () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'America/Bogota' })
  })
  afterAll(() => browser?.close())

  async function open(path = '/dev/mail') {
    const watched = await watchedPage(browser.context)
    onTestFinished(() => watched.page.close())
    await watched.page.goto(service.url + path)
    return watched
  }

  const news = (page: Page) => page.getByRole('status').first()
  const isListening = (page: Page) => page.getByText('New mails appear here by themselves.').waitFor()
  const mails = (page: Page) => page.locator('summary strong').allInnerTexts()

  test('a new mail appears above the others, which stay as they are', async () => {
    await send('The first')
    const { page, complaints, asked } = await open()
    await isListening(page)
    await page.getByText('The first').click()
    await page.getByLabel('Text').fill('A reply that is not yet finished')
    await send('The second <b>')
    await page.getByText('The second <b>').first().waitFor()
    await expect.poll(() => mails(page)).toEqual(['The second <b>', 'The first'])
    await expect.poll(() => news(page).innerText()).toBe('New: “The second <b>”.')
    await takePictures(page, 'dev-mail')
    await expect.poll(() => page.locator('#mail-1').getByLabel('Text').inputValue()).toBe('A reply that is not yet finished')
    await page.locator('#mail-2 summary').click()
    await page.frameLocator('#mail-2 iframe[title=Source]').getByText('Subject: The second <b>').waitFor()
    expect([complaints, asked.filter((url) => !url.startsWith(`${service.url}/`))]).toEqual([[], []])
  })

  test('the first mail takes the place of the sentence that there is none, and a search shows what it finds', async () => {
    const { page } = await open()
    await page.getByText('No mail yet.').waitFor()
    await isListening(page)
    const searching = await open('/dev/mail?q=needle')
    await isListening(searching.page)
    await send('Hay')
    await page.bringToFront()
    await expect.poll(() => mails(page)).toEqual(['Hay'])
    await expect.poll(() => page.getByText('No mail yet.').count()).toBe(0)
    await send('A needle')
    await searching.page.bringToFront()
    await expect.poll(() => mails(searching.page)).toEqual(['A needle'])
  })

  test('times are words for an hour, and then the local date and time', async () => {
    await send('Timed')
    const received = new Date(catcher.mails()[0]?.receivedAt ?? '')
    const expectShown = async (laterMs: number, words: string) => {
      const { page } = await open('/dev/mail.json')
      await page.clock.setFixedTime(new Date(received.getTime() + laterMs))
      await page.goto(`${service.url}/dev/mail`)
      await isListening(page)
      await expect.poll(() => page.getByRole('time').innerText()).toBe(words)
    }
    await expectShown(10_000, 'just now')
    await expectShown(90_000, '1 minute ago')
    await expectShown(2 * 60_000, '2 minutes ago')
    await expectShown(-10_000, 'just now')
    const local = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'America/Bogota' }).format(received)
    await expectShown(3_600_000, local)
    await expectShown(-600_000, local)
  })

  test('a page says that the service has stopped, and goes on when it is back', async () => {
    const { page } = await open()
    await isListening(page)
    const { port } = service
    await service.close()
    await page.getByText('The service does not answer.').waitFor()
    await send('Meanwhile')
    service = await serve(catcher, port)
    await expect.poll(() => mails(page)).toEqual(['Meanwhile'])
  })
})
