/** The way into the console, in a real browser: by role, label and key. */
import type { AddressInfo } from 'node:net'
import type { Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { forgetLogin, keepLogin } from '../../src/demo/login.ts'
import { mountCatcher, startCatcher } from '../../src/email/catcher/catcher.ts'
import { type Person, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp()

describe.skipIf(isBrowserMissing)(browserTitle('in a browser'), () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'America/Bogota' })
  })
  afterAll(() => browser?.close())

  test('an address opens after signing in, and a wrong password is said as the API says it', async () => {
    const { owner, space } = await app.account({ withPassword: true })
    const table = await app
      .as(owner)
      .rpc.tables.create.mutate({ space_id: space, name: 'Deals <b>& co</b>', fields: [{ name: 'Title', type: 'text' }] })
    await signInAs(browser.context, app.url, null)
    const { page, complaints } = await openConsole(browser.context, `${app.url}/table/${table.id}?sort=title`)
    await page.getByLabel('Email address').fill(owner.email)
    await page.getByLabel('Password', { exact: true }).fill('not the password')
    await takePictures(page, 'sign-in')
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('Wrong email or password')
    await page.getByLabel('Password', { exact: true }).fill(owner.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('navigation', { name: 'Spaces and tables' }).getByRole('link', { name: 'Deals <b>& co</b>' }).waitFor()
    await expect.poll(() => page.url()).toContain(`/table/${table.id}`)
    await takePictures(page, 'table')
    expect(complaints.filter((one) => !/401/.test(one))).toEqual([])
  })

  test('on the demo one click signs in as one of its people', async () => {
    const { owner, member, viewer, id, space } = await app.account()
    const personOf = ({ name, email }: Person) => ({ name, email, password: 'is not asked for' })
    const people = { owner: personOf(owner), member: personOf(member), viewer: personOf(viewer) }
    keepLogin(app.settings.dataDir, { account_id: id, space_id: space, ...people, keys: { account: 'gp_acct_x', personal: 'gp_user_x' } })
    const settings = { ...app.settings, databaseUrl: undefined }
    const catcher = await startCatcher()
    const service = await buildApp({ ...app.deps, settings })
    mountCatcher(service, catcher, settings)
    await service.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(async () => {
      await service.close()
      await catcher.close()
      forgetLogin(app.settings.dataDir)
    })
    const url = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`
    await signInAs(browser.context, url, null)
    const { page, complaints } = await openConsole(browser.context, url)
    await page.getByRole('button', { name: 'Sign in as Vera Viewer' }).waitFor()
    await takePictures(page, 'sign-in-demo')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Sign in as Max Member' }).click()
    await page.getByText('Nobody has created a table in your spaces yet.').waitFor()
    await page.getByRole('complementary', { name: 'Side bar' }).getByText('Max Member').waitFor()
    expect(complaints.filter((one) => !/401/.test(one))).toEqual([])
  })

  test('what the sign-in throttles or cannot reach is said, and keeps what was typed', async () => {
    const { owner } = await app.account({ withPassword: true })
    await signInAs(browser.context, app.url, null)
    const { page } = await openConsole(browser.context, `${app.url}/sign-in`)
    const alert = () => page.getByRole('alert').innerText()
    const attempt = async (answer: { status: number; message: string; code: string } | null) => {
      const refuse = (route: Route) => {
        if (!answer) return route.abort()
        const { status: httpStatus, message, code } = answer
        const body = [{ error: { message, code: -32000, data: { message, code, httpStatus, request_id: 'req-1' } } }]
        return route.fulfill({ status: httpStatus, json: body })
      }
      await page.route('**/trpc/auth.login*', refuse, { times: 1 })
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await expect.poll(alert).toBe(answer?.message ?? 'Gridpost cannot be reached at the moment.')
    }
    await page.getByLabel('Email address').fill(owner.email)
    await page.getByLabel('Password', { exact: true }).fill(owner.password)
    await attempt({ status: 429, message: 'Too many failed sign-ins: try again in 30 seconds', code: 'TOO_MANY_REQUESTS' })
    await attempt({ status: 503, message: 'Too busy, try again soon', code: 'SERVICE_UNAVAILABLE' })
    await attempt(null)
    await page.getByRole('button', { name: 'Show password' }).click()
    await expect.poll(() => page.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('text')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Make the first table').waitFor()
  })

  test.each(['//example.com/', 'https://example.com', '/\\example.com', 'javascript:alert(1)'])(
    'signing in leads not to %s',
    async (to) => {
      const { owner } = await app.account({ withPassword: true })
      await signInAs(browser.context, app.url, null)
      const { page } = await openConsole(browser.context, `${app.url}/sign-in?to=${encodeURIComponent(to)}`)
      await page.getByLabel('Email address').fill(owner.email)
      await page.getByLabel('Password', { exact: true }).fill(owner.password)
      await page.keyboard.press('Enter')
      await page.getByText('Make the first table').waitFor()
      await expect.poll(() => page.url()).toBe(`${app.url}/`)
    },
  )

  test('the pages that mails link to look like the console, and lead into it', async () => {
    await signInAs(browser.context, app.url, null)
    const { page } = await openConsole(browser.context, `${app.url}/sign-in`)
    const colours = () => page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent').replaceAll(' ', '')")
    await expect.poll(colours).not.toBe('')
    const ours = await colours()
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor()
    await expect.poll(() => colours()).toBe(ours)
  })
})
