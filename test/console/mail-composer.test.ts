/** The composer in a real browser, with a real mail server: a mail that is written is sent once or is still there, whatever happens. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import { type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs, untilPagesAreGone } from '../support/console.ts'
import { postMail, untilRead } from '../support/mail-desk.ts'
import { startSmtp } from '../support/smtp.ts'
import { makeTable } from '../support/tables.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

const HOUR_MS = 3_600_000

/** Somebody whom a record links to. */
const linkedPerson = (account: TestAccount) =>
  makeTable(app, account, {
    fields: [
      { name: 'Name', type: 'text' },
      { name: 'Address', type: 'email' },
    ],
    records: [{ name: 'Bea Ray', address: 'bea@linked.example' }],
  })

async function desk({ hasLinks = false } = {}) {
  const account: TestAccount = await app.account()
  const people = hasLinks ? await linkedPerson(account) : null
  const { id: table, records } = await makeTable(app, account, {
    fields: [
      { name: 'Company', type: 'text' },
      { name: 'Contact', type: 'email' },
      { name: 'Amount', type: 'number', decimals: 2 },
      { name: 'Notes', type: 'text' },
      ...(people ? [{ name: 'Person', type: 'lookup', table: people.id }] : []),
      { name: 'Papers', type: 'file' },
    ],
    records: [
      { company: 'Acme', contact: 'ann@customer.example', amount: 12.5, ...(people && { person: people.records[0] }) },
      { company: 'Bolt', contact: 'bo@customer.example' },
    ],
  })
  const { body: integration } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
    ...{ label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] },
    from_identities: [
      { name: 'Desk', email: 'desk@example.com' },
      { name: 'Sales', email: 'sales@example.com' },
    ],
  })
  const { rpc } = app.as(account.member)
  const mails = async (record = 0) => {
    const { rows } = await rpc.comments.list.query({ table_id: table, record_id: records[record] as number, types: ['email_out'] })
    return rows.map(({ metadata, ...row }) => ({
      ...(metadata as { subject: string; status: string; sendAt?: string; to: string[]; cc: string[] }),
      ...row,
    }))
  }
  const draftName = (record = 0) => `draft.mail.${table}.${records[record]}`
  const draft = async (record = 0) => {
    const { rows } = await rpc.preferences.list.query({ prefix: draftName(record) })
    return (rows[0]?.value as { value: { subject: string }; key: string } | undefined) ?? null
  }
  const isKept = (title: string, record = 0) => expect.poll(async () => (await draft(record))?.value.subject).toBe(title)
  const suppress = (email: string) =>
    app.db.write(sql`insert into email_suppressions (account_id, email, reason) values (${account.id}, ${email}, 'hard_bounce')`)
  const arrived = (subject: string) => smtp.received.filter(({ email }) => email.subject === subject)
  const path = (record = 0) => `/table/${table}/record/${records[record]}`
  return { account, table, records: records as number[], integration, rpc, mails, draftName, draft, isKept, suppress, arrived, path }
}

type Desk = Awaited<ReturnType<typeof desk>>

