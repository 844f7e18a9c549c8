/** Fills in the forms that mails lead to, in a real browser, by role and label. */
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mailAddressLink } from '../src/auth/address-letters.ts'
import { mailReset } from '../src/auth/password-reset.ts'
import { createInvite } from '../src/auth/service.ts'
import { unsubscribePath } from '../src/notifications/unsubscribe.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { linkToForm } from '../src/platform/http/pages/links.ts'
import { mailInvite } from '../src/spaces/invites.ts'
import { testApp } from './support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures, type Watched, watchedPage } from './support/browser.ts'

const app = await testApp()
const newEmail = () => `person+${randomUUID().slice(0, 8)}@example.com`

/** The link of the newest mail to the address. */
const linkTo = (email: string) => /http\S+/.exec(app.letters.findLast(({ to }) => to === email)?.text ?? '')?.[0] ?? ''

async function invited() {
  const { space, admin } = await app.account()
  const email = newEmail()
  const { user_id } = await app.as(admin).rpc.spaces.addMember.mutate({ space_id: space, email, role: 'viewer' })
  const token = await createInvite(app.db, user_id, new Date())
  return { email, userId: user_id, token, link: linkToForm(app.url, '/invite', { token, email }) }
}

async function forgetful() {
  const { owner } = await app.account({ withPassword: true })
  await mailReset(systemContext(app.deps), { email: owner.email, ip: '127.0.0.1' })
  return { owner, link: linkTo(owner.email) }
}

test('a mail links to its form with a token and the address', async () => {
  const { owner, link } = await forgetful()
  expect(link).toMatch(new RegExp(`^http://[^/]+/reset#[\\w-]{43}&email=${encodeURIComponent(owner.email)}$`))
  const { email, userId } = await invited()
  await mailInvite(systemContext(app.deps), { user_id: userId, space_name: 'Sales', inviter: 'Ada' })
  expect(linkTo(email)).toMatch(new RegExp(`/invite#[\\w-]{43}&email=${encodeURIComponent(email)}$`))
})

test.each(['all that follows the #', 'the token'])('an operation takes %s as the token', async (form) => {
  const { owner, link } = await forgetful()
  const [, fragment = ''] = link.split('#')
  const token = form === 'the token' ? fragment.slice(0, 43) : fragment
  const { status, body } = await app.as(null).post('/api/auth/reset', { token, password: 'staple battery horse' })
  expect([status, body]).toEqual([200, { ok: true }])
  expect((await app.as(null).post('/api/auth/login', { email: owner.email, password: 'staple battery horse' })).status).toBe(200)
})

test.each(['/invite', '/reset', '/confirm', '/forgot'])('%s is one file, which nothing else may join', async (path) => {
  const { headers, body } = await app.as(null).get(path)
  const policy = headers.get('content-security-policy')
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; form-action 'none'/)
  expect([headers.get('referrer-policy'), headers.get('cache-control')]).toEqual(['no-referrer', 'private, no-store'])
  expect(body).not.toMatch(/src=|<link/)
  // Without the script nothing can be sent, so that no password gets into an address.
  expect(body).toContain('<button type="submit" disabled>')
})

