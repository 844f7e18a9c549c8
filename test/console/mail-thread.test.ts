/** The mails of a record in a real browser: their states as they arrive, in words, what can be done with them, and what they cannot do. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { replyTo, reportOn } from '../../src/email/catcher/answers.ts'
import { type Catcher, startCatcher } from '../../src/email/catcher/catcher.ts'
import { sql } from '../../src/platform/database/database.ts'
import { type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'
import { postMail, untilRead } from '../support/mail-desk.ts'
import { startSmtp } from '../support/smtp.ts'

const app = await testApp({ CATCH_DOMAIN: 'reply.example.net', AUTHSERV_ID: 'mx.example.net' }, { worker: true })

const PROXY = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Thunderbird/140.0'

describe.skipIf(isBrowserMissing)(browserTitle('mails on the timeline in a browser'), () => {
  let browser: Browser
  /** That of another person at the same time. */
  let second: Browser
  let catcher: Catcher
  beforeAll(async () => {
    const zone = { timezone: 'Europe/Berlin' }
    ;[browser, second, catcher] = await Promise.all([openBrowser(zone), openBrowser(zone), startCatcher({})])
  })
  afterAll(() => Promise.all([browser?.close(), second?.close(), catcher?.close()]))

  /** A record from which a desk sends mails through the catcher. */
  async function desk(port = catcher.port) {
    const account = await app.account({ timezone: 'Europe/Berlin' })
    const { rpc } = app.as(account.member)
    const table = await app.as(account.admin).rpc.tables.create.mutate({
      space_id: account.space,
      name: 'Deals',
      fields: [{ name: 'Name', type: 'text' }] as never,
    })
    const { id: record } = await rpc.records.create.mutate({ table_id: table.id, data: { name: 'Acme' } as never })
    const fromIdentity = { name: 'Desk', email: `desk-${account.id}@example.com` }
    const server = { label: 'Desk', host: '127.0.0.1', port, tls: 'none', from_domains: ['example.com'], from_identities: [fromIdentity] }
    const { body: smtp } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, server)
    const place = { tableId: table.id, recordId: record, smtpIntegrationId: smtp.id as number }
    const send = async (to: string[], more: object = {}) => {
      const mail = { ...place, fromIdentity, to, subject: 'Our offer', body: '<p>Dear Ann,</p><p>how about <b>twelve</b>?</p>', ...more }
      return (await rpc.email.send.mutate(mail)).id
    }
    const senders = [fromIdentity.email, account.member.email]
    /** The newest mail of the desk that the catcher has. */
    const caught = (subject: string) => {
      const mail = catcher.mails().find((one) => one.subject === subject && senders.some((sender) => one.from.includes(sender)))
      if (!mail) throw new Error(`The catcher has no mail ${subject}`)
      return mail
    }
    const path = `/table/${table.id}/record/${record}`
    return { account, table: table.id, record, send, caught, path }
  }

  async function open(person: TestAccount['owner'], path: string, { context } = browser) {
    await signInAs(context, app.url, person)
    const watched = await openConsole(context, app.url + path)
    await watched.page.getByRole('feed').waitFor()
    return watched
  }

  const mailTo = (page: Page, name: string | RegExp) => page.getByRole('article', { name })
  const post = async (bytes: Buffer) => postMail(app, bytes.toString().split('\r\n'))
  const state = (mail: Locator) => mail.locator('.mail-state > span')
  const openPixel = async (source: string | null, agent: string) => {
    const [pixel = ''] = /http[^"\s]*\/email\/pixel\/[\w-]+\.png/.exec(source ?? '') ?? []
    const { pathname } = new URL(pixel)
    expect((await fetch(app.url + pathname, { headers: { 'user-agent': agent } })).status).toBe(200)
  }

  test('two people see each state of a mail as it comes, in words: written, undone, sent, opened, answered, bounced, written again', async () => {
    const { account, send, caught, path } = await desk()
    // The writer's page takes the service's clock to be ahead, so that a mail can be undone for as long as it takes here.
    const later = () => new Date(Date.now() + 7_200_000)
    await second.context.route('**/healthz', (route) => route.fulfill({ headers: { date: later().toUTCString() } }))
    const [{ page, complaints }, writer] = await Promise.all([open(account.admin, path), open(account.member, path, second)])
    const composer = writer.page.getByRole('region', { name: 'Mail', exact: true })
    const undo = writer.page.getByRole('button', { name: 'Undo send' })

    const clock = writer.page.waitForResponse('**/healthz')
    await writer.page.getByRole('button', { name: 'Write a mail' }).click()
    await clock
    await composer.getByRole('combobox', { name: 'To', exact: true }).fill('ann@customer.example')
    await composer.getByLabel('Subject', { exact: true }).fill('Offer for {{field:name}}')
    await composer.getByRole('textbox', { name: 'Message' }).click()
    await writer.page.keyboard.type('how about twelve?')
    await writer.page.keyboard.press('Control+Enter')
    // A message stays as long as the focus is on it.
    await undo.focus()
    await undo.click()
    await composer.waitFor()
    const offer = mailTo(page, 'Mail to ann@customer.example: Offer for Acme')
    await expect.poll(() => offer.count()).toBe(0)
    await composer.getByRole('button', { name: 'Send', exact: true }).click()
    await composer.waitFor({ state: 'detached' })
    // While it waits it is shown with what it will say.
    await offer.locator('.mail-subject').getByText('Acme').waitFor()

    await send(['bob@customer.example'], { subject: 'For Bob' })
    const forBob = mailTo(page, 'Mail to bob@customer.example: For Bob')
    await expect.poll(() => state(forBob).innerText()).toMatch(/^Sent at \d/)
    await expect.poll(() => forBob.locator('.mail-rich').innerText()).toBe('Dear Ann,\n\nhow about twelve?')
    await post(reportOn(caught('For Bob'), { recipient: 'bob@customer.example', kind: 'unknown' }))
    await expect.poll(() => state(forBob).innerText()).toBe('Bounced: the address does not exist (550 5.1.1)')
    await forBob.getByText('The email account that you tried to reach does not exist').waitFor()
    await forBob.getByText(/No mail goes to it until an admin/).waitFor()

    await mailTo(writer.page, 'Mail to bob@customer.example: For Bob').getByRole('button', { name: 'Write again' }).click()
    const to = composer.getByRole('combobox', { name: 'To', exact: true }).and(writer.page.locator(':focus'))
    await expect.poll(() => to.inputValue()).toBe('bob@customer.example')
    await to.fill('bobby@customer.example')
    await expect.poll(() => composer.getByLabel('Subject', { exact: true }).inputValue()).toBe('For Bob')
    await expect.poll(() => composer.getByRole('textbox', { name: 'Message' }).innerText()).toMatch(/^Dear Ann,\s+how about twelve\?$/)
    await composer.getByRole('button', { name: 'Send', exact: true }).click()
    await composer.waitFor({ state: 'detached' })

    await send(['bob@customer.example'], { subject: 'Again' })
    const again = mailTo(page, 'Mail to bob@customer.example: Again')
    await expect
      .poll(() => state(again).innerText())
      .toMatch(/^Not sent: suppressed since .+, because an earlier mail to it bounced for good$/)
    await takePictures(page, 'mail-thread')
    await again.getByRole('button', { name: 'Remove from the suppression list: bob@customer.example' }).click()
    await expect
      .poll(() => state(again).innerText())
      .toBe('Not sent: the address was suppressed then, because an earlier mail to it bounced for good')
    await forBob.getByText('The address is not on the suppression list any more: mail can go to it again.').waitFor()
    expect((await app.as(account.owner).rpc.suppressions.list.query({})).rows).toEqual([])
    await again.getByRole('button', { name: 'Retry' }).click()
    await expect.poll(() => state(again).innerText()).toMatch(/^Sent/)

    app.setClock(new Date(later().getTime() + 60_000))
    onTestFinished(() => app.setClock(null))
    await expect.poll(() => state(offer).innerText()).toMatch(/^Sent /)
    const { html } = caught('Offer for Acme')
    await openPixel(html, PROXY)
    await expect.poll(() => state(offer).innerText()).toMatch(/^Sent .+ · opened by an image proxy .+, which says little$/)
    await openPixel(html, BROWSER)

    const address = caught('Offer for Acme').headers['reply-to']
    await post(await replyTo(caught('Offer for Acme'), { from: 'ann@customer.example', text: 'Yes, twelve.' }))
    await postMail(app, [
      ...['From: Ann Lee <ann@customer.example>', `To: ${address}`, 'Message-ID: <ooo@customer.example>'],
      ...['Subject: Automatic reply: Offer for Acme', 'Auto-Submitted: auto-replied'],
      'Authentication-Results: mx.example.net; spf=fail smtp.mailfrom=customer.example; dkim=none; dmarc=fail header.from=customer.example',
      ...['', 'I am away until Monday.'],
    ])
    await postMail(app, [
      ...['From: Lee <lee@list.example>', `To: ${address}`, 'Message-ID: <list@list.example>'],
      ...['Subject: Re: [sales] Our offer', 'List-Id: Sales <sales.list.example>', 'Precedence: list', '', 'I would take them.'],
    ])
    const answer = mailTo(page, 'Mail from ann@customer.example: Re: Offer for Acme')
    await answer.getByText('Yes, twelve.').waitFor()
    await expect.poll(() => answer.getByText('how about twelve').count()).toBe(0)
    await answer.getByRole('button', { name: /^Quoted text, \d+ lines?$/ }).click()
    await answer.getByText('how about twelve').waitFor()
    await expect.poll(() => answer.getByRole('link', { name: /^Answers “Offer for Acme”, / }).getAttribute('href')).toMatch(/\?entry=\d+$/)
    const away = mailTo(page, 'Mail from Ann Lee: Automatic reply: Offer for Acme')
    await away.getByText('Out of office').waitFor()
    await away.getByText(/The sender's address may be forged: .*\(DMARC\); .*\(SPF\)\./).waitFor()
    await mailTo(page, 'Mail from Lee: Re: [sales] Our offer').getByText('Mailing list', { exact: true }).waitFor()
    await mailTo(page, 'Mail to bobby@customer.example: For Bob').waitFor()

    expect([...complaints, ...writer.complaints]).toEqual([])
    await expectAccessible(page)
    const viewed = await open(account.viewer, `${path}?entry=999999999`, second)
    await viewed.page
      .getByRole('region', { name: 'Timeline' })
      .getByText('The entry that the address names is not here any more.')
      .waitFor()
    await mailTo(viewed.page, /^Mail to ann/)
      .getByText(/^Sent .+ · opened, or only loaded by a program, /)
      .waitFor()
    await expect
      .poll(() => viewed.page.getByRole('button', { name: /^(Reply|Forward|Retry|Write again|Cancel|Raw|Remove)/ }).count())
      .toBe(0)
    expect(viewed.complaints).toEqual([])
  })

  test('by the keyboard a mail for later is cancelled, sent after all, and another one is taken back', async () => {
    const { account, send, path } = await desk()
    const { page } = await open(account.member, path)
    const sendAt = new Date(Date.now() + 86_400_000).toISOString()
    await send(['ann@customer.example'], { subject: 'Later, {{field:name}}', sendAt })
    const later = mailTo(page, 'Mail to ann@customer.example: Later, Acme')
    await expect.poll(() => state(later).innerText()).toMatch(/^Will be sent tomorrow \d/)
    await later.getByRole('button', { name: 'Cancel sending' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => state(later).innerText()).toMatch(/^Cancelled at/)
    await expect.poll(() => later.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
    await later.getByRole('button', { name: 'Write again' }).press('Enter')
    await page.getByRole('combobox', { name: 'To', exact: true }).and(page.locator(':focus')).waitFor()
    await expect.poll(() => page.getByLabel('Subject', { exact: true }).inputValue()).toBe('Later, {{field:name}}')
    await later.getByRole('button', { name: 'Retry', disabled: false }).press('Enter')
    await expect.poll(() => state(later).innerText()).toMatch(/^Sent/)

    await send(['ann@customer.example'], { subject: 'Never', sendAt })
    const never = mailTo(page, 'Mail to ann@customer.example: Never')
    await never.getByRole('button', { name: 'Discard' }).press('Enter')
    await never.getByRole('button', { name: 'Discard it' }).press('Enter')
    await never.waitFor({ state: 'detached' })

    await later.getByRole('button', { name: 'Reply' }).press('Enter')
    await expect.poll(() => new URL(page.url()).searchParams.get('compose')).toMatch(/^reply:\d+$/)
  })

  test('a mail that waits, one of unknown outcome, and one that reaches some of its recipients say so', async () => {
    const smtp = await startSmtp()
    onTestFinished(() => smtp.close())
    const { account, send, path } = await desk(smtp.port)
    const { page } = await open(account.member, path)
    smtp.recipients.set('full@customer.example', '452 4.2.2 Mailbox full')
    smtp.recipients.set('gone@customer.example', '550 5.1.1 No such user')

    await send(['full@customer.example'], { subject: 'Waits' })
    await send(['ann@customer.example'], { subject: 'Some', cc: ['gone@customer.example'] })
    const some = mailTo(page, 'Mail to ann@customer.example and 1 more: Some')
    await expect.poll(() => state(some).innerText()).toMatch(/^Sent at .+ · 1 of 2 not sent$/)
    const recipients = some.getByRole('list', { name: 'Recipients' }).getByRole('listitem')
    await expect
      .poll(() => recipients.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^ann@customer.example\s+accepted by the mail server at \d/),
        expect.stringMatching(
          /^gone@customer.example Cc not sent: the address does not exist \(550 5\.1\.1\)\s+The server said 550 5\.1\.1 No such user$/,
        ),
      ])

    smtp.onContent = { hangUp: 'after' }
    await send(['ann@customer.example'], { subject: 'Unknown' })
    const unknown = mailTo(page, 'Mail to ann@customer.example: Unknown')
    await expect.poll(() => state(unknown).innerText()).toBe('Unknown: the connection broke after the last byte; it may have arrived')

    // An attempt that fails for now is no event: the page looks again.
    const waits = mailTo(page, 'Mail to full@customer.example: Waits')
    await expect.poll(() => state(waits).innerText()).toBe('Waiting: the mailbox is full (452 4.2.2)')
    await waits.getByRole('button', { name: 'Details' }).click()
    await waits.getByText('452 4.2.2 Mailbox full').waitFor()
    await waits.getByText('It is tried again by itself').waitFor()
    await takePictures(page, 'mail-thread-states')
  })

  test('nothing in a hostile mail runs, loads or leaves its frame', async () => {
    const { account, table, record, send, path } = await desk()
    const hits: string[] = []
    const spy = createServer((request, response) => {
      hits.push(request.url ?? '')
      response.setHeader('content-type', 'image/gif').end()
    })
    await new Promise<void>((done) => spy.listen(0, '127.0.0.1', done))
    onTestFinished(() => void spy.close())
    const url = `http://127.0.0.1:${(spy.address() as AddressInfo).port}`
    const html = hostileHtml(url, 200)
    const parent = await send(['ann@customer.example'])
    // What notes that it was sent would take back what is put into it below.
    const status = () => app.db.read(sql`select metadata->>'status' as status from record_comments where id = ${parent}`)
    await expect.poll(status).toEqual([{ status: 'sent' }])
    // Past the service's sanitiser, as if it had let everything through.
    const metadata = {
      ...{ parentCommentId: parent, from: { name: 'Ann\u202e <b>', email: 'ann@customer.example' }, to: ['a@x'], cc: [], date: null },
      ...{
        subject: '<img src=x onerror=alert(1)>\u202egpj',
        messageId: null,
        inReplyTo: null,
        text: `<script>alert(1)</script> ${url}/text`,
        html,
      },
      ...{
        autoReply: false,
        authentication: null,
        senderWasRecipient: false,
        inline: [],
        remoteImages: 2,
        attachmentsLeftOut: 3,
        unreadable: false,
      },
    }
    const files = [{ name: 'invoice\u202efdp.exe', path: '1-2-x.exe', size: 2, type: 'application/pdf', host: 'local' }]
    await app.db.write(sql`
      insert into record_comments (account_id, space_id, table_id, record_id, type, user_id, user_name, content, attachments, metadata)
      values (${account.id}, ${account.space}, ${table}, ${record}, 'email_in', 0, 'Ann', ${metadata.text},
        ${JSON.stringify(files)}::jsonb, ${JSON.stringify(metadata)}::jsonb)`)
    await app.db.write(sql`
      update record_comments set content = ${hostileHtml(url)}, metadata = metadata || '{"remoteImages": 2}' where id = ${parent}`)

    const { page } = await open(account.admin, path)
    let dialogs = 0
    page.on('dialog', (dialog) => {
      dialogs += 1
      void dialog.dismiss()
    })
    const received = mailTo(page, /^Mail from Ann: /)
    await received.getByText('<script>alert(1)</script>').waitFor()
    await expect.poll(() => received.locator('.mail-subject').innerText()).toBe('<img src=x onerror=alert(1)>gpj')
    await expect.poll(() => received.getByRole('link', { name: 'invoicefdp.exe', exact: true }).innerText()).toBe('invoicefdp.exe')
    await received.getByText('3 attachments more are only in the raw message.').waitFor()
    await received.getByText('The mail was not sent to this address: somebody else answered it.').waitFor()
    const words = (mail: Locator) => mail.locator('iframe').contentFrame().getByText('Visible words').first()
    await received.getByRole('button', { name: 'Show the original' }).click()
    await words(received).waitFor()
    await received.getByRole('button', { name: 'Open whole' }).click()
    // Two megabytes that stay open would make the browser slow for what follows.
    await received.getByRole('button', { name: 'Hide the original' }).click()
    const sent = mailTo(page, /^Mail to ann/)
    await sent.scrollIntoViewIfNeeded()
    await sent.getByRole('button', { name: 'Show the original' }).click()
    await words(sent).waitFor()
    await sent.getByRole('button', { name: 'Show images' }).click()
    await expect.poll(() => sent.locator('iframe').getAttribute('src')).toMatch(/\?images=remote$/)
    await words(sent).waitFor()
    expect(hits).toEqual([])
    expect([dialogs, new URL(page.url()).pathname, await page.title()]).toEqual([0, path, expect.not.stringContaining('owned')])
    expect(await page.evaluate(() => Reflect.get(globalThis, 'owned'))).toBeUndefined()
  })

  test('a mail to fifty people, one with a very long body and a raw message are shown on a narrow screen, too', async () => {
    const { account, send, caught, path } = await desk()
    const people = Array.from({ length: 50 }, (_, at) => `person-${at}.with.a.rather.long.name@customer-${at}.example`)
    const id = await send(people, { subject: 'For all', body: `<blockquote><p>Old</p></blockquote>${'<p>Much to say. </p>'.repeat(50)}` })
    await expect.poll(() => catcher.mails().some(({ subject }) => subject === 'For all')).toBe(true)
    const lines = Array.from({ length: 4_000 }, (_, at) => `line ${at} of a long answer without an end`)
    await post(await replyTo(caught('For all'), { from: people[0] as string, text: lines.join('\n') }))
    await untilRead(app)

    const { page } = await open(account.admin, `${path}?entry=${id}`)
    await page.setViewportSize({ width: 390, height: 800 })
    const forAll = mailTo(page, /and 49 more: For all$/)
    await forAll.getByRole('button', { name: 'Details' }).click()
    await expect.poll(() => forAll.getByRole('list', { name: 'Recipients' }).getByRole('listitem').count()).toBe(50)
    await expect.poll(() => page.locator('html').evaluate((element) => element.scrollWidth)).toBe(390)
    await forAll.getByRole('button', { name: 'Details' }).click()
    const answer = mailTo(page, /^Mail from person-0.+: Re: For all$/)
    await answer.getByText('line 3 of').waitFor()
    await expect.poll(() => answer.getByText('line 3000 of').count()).toBe(0)
    await answer.getByRole('button', { name: 'Show the whole mail' }).click()
    await answer.getByText('line 3000 of').waitFor()
    await answer.getByRole('button', { name: 'Show less' }).click()
    const [download] = await Promise.all([page.waitForEvent('download'), answer.getByRole('button', { name: 'Raw message' }).click()])
    expect(download.suggestedFilename()).toMatch(/^mail-\d+\.eml$/)
    await takePictures(page, 'mail-thread-many')
    await expectAccessible(page)
  })
})