describe.skipIf(isBrowserMissing)(browserTitle('the composer in a browser'), () => {
  let browser: Browser
  /** The pages that know the service's clock. */
  const told = new WeakSet<Page>()
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
    // The pages take the service's clock to be ahead, each one less than the page before: a mail waits, however long a test takes.
    let aheadMs = 3 * HOUR_MS
    await browser.context.route('**/healthz', async (route) => {
      aheadMs -= 60_000
      await route.fulfill({ headers: { date: new Date(Date.now() + aheadMs).toUTCString() } })
      told.add(route.request().frame().page())
    })
  })
  afterAll(() => browser?.close())

  async function open({ account }: Desk, path: string): Promise<Page> {
    await signInAs(browser.context, app.url, account.member)
    const { page } = await openConsole(browser.context, app.url + path)
    if (path.includes('compose=')) await untilTold(page)
    return page
  }
  /** A mail that is sent before would go after seconds. */
  const untilTold = (page: Page) => expect.poll(() => told.has(page)).toBe(true)
  const composer = (page: Page) => page.getByRole('region', { name: 'Mail', exact: true })
  const to = (page: Page) => page.getByRole('combobox', { name: 'To', exact: true })
  const subject = (page: Page) => page.getByLabel('Subject', { exact: true })
  const message = (page: Page) => page.getByRole('textbox', { name: 'Message' })
  const from = (page: Page) => page.getByLabel('From', { exact: true })
  const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true })
  const undoSend = (page: Page) => page.getByRole('button', { name: 'Undo send' })
  /** A message stays as long as the focus is on it. */
  const takeBack = async (page: Page) => {
    await undoSend(page).focus()
    await undoSend(page).click()
  }
  const removal = (page: Page, what: string) => composer(page).getByRole('button', { name: `Remove ${what}` })
  const removals = (page: Page) => composer(page).getByRole('button', { name: /^Remove / })
  const said = (page: Pick<Page, 'getByText'>, words: string | RegExp) => page.getByText(words).waitFor()
  const isFilled = (page: Page, title: string) => expect.poll(() => subject(page).inputValue()).toBe(title)
  /** Mails that wait until the service's clock is set, and are to arrive once then. */
  const expected: { here: Desk; title: string }[] = []

  /** Opens the composer of a record and writes a mail whose recipient the record knows. */
  async function begin(here: Desk, title: string, record = 0, text = 'Dear Ann'): Promise<Page> {
    const page = await open(here, `${here.path(record)}?compose=mail`)
    await subject(page).fill(title)
    await message(page).click()
    await page.keyboard.type(text)
    return page
  }

  /** Gives the focused element data as a clipboard or a hand does. */
  const give = (page: Page, event: 'paste' | 'drop', kinds: Record<string, string>, file?: string) =>
    page.evaluate(
      ([name, texts, fileName]) => {
        // biome-ignore lint/suspicious/noExplicitAny: the names of a browser are unknown to the tests' compiler
        const { ClipboardEvent, DataTransfer, document, DragEvent, File } = globalThis as any
        const data = new DataTransfer()
        for (const [type, text] of Object.entries(texts)) data.setData(type, text)
        if (fileName) data.items.add(new File(['42'], fileName, { type: 'text/plain' }))
        const rest = { bubbles: true, cancelable: true }
        const given = name === 'paste' ? new ClipboardEvent(name, { clipboardData: data, ...rest }) : undefined
        document.activeElement.dispatchEvent(given ?? new DragEvent(name, { dataTransfer: data, ...rest }))
      },
      [event, kinds, file] as const,
    )

  test('a mail is written and sent by keys alone, with options and tokens, and can be taken back', async () => {
    const here = await desk({ hasLinks: true })
    const page = await open(here, here.path())
    await page.getByRole('heading', { level: 1, name: 'Acme' }).waitFor()
    await page.keyboard.press('m')
    await subject(page).and(page.locator(':focus')).waitFor()
    await expect.poll(() => page.url()).toContain('compose=mail')
    await removal(page, 'ann@customer.example').waitFor()
    await to(page).focus()
    await page
      .getByRole('option', { name: /Member of the space/ })
      .first()
      .waitFor()
    await page.keyboard.type('bea')
    await page.getByRole('option', { name: /bea@linked\.example/ }).waitFor()
    await page.keyboard.press('Enter')
    await removal(page, 'Bea Ray <bea@linked.example>').waitFor()
    await page.keyboard.type('carl@x.example,')
    await subject(page).focus()
    await page.keyboard.type('Offer for {{comp')
    await page.getByRole('option', { name: /Company/ }).waitFor()
    await page.keyboard.press('Enter')
    await isFilled(page, 'Offer for {{field:company}}')
    await message(page).focus()
    await page.keyboard.type('Dear Ann, it costs {{amount')
    await page.getByRole('option', { name: /Amount/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+b')
    await page.keyboard.type(' today')
    await page.getByRole('button', { name: 'Bold' }).and(page.locator('[aria-pressed=true]')).waitFor()
    await takePictures(page, 'mail-composer')
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1280, height: 1000 })
    await message(page).focus()
    await untilTold(page)
    await page.keyboard.press('Control+Enter')
    await takeBack(page)
    await isFilled(page, 'Offer for {{field:company}}')
    await expect.poll(() => message(page).innerText()).toBe('Dear Ann, it costs Amount today')
    await removal(page, 'carl@x.example').waitFor()
    await expect.poll(() => here.mails()).toEqual([])
    await message(page).click()
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' only')
    await send(page).click()
    await composer(page).waitFor({ state: 'detached' })
    await expect.poll(() => here.draft()).toBeNull()
    const recipients = ['ann@customer.example', 'bea@linked.example', 'carl@x.example']
    expect(await here.mails()).toMatchObject([{ to: recipients }])
    expected.push({ here, title: 'Offer for Acme' })
  })

  test('what is typed is there after the page was killed, on every machine within two seconds, and two pages ask', async () => {
    const here = await desk()
    const killed = await begin(here, 'Killed', 0, 'At once')
    await killed.close({ runBeforeUnload: false })
    await untilPagesAreGone(browser.context, app.url)
    const page = await open(here, `${here.path()}?compose=mail`)
    await isFilled(page, 'Killed')
    await expect.poll(() => message(page).innerText()).toBe('At once')
    await here.isKept('Killed')

    const other = await open(here, `${here.path()}?compose=mail`)
    await isFilled(other, 'Killed')
    await subject(page).fill('Killed, mine')
    await here.isKept('Killed, mine')
    await subject(other).fill('Killed, yours')
    await said(other, 'This draft was changed in another tab or on another machine.')
    await said(other, /^Not saved$/)
    await other.getByRole('button', { name: 'Take the other' }).click()
    await isFilled(other, 'Killed, mine')
    await message(other).click()
    await other.keyboard.press('Control+End')
    await other.keyboard.type(' and more')
    await expect.poll(async () => JSON.stringify((await here.draft())?.value)).toContain('At once and more')

    await send(other).click()
    await composer(other).waitFor({ state: 'detached' })
    await expect.poll(() => here.draft()).toBeNull()
    await subject(page).fill('Killed, once more')
    await said(page, 'This draft was sent or discarded in another tab or on another machine.')
    await page.getByRole('button', { name: 'Close this one' }).click()
    await composer(page).waitFor({ state: 'detached' })
    await expect.poll(() => here.draft()).toBeNull()
    expected.push({ here, title: 'Killed, mine' })
  })

  test('a page that is killed while it sends, before the mail arrived or before its answer, sends once', async () => {
    const here = await desk()
    for (const [record, moment] of ['before it arrived', 'before its answer'].entries()) {
      const title = `Interrupted ${moment}`
      const page = await begin(here, title, record)
      const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>()
      await page.route('**/trpc/email.send**', async (route) => {
        if (moment === 'before its answer') await route.fetch()
        asked()
      })
      await send(page).click()
      await isAsked
      await page.close({ runBeforeUnload: false })
      expect(await here.mails(record)).toHaveLength(record)
      await here.isKept(title, record)
      const again = await open(here, `${here.path(record)}?compose=mail`)
      await expect.poll(async () => (await here.mails(record)).length).toBe(1)
      await expect.poll(() => here.draft(record)).toBeNull()
      await composer(again).waitFor({ state: 'detached' })
      await again.close({ runBeforeUnload: false })
      expected.push({ here, title })
    }
  })

  test('without a network a mail is kept and is sent once when it is back, and one of yesterday is not sent by itself', async () => {
    const here = await desk()
    const page = await begin(here, 'Offline')
    await here.isKept('Offline')
    await page.route('**/trpc/**', (route) => route.abort())
    await message(page).click()
    await page.keyboard.type(', typed without a network. ')
    await said(page, 'Not saved on the service yet')
    await send(page).click()
    await said(page, 'Gridpost cannot be reached at the moment. Everything is still here.')
    expect(await here.mails()).toEqual([])
    await page.unrouteAll({ behavior: 'ignoreErrors' })

    // The answer of the first request is lost, and the mail is changed before it is sent again.
    await page.route('**/trpc/email.send**', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await send(page).click()
    await said(page, 'It is not known whether the mail was taken')
    expect(await here.mails()).toHaveLength(1)
    const { value: unknown, key } = (await here.draft()) ?? {}
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await subject(page).fill('Offline, changed')
    await send(page).click()
    await composer(page).waitFor({ state: 'detached' })
    expect((await here.mails()).map((mail) => mail.subject)).toEqual(['Offline, changed'])
    expected.push({ here, title: 'Offline, changed' })

    // The service has forgotten the key of a mail that was being sent a day ago.
    const { attempt } = unknown as unknown as { attempt: { at: number } }
    const yesterday = { ...unknown, attempt: { ...attempt, at: attempt.at - 24 * HOUR_MS } }
    await here.rpc.preferences.update.mutate({
      name: here.draftName(1),
      value: { value: yesterday, key, by: 'a page of yesterday' } as never,
    })
    await page.goto(`${app.url}${here.path(1)}?compose=mail`)
    await said(page, /^This mail was being sent .* when the page closed\. Look at the timeline/)
    await isFilled(page, 'Offline')
    await expect.poll(async () => (await here.draft(1))?.key).not.toBe(key)
    expect(await here.mails(1)).toEqual([])
  })

  test('an answer begins with the right people, and one that comes meanwhile, a suppressed address and bad ones are said', async () => {
    const here = await desk()
    const record = here.records[0] as number
    const { id } = await here.rpc.email.send.mutate({
      ...{ tableId: here.table, recordId: record, smtpIntegrationId: here.integration.id },
      fromIdentity: { name: 'Sales', email: 'sales@example.com' },
      ...{ to: ['ann@customer.example'], cc: ['bo@customer.example'], subject: 'Our offer', body: '<p>Dear Ann</p>' },
    })
    await expect.poll(() => here.arrived('Our offer').length).toBe(1)
    const address = /reply-[0-9a-f]{16}@reply\.example\.net/.exec(here.arrived('Our offer')[0]?.raw ?? '')?.[0]
    const answer = (text: string) =>
      postMail(app, [
        ...['From: Ann Lee <ann@customer.example>', `To: ${address}`, 'Cc: bo@customer.example', 'Subject: RE: Our offer'],
        ...['Reply-To: Ann at home <ann@home.example>', `Message-ID: <${text.length}-${id}@customer.example>`, '', text],
      ])
    await answer('Yes, please. {{field:amount}}')
    await untilRead(app)
    const { rows } = await here.rpc.comments.list.query({ table_id: here.table, record_id: record, types: ['email_in'] })
    const page = await open(here, `${here.path()}?compose=reply:${id + 1_000_000}`)
    await said(page, 'The mail to answer is not on this record.')
    await page.getByRole('button', { name: 'Write a new mail' }).click()
    await isFilled(page, '')
    await page.goto(`${app.url}${here.path()}?compose=replyAll:${rows[0]?.id}`)
    await isFilled(page, 'Re: Our offer')
    await said(page, 'The sender wants answers at this address')
    await removal(page, 'ann@home.example').waitFor()
    await removal(page, 'bo@customer.example').waitFor()
    await expect.poll(() => removals(page).count()).toBe(2)
    // The reply address does not say whom it was for: the mail that it answers does.
    await expect.poll(() => from(page).locator('option:checked').innerText()).toContain('sales@example.com')
    await message(page).and(page.locator(':focus')).waitFor()
    await expect
      .poll(() => message(page).innerText())
      .toMatch(/Ann Lee <ann@customer\.example> wrote:\s+Yes, please\. \{\u2060\{field:amount\}\}/)
    await page.keyboard.type('Thank you')
    await takePictures(page, 'mail-answer')

    // One address is wrong, one is there twice, one has a line break.
    await page.getByRole('combobox', { name: 'Cc', exact: true }).fill('ann@home.example')
    await page.keyboard.press('Enter')
    await said(page, 'ann@home.example is there more than once, and gets one mail.')
    await to(page).focus()
    await give(page, 'paste', { 'text/plain': 'eve@x.example\r\nBcc: evil@x.example' })
    await send(page).click()
    await said(page, 'Not an email address: Bcc: evil@x.example')
    await removal(page, 'Bcc: evil@x.example').click()
    await removal(page, 'eve@x.example').click()

    await answer('And one more thing.')
    await untilRead(app)
    await Promise.all([here.suppress('bo@customer.example'), here.suppress('ann@home.example')])
    await send(page).click()
    await said(page, 'So nobody would get it')
    await app.db.write(sql`delete from email_suppressions where account_id = ${here.account.id} and email like 'ann%'`)
    await send(page).click()
    await said(page, 'Press Send once more to send it as it is.')
    const words = (await page.getByRole('alert').allInnerTexts()).join()
    expect(words).toMatch(/Ann Lee wrote \(.*\) after you began\./)
    expect(words).toMatch(/bo@customer\.example gets no mail: suppressed since \w+ \d+, because/)
    await expect.poll(() => page.getByText(/gets no mail/).count()).toBe(1)
    expect(await here.mails()).toHaveLength(1)
    await send(page).click()
    await composer(page).waitFor({ state: 'detached' })
    expect((await here.mails())[0]).toMatchObject({ subject: 'Re: Our offer', to: ['ann@home.example'], cc: ['bo@customer.example'] })
    expected.push({ here, title: 'Re: Our offer' })
  })

  test('a server that refuses, is forbidden or removed is said, and a mail that is undone is never lost', async () => {
    const here = await desk()
    const { account, integration } = here
    const admin = app.as(account.admin)
    const page = await begin(here, 'Refused')
    await admin.post(`/api/smtp/${integration.id}/update`, { from_domains: ['other.example'], from_identities: [] })
    await send(page).click()
    await said(page, 'From domain not allowed: example.com')
    // The page has read the servers again, so that it does not know yet what becomes of this one.
    await said(page, 'cannot send from this table any more. Choose another sender.')
    await admin.post(`/api/smtp/${integration.id}/update`, { from_domains: ['example.com'] })
    await app.db.write(sql`
      update smtp_integrations set failing_since = localtimestamp, failing_message = '535 Wrong password' where id = ${integration.id}`)
    await send(page).click()
    await page.getByRole('alert').getByText('The server of “Desk” refuses at the moment: 535 Wrong password.').waitFor()
    const roleIs = (role: string) => admin.post(`/api/space/${account.space}/member/${account.member.id}/update`, { role })
    await roleIs('viewer')
    await said(page, 'You may read this record, but not send mails from it.')
    await isFilled(page, 'Refused')
    await roleIs('member')
    await page.getByText('You may read this record, but not send mails from it.').waitFor({ state: 'detached' })
    const server = { label: 'Shop', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
    await admin.post(`/api/space/${account.space}/smtp/create`, {
      ...server,
      from_identities: [{ name: 'Shop', email: 'shop@example.com' }],
    })
    await admin.post(`/api/smtp/${integration.id}/delete`)
    await send(page).click()
    await said(page, 'Not sent: SMTP integration not found. Everything is still here.')
    await said(page, 'cannot send from this table any more. Choose another sender.')
    expect(await here.mails()).toEqual([])
    await from(page).selectOption({ label: 'Shop <shop@example.com>' })
    await send(page).click()
    await takeBack(page)
    await isFilled(page, 'Refused')
    await page.close({ runBeforeUnload: false })
    await untilPagesAreGone(browser.context, app.url)
    const again = await open(here, `${here.path()}?compose=mail`)
    await isFilled(again, 'Refused')
    await expect.poll(() => here.mails()).toEqual([])

    // While another mail is written, the one that is undone stays on the timeline.
    await send(again).click()
    await undoSend(again).hover()
    await composer(again).waitFor({ state: 'detached' })
    await again.keyboard.press('m')
    await subject(again).fill('Another')
    await undoSend(again).click()
    await expect.poll(() => here.mails()).toMatchObject([{ subject: 'Refused', status: 'dropped' }])
    await isFilled(again, 'Another')

    const deleted = await begin(here, 'Of a deleted record', 1)
    await here.rpc.records.delete.mutate({ table_id: here.table, record_id: here.records[1] as number })
    await send(deleted).click()
    await said(deleted, 'Not sent: Record not found. Everything is still here.')
    await isFilled(deleted, 'Of a deleted record')
  })

  test('it is previewed, has files and a signature, goes at a time in words, and is forwarded', async () => {
    const here = await desk()
    const [first, second] = await Promise.all(
      ['First', 'Second'].map((name) =>
        here.rpc.signatures.create.mutate({ name, html: `<p>${name} regards</p>`, is_default: name === 'First' }),
      ),
    )
    const bolt = `/api/table/${here.table}/record/${here.records[1]}`
    await app.as(here.account.member).post(`${bolt}/files/create`, { field_id: 'papers', name: 'paper.txt', data: 'aGVsbG8=' })
    const page = await begin(here, 'For {{field:company}} and {{field:gone}}', 1, '- one')
    await composer(page)
      .locator('input[type=file]')
      .setInputFiles({ name: 'offer.txt', mimeType: 'text/plain', buffer: Buffer.from('42') })
    await removal(page, 'offer.txt').waitFor()
    await give(page, 'drop', {}, 'dropped.txt')
    await removal(page, 'dropped.txt').waitFor()
    await give(page, 'paste', {}, 'pasted.txt')
    await removal(page, 'pasted.txt').waitFor()
    await page.getByRole('button', { name: 'Files of the record' }).click()
    await composer(page)
      .getByRole('button', { name: /paper\.txt/ })
      .click()
    await removal(page, 'paper.txt').waitFor()
    const signature = page.getByLabel('Signature', { exact: true })
    await expect.poll(() => signature.inputValue()).toBe(String(first?.id))
    await signature.selectOption('Second')
    await page.getByText('gone (deleted field)').waitFor()
    await page.getByRole('button', { name: 'Preview' }).click()
    const dialog = page.getByRole('dialog', { name: 'Preview' })
    await said(dialog, 'For Bolt and')
    await dialog.getByText(/gone/).first().waitFor()
    const shown = dialog.frameLocator('iframe')
    await expect.poll(() => shown.getByRole('listitem').innerText()).toBe('one')
    await said(shown, 'Second regards')
    await takePictures(page, 'mail-preview')
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.getByLabel('When', { exact: true }).fill('yesterday 9:00')
    await send(page).click()
    await said(page, 'This time has passed.')
    await page.getByLabel('When', { exact: true }).fill('tomorrow 9:00')
    await said(page, /Goes on .*9:00 AM/)
    await here.rpc.signatures.delete.mutate({ id: second?.id as number })
    await send(page).click()
    await said(page, 'This signature was deleted. Choose another one, or none.')
    await signature.selectOption('First')
    await send(page).click()
    await said(page, 'Press Send once more')
    await send(page).click()
    await takeBack(page)
    await removal(page, 'offer.txt').waitFor()
    await expect.poll(() => page.getByLabel('When', { exact: true }).inputValue()).toBe('tomorrow 9:00')
    await expect.poll(() => signature.inputValue()).toBe(String(first?.id))
    await expect.poll(() => here.mails(1)).toEqual([])

    // Pasted text keeps what mails have, and nothing else.
    await signature.selectOption('None')
    await message(page).click()
    await page.keyboard.press('Control+a')
    const html =
      '<style>p { color: red }</style><h1 style="color: red" onclick="alert(1)">Hi <b>you</b></h1>' +
      '<img src="https://x.example/a.png" onerror="alert(1)"><script>alert(1)</script><a href="javascript:alert(1)">no</a> ' +
      '<a href="https://x.example">link</a> {{field:amount}}'
    await give(page, 'paste', { 'text/html': html })
    await expect.poll(() => message(page).innerText()).toMatch(/Hi you\s+no link Amount/)
    await send(page).click()
    await said(page, 'Press Send once more')
    await send(page).click()
    await composer(page).waitFor({ state: 'detached' })
    await page
      .getByRole('article')
      .getByText(/^Will be sent tomorrow 9:00/)
      .waitFor()
    const [sent] = await here.mails(1)
    expect(sent?.sendAt).toMatch(/ 09:00:00$/)
    const names = ['dropped.txt', 'offer.txt', 'paper.txt', 'pasted.txt']
    expect(sent?.attachments.map(({ name }) => name).toSorted()).toEqual(names)
    expect(sent?.content).toContain('<strong>you</strong>')
    expect(sent?.content).toContain('{{field:amount}}')
    expect(sent?.content).not.toMatch(/style=|script|onclick|onerror|<img|<h1|regards/)

    await expect.poll(() => here.draft(1)).toBeNull()
    await page.goto(`${app.url}${here.path(1)}?compose=forward:${sent?.id}`)
    await isFilled(page, 'Fwd: For {\u2060{field:company}} and {\u2060{field:gone}}')
    await to(page).and(page.locator(':focus')).waitFor()
    for (const name of names) await removal(page, name).waitFor()
    await expect.poll(() => removals(page).count()).toBe(names.length)
    await expect.poll(() => message(page).innerText()).toMatch(/Forwarded mail[\s\S]*To: bo@customer\.example\s+Hi you/)
  })

  test('each of them has arrived once', async () => {
    app.setClock(new Date(Date.now() + 4 * HOUR_MS))
    onTestFinished(() => app.setClock(null))
    const arrived = () => expected.map(({ here, title }) => here.arrived(title).length)
    await expect.poll(arrived).toEqual(expected.map(() => 1))
    // That they arrived is noted after the server has answered.
    for (const { here } of expected)
      await expect.poll(async () => (await here.mails()).filter(({ status }) => status === 'queued')).toEqual([])
    const [offer] = smtp.received.filter(({ email }) => email.subject === 'Offer for Acme')
    expect(offer?.envelopeTo.toSorted()).toEqual(['ann@customer.example', 'bea@linked.example', 'carl@x.example'])
    expect(offer?.email.text).toContain('Dear Ann, it costs 12.50 today only')
    const [reply] = smtp.received.filter(({ email }) => email.subject === 'Re: Our offer')
    expect(reply?.email.text).toContain('{field:amount}}')
    expect(reply?.email.text).not.toContain('12.50')
  })
})
