/** One errand by the keyboard alone: sign in, find a record, change it, add a task, write a mail, and read its answer. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { replyTo } from '../../src/email/catcher/answers.ts'
import { type Catcher, startCatcher } from '../../src/email/catcher/catcher.ts'
import { testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser } from '../support/browser.ts'
import { openConsole } from '../support/console.ts'
import { postMail } from '../support/mail-desk.ts'
import { makeTable } from '../support/tables.ts'

const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

describe.skipIf(isBrowserMissing)(browserTitle('by keys alone in a browser'), () => {
  let browser: Browser
  let catcher: Catcher
  beforeAll(async () => {
    ;[browser, catcher] = await Promise.all([openBrowser({ timezone: 'Europe/Berlin' }), startCatcher({})])
  })
  afterAll(async () => {
    await browser?.close()
    await catcher?.close()
  })

  test('a person signs in, finds a record, edits it, adds a task, writes a mail and reads the answer', async () => {
    const account = await app.account({ timezone: 'Europe/Berlin', withPassword: true })
    const fields = [
      { name: 'Company', type: 'text' },
      { name: 'Contact', type: 'email' },
    ]
    const { id: table } = await makeTable(app, account, {
      name: 'Customers',
      fields,
      records: [
        { company: 'Bolt', contact: 'bo@customer.example' },
        { company: 'Acme', contact: 'ann@customer.example' },
      ],
    })
    await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
      ...{ label: 'Desk', host: '127.0.0.1', port: catcher.port, tls: 'none', from_domains: ['example.com'] },
      from_identities: [{ name: 'Desk', email: 'desk@example.com' }],
    })
    const { rpc } = app.as(account.owner)
    const { page, complaints } = await openConsole(browser.context, app.url)
    const keys = page.keyboard
    const goTo = async () => {
      await keys.press('Control+k')
      await page.getByRole('dialog', { name: 'Go to' }).getByRole('combobox').and(page.locator(':focus')).waitFor()
    }
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.id')

    await page.getByLabel('Email').and(page.locator(':focus')).waitFor()
    await keys.type(account.owner.email)
    await keys.press('Tab')
    await keys.type(account.owner.password)
    await keys.press('Enter')
    await page.getByRole('grid').waitFor()

    await goTo()
    await keys.type('Acme')
    await page.getByRole('option', { name: /Acme/ }).first().waitFor()
    await keys.press('Enter')
    await page.getByRole('heading', { name: 'Acme' }).first().waitFor()
    await goTo()
    await keys.type('Customers')
    await page
      .getByRole('option', { name: /Customers/ })
      .first()
      .waitFor()
    await keys.press('Enter')
    await page.getByRole('gridcell', { name: 'Acme', exact: true }).waitFor()
    await page.locator('[role=gridcell]:focus').waitFor()
    await keys.press('Control+Home')
    await keys.press('ArrowDown')
    await keys.type('Acme Ltd')
    await keys.press('Enter')
    await expect.poll(async () => JSON.stringify(await rpc.records.query.query({ table_id: table }))).toContain('Acme Ltd')
    await keys.press('Space')
    // In a cell the next key would be its text.
    await page.getByRole('heading', { name: 'Acme Ltd' }).and(page.locator(':focus')).waitFor()

    await keys.press('q')
    await page.getByRole('dialog').getByLabel('Task', { exact: true }).and(page.locator(':focus')).waitFor()
    await keys.type('Call Ann tomorrow 9:30 !30m')
    await keys.press('Enter')
    await expect.poll(async () => (await rpc.tasks.list.query({})).rows.map(({ title }) => title)).toEqual(['Call Ann'])
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Write a mail' }).waitFor()
    await keys.press('m')
    await page.getByLabel('Subject', { exact: true }).and(page.locator(':focus')).waitFor()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await keys.type('Our offer')
    for (let count = 0; count < 10 && (await focused()) !== 'Message'; count++) await keys.press('Tab')
    await keys.type('How about twelve?')
    await keys.press('Control+Enter')
    await page.getByLabel('Subject', { exact: true }).waitFor({ state: 'detached' })
    // The mail can be taken back for a moment.
    app.setClock(new Date(Date.now() + 60_000))
    onTestFinished(() => app.setClock(null))
    await expect.poll(() => catcher.mails().map(({ subject }) => subject)).toEqual(['Our offer'])
    const [mail] = catcher.mails()
    const answer = await replyTo(mail ?? expect.fail('no mail'), { from: 'ann@customer.example', text: 'Yes, twelve.' })
    await postMail(app, answer.toString().split('\r\n'))

    await goTo()
    await keys.type('Inbox')
    await page.getByRole('option', { name: /Inbox/ }).first().waitFor()
    await keys.press('Enter')
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page
      .getByText(/Our offer|answered|ann@customer/)
      .first()
      .waitFor()
    await keys.press('ArrowDown')
    await page.getByRole('list', { name: 'Notifications' }).locator('a:focus').waitFor()
    await keys.press('Enter')
    await page
      .getByRole('article', { name: /Mail from ann@customer.example/ })
      .getByText('Yes, twelve.')
      .waitFor()
    await expect.poll(async () => (await rpc.notifications.unreadCount.query()).unread).toBe(0)
    // Whoever is not signed in is told so.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])
  })
})