/** Everything that a mail could try, with so many more paragraphs of 10 kB. */
const hostileHtml = (url: string, paragraphs = 1) => `
  <base href="${url}/base/"><meta http-equiv="refresh" content="0;url=${url}/refresh"><link rel="stylesheet" href="${url}/style.css">
  <style>@import "${url}/import.css"; body { background: url(${url}/css) }</style>
  <p style="background:url(${url}/inline)">Visible words</p>
  <script>top.owned = 1; fetch("${url}/script"); alert(1)</script>
  <img src="${url}/image" onerror="alert(1)"><img src="x" onerror="top.location='${url}/top'">
  <svg onload="alert(1)"><script>alert(1)</script><image href="${url}/svg"/></svg><math><mi href="javascript:alert(1)">m</mi></math>
  <form action="${url}/form" target="_top"><input name="a" autofocus onfocus="this.form.submit()"><button>Send</button></form>
  <iframe src="${url}/frame"></iframe><object data="${url}/object"></object><embed src="${url}/embed"><video src="${url}/video" autoplay></video>
  <a href="javascript:alert(1)" target="_top">Script link</a><a href="${url}/link" target="_top" ping="${url}/ping">Link</a>
  ${`<p>Lines ${'without an end '.repeat(700)}</p>`.repeat(paragraphs)}`
