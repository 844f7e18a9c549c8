/** The first person of a service without users, in a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newSetupToken } from '../../src/people/first-owner.ts'
import { testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp()

describe.skipIf(isBrowserMissing)(browserTitle('in a browser'), () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
  })
  afterAll(() => browser?.close())

  test('the link that a service without users prints makes its first owner', async () => {
    const token = newSetupToken(app.settings.secretKeys, new Date())
    await signInAs(browser.context, app.url, null)
    const { page } = await openConsole(browser.context, `${app.url}/sign-in`)
    await page.getByText('This service has no users yet.').waitFor()
    await page.goto(`${app.url}/setup#wrong`)
    await page.reload()
    const fill = async (values: Record<string, string>) => {
      for (const [label, value] of Object.entries(values)) await page.getByLabel(label, { exact: true }).fill(value)
      await page.getByRole('button', { name: 'Begin' }).click()
    }
    await fill({ 'Your name': 'Grete', 'Email address': 'grete@example.com', 'Choose a password': 'short' })
    await expect.poll(() => page.getByLabel('Choose a password', { exact: true }).getAttribute('aria-invalid')).toBe('true')
    await takePictures(page, 'setup')
    await expectAccessible(page)
    await fill({ 'Choose a password': 'correct horse battery' })
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('This link is not valid any more.')
    await page.goto(`${app.url}/setup#${token}`)
    await page.reload()
    await fill({ 'Your name': 'Grete', 'Email address': 'grete@example.com', 'Choose a password': 'correct horse battery' })
    await page.getByText('Make the first table').waitFor()
    await page.getByRole('navigation').getByRole('button', { name: 'Main', exact: true }).waitFor()
    await page.goto(`${app.url}/setup#${token}`)
    await page.getByText('This service is set up already.').waitFor()
  })
})