describe.skipIf(isBrowserMissing)(browserTitle('in a browser'), () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'America/Bogota' })
  })
  afterAll(() => browser?.close())

  async function open(link: string): Promise<Watched> {
    const watched = await watchedPage(browser.context)
    onTestFinished(() => watched.page.close())
    await watched.page.goto(link)
    return watched
  }

  const problem = (page: Page) => page.getByRole('alert').filter({ hasText: /./ })

  test('an invited person joins, in their own time zone, and is told where to go', async () => {
    const { email, userId, link } = await invited()
    const { page, complaints } = await open(link)
    await page.getByText(`You were invited as ${email}.`).waitFor()
    await takePictures(page, 'invite')
    await page.getByLabel('Your name').fill('Ines Invited')
    await page.getByLabel('Choose a password').fill('correct horse battery')
    await page.getByRole('button', { name: 'Accept the invitation' }).click()
    await page.getByText(`Welcome, Ines Invited. You are signed in as ${email}.`).waitFor()
    await takePictures(page, 'invite-done')
    await expect.poll(() => page.getByRole('heading').allInnerTexts()).toEqual(['You have joined'])
    const me = await page.evaluate('fetch("/api/auth/me").then((answer) => answer.json())')
    expect(me).toMatchObject({ id: userId, email, timezone: 'America/Bogota' })
    await expect.poll(() => page.getByRole('link', { name: 'Go to Gridpost' }).getAttribute('href')).toBe('/')
    expect(complaints).toEqual([])
  })

  test('a forgotten password is replaced, with the name of the account for password managers', async () => {
    const { owner, link } = await forgetful()
    const { page, complaints } = await open(link)
    await page.getByText(`For your account ${owner.email}.`).waitFor()
    const username = page.locator('input[autocomplete=username]')
    expect([await username.isVisible(), await username.inputValue()]).toEqual([false, owner.email])
    await takePictures(page, 'reset')
    await page.getByLabel('Your new password').fill('staple battery horse')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('Your new password is set.').waitFor()
    await page.getByRole('link', { name: 'Go to Gridpost' }).waitFor()
    expect((await app.as(null).post('/api/auth/login', { email: owner.email, password: 'staple battery horse' })).status).toBe(200)
    expect(complaints).toEqual([])

    const again = await open(link)
    await again.page.getByLabel('Your new password').fill('staple battery horse')
    await again.page.getByRole('button', { name: 'Set the password' }).click()
    await again.page.getByText('This link is not valid any more').waitFor()
    await takePictures(again.page, 'reset-expired')
    await again.page.getByRole('link', { name: 'Get another link' }).click()
    await again.page.getByLabel('Your email address').fill(owner.email)
    await takePictures(again.page, 'forgot')
    await again.page.getByRole('button', { name: 'Mail me a link' }).click()
    await again.page.getByText(`If ${owner.email} has an account, a mail with a link is on its way.`).waitFor()
    await takePictures(again.page, 'forgot-done')
    await again.page.getByRole('link', { name: 'Use another address' }).click()
    await again.page.getByLabel('Your email address').waitFor()
    await expect.poll(() => again.page.getByLabel('Your email address').inputValue()).toBe('')
  })

  test('a new address is confirmed by a button', async () => {
    const { owner } = await app.account({ withPassword: true })
    const email = newEmail()
    await app.as(owner).post('/api/auth/email', { email, current_password: owner.password })
    const [change] = await app.db.read<{ id: number }>(sql`select id from address_changes where user_id = ${owner.id}`)
    await mailAddressLink(systemContext(app.deps), { change_id: change?.id ?? 0 })
    const { page, complaints } = await open(linkTo(email))
    await page.getByText(`You sign in with ${email} from then on`).waitFor()
    await takePictures(page, 'confirm')
    await page.getByRole('button', { name: 'Confirm the address' }).click()
    await page.getByText(`Sign in with ${email} from now on.`).waitFor()
    expect((await app.as(owner).get('/api/auth/me')).body.email).toBe(email)
    expect(complaints).toEqual([])
    const again = await open(linkTo(email))
    await again.page.getByRole('button', { name: 'Confirm the address' }).click()
    await again.page.getByText('This link is not valid any more').waitFor()
  })

  test('a password can be seen while it is typed', async () => {
    const { page } = await open((await invited()).link)
    const password = page.getByLabel('Choose a password')
    await password.fill('correct horse battery')
    await expect.poll(() => password.getAttribute('type')).toBe('password')
    await page.getByRole('button', { name: 'Show password' }).click()
    expect([await password.getAttribute('type'), await password.inputValue()]).toEqual(['text', 'correct horse battery'])
    await page.getByRole('button', { name: 'Hide password' }).click()
    await expect.poll(() => password.getAttribute('type')).toBe('password')
  })

  test.each(['/invite', '/reset', '/reset#', '/reset#half-a-token', '/invite#&email=ada@example.com'])(
    'the button of an incomplete link, %s, is disabled, and works once the link is complete',
    async (path) => {
      const { page } = await open(app.url + path)
      const button = page.getByRole('button', { name: /Accept|Set/ })
      await page.getByText('This link is incomplete. Open it again from the mail, or copy all of it.').waitFor()
      await expect.poll(() => button.isDisabled()).toBe(true)
      await expect.poll(() => page.getByLabel('password').isDisabled()).toBe(true)
      if (path === '/reset') await takePictures(page, 'reset-incomplete')
      // The same tab, which is not loaded again.
      await page.goto(`${app.url}${path.split('#')[0]}#${'a'.repeat(43)}`)
      await expect.poll(() => button.isDisabled()).toBe(false)
      await expect.poll(() => problem(page).count()).toBe(0)
    },
  )

  test('a link without an address shows none', async () => {
    const { token } = await invited()
    const { page } = await open(`${app.url}/invite#${token}`)
    await page.getByRole('heading', { name: 'Join Gridpost' }).waitFor()
    expect(await page.getByText('You were invited').isVisible()).toBe(false)
  })

  test('what the link says is text, whatever it is', async () => {
    const email = '<img src=x onerror=alert(1)>'
    const { page, complaints } = await open(linkToForm(app.url, '/reset', { token: 'a'.repeat(43), email }))
    await page.getByText(`For your account ${email}.`).waitFor()
    await expect.poll(() => page.locator('img').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('each wrong input is named beside its field', async () => {
    const { page } = await open((await invited()).link)
    const button = page.getByRole('button', { name: 'Accept the invitation' })
    await button.click()
    await expect
      .poll(() => problem(page).allInnerTexts())
      .toEqual(['Enter your name, as others should see it.', 'Choose a password with 10 characters or more.'])
    await expect.poll(() => page.locator('input[name=name]:focus').count()).toBe(1)
    await takePictures(page, 'invite-wrong')
    // Only the service refuses these.
    await page.getByLabel('Your name').fill('   ')
    await page.getByLabel('Choose a password').fill('correct horse battery')
    await button.click()
    await expect.poll(() => problem(page).allInnerTexts()).toEqual(['Must not be empty.'])
    await expect.poll(() => page.getByLabel('Your name').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Your name').fill('Ines')
    await expect.poll(() => problem(page).count()).toBe(0)
    await button.click()
    await page.getByText('You have joined').waitFor()
  })

  test('a service that cannot be reached takes nothing away', async () => {
    const { link } = await invited()
    const { page } = await open(link)
    await page.getByLabel('Your name').fill('Ines')
    await page.getByLabel('Choose a password').fill('correct horse battery')
    const button = page.getByRole('button', { name: 'Accept the invitation' })
    await page.route('**/api/auth/acceptInvite', (route) => route.abort())
    await button.click()
    await page.getByText('Gridpost cannot be reached at the moment.').waitFor()
    // A proxy answers for a service that is away.
    await page.unroute('**/api/auth/acceptInvite')
    await page.route('**/api/auth/acceptInvite', (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }))
    await button.click()
    await page.getByText('Gridpost cannot be reached at the moment.').waitFor()
    await page.unroute('**/api/auth/acceptInvite')
    await button.click()
    await page.getByText('You have joined').waitFor()
  })

  test('mails about notifications are stopped by a button, without a script', async () => {
    const { viewer } = await app.account()
    const { page, complaints } = await open(app.url + unsubscribePath(app.settings.secretKeys, viewer.id))
    await takePictures(page, 'unsubscribe')
    await page.getByRole('button', { name: 'Stop the mails' }).click()
    await page.getByText('You will get no more mails about notifications.').waitFor()
    await takePictures(page, 'unsubscribe-done')
    expect((await app.as(viewer).get('/api/auth/me')).body.mail_preference).toBe('none')
    await expect.poll(() => page.getByRole('link', { name: 'Go to Gridpost' }).getAttribute('href')).toBe('/')
    expect(complaints).toEqual([])
    const { page: wrong } = await open(`${app.url}/unsubscribe/x`)
    await wrong.getByText('This link is incomplete').waitFor()
  })
})
