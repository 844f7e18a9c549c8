/** The mail servers of a space in a real browser: added, tested in plain words, changed and deleted. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Person, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'
import { startSmtp, type TestSmtp } from '../support/smtp.ts'
import { makeTable } from '../support/tables.ts'

const app = await testApp()

const servers = (page: Page) => page.getByRole('list', { name: 'Mail servers' }).getByRole('listitem')
const problemOf = async (field: Locator): Promise<string> => {
  const ids = (await field.getAttribute('aria-describedby'))?.split(' ') ?? []
  const id = ids.find((one) => one.endsWith('-problem'))
  return id ? field.page().locator(`[id="${id}"]`).innerText() : ''
}

describe.skipIf(isBrowserMissing)(browserTitle('the mail servers of a space in a browser'), () => {
  let browser: Browser
  let smtp: TestSmtp
  beforeAll(async () => {
    smtp = await startSmtp()
    smtp.login = { user: 'sales', password: 'right' }
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
  })
  afterAll(async () => {
    await browser?.close()
    await smtp.close()
  })

  async function open(person: Person, path: string): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, app.url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    return page
  }

  test('an admin adds one, which is tested at once and says in words what is wrong', async () => {
    const account = await app.account()
    const { admin, space } = account
    const { id: table } = await makeTable(app, account, { name: 'Deals' })
    const page = await open(admin, `/spaces/${space}/members`)
    await page.getByRole('link', { name: 'Mail servers' }).click()
    await page.getByText('There is no server yet').waitFor()
    await page.getByRole('button', { name: 'Add a mail server' }).click()
    const form = page.getByRole('dialog', { name: 'New mail server' })
    const field = (name: string) => form.getByLabel(name, { exact: true })
    await form.getByText('More', { exact: true }).click()
    await takePictures(page, 'mail-server')
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1280, height: 1000 })
    await form.getByText('More', { exact: true }).click()

    await form.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => problemOf(field('Name'))).toBe('Please fill this in.')
    await expect.poll(() => problemOf(field('Server'))).toBe('Please fill this in.')
    await field('Name').fill('Main <b>server</b>')
    await field('Server').fill('127.0.0.1')
    await field('Encryption').selectOption('TLS from the start (mostly port 465)')
    await expect.poll(() => field('Port').inputValue()).toBe('465')
    await field('Encryption').selectOption('None')
    await form.getByText('Without encryption everybody').waitFor()
    await field('Port').fill('many')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => problemOf(field('Port'))).toBe('Must be a number from 1 to 65535.')
    await field('Port').fill(String(smtp.port))
    await field('User name').fill('sales')
    await field('Password').fill('wrong')
    await field('Senders').fill('Sales <sales@example.com>\nnobody')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => problemOf(field('Senders'))).toContain('Line 2 ')
    await field('Senders').fill('Sales <sales@example.com>')
    await form.getByText('More', { exact: true }).click()
    await field('Sign mails (DKIM) for the domain').fill('example.com')
    await field('Selector').fill('not one!')
    await form.getByText('More', { exact: true }).click()
    await form.getByRole('button', { name: 'Save' }).click()
    // What is refused is in sight.
    await field('Selector').waitFor()
    await expect.poll(() => problemOf(field('Selector'))).toContain('letters, digits and hyphens')
    await field('Selector').fill('mails')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.waitFor({ state: 'detached' })

    const main = servers(page).filter({ hasText: 'Main <b>server</b>' })
    await main.getByText('It does not work: ').waitFor()
    await expect.poll(() => main.innerText()).toContain('Sends as Sales <sales@example.com>')
    await expect.poll(() => main.getByRole('status').innerText()).toMatch(/Wrong user or password/)
    await main.getByText('DKIM', { exact: true }).click()
    await main.getByText('mails._domainkey.example.com').waitFor()
    await takePictures(page, 'mail-servers')
    await expectAccessible(page)

    const { rpc } = app.as(admin)
    const stored = async () => (await rpc.smtp.list.query({ space_id: space })).rows[0]
    expect(await stored()).toMatchObject({ from_domains: ['example.com'], disable_pixel: false, table_ids: null, has_password: true })
    await main.getByRole('button', { name: /^Edit/ }).click()
    const edit = page.getByRole('dialog', { name: /^Edit/ })
    await edit.getByText('A password is kept.').waitFor()
    await edit.getByLabel('Name', { exact: true }).fill('Main')
    await edit.getByLabel('Password', { exact: true }).fill('right')
    await edit.getByText('More', { exact: true }).click()
    await edit.getByLabel('Only these').check()
    await edit.getByLabel('Deals').check()
    await edit.getByLabel('See whether mails were opened').uncheck()
    await edit.getByRole('button', { name: 'Save' }).click()
    const renamed = servers(page).filter({ hasText: 'Main' })
    await renamed.getByText('It works: the service could connect and sign in.').waitFor()
    expect(await stored()).toMatchObject({ label: 'Main', disable_pixel: true, table_ids: [table], has_password: true })

    smtp.onGreeting = { code: 421 }
    await renamed.getByRole('button', { name: 'Test Main' }).click()
    await renamed.getByText('It does not work: ').waitFor()
    smtp.onGreeting = {}
    await renamed.getByRole('button', { name: 'Delete Main' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There is no server yet').waitFor()
    expect(await stored()).toBeUndefined()
  })

  test('members have no such page', async () => {
    const { member, space } = await app.account()
    const page = await open(member, `/spaces/${space}/members`)
    await page.getByRole('link', { name: 'People', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Mail servers' }).count()).toBe(0)
    await page.goto(`${app.url}/spaces/${space}/integrations`)
    await page.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
  })
})
