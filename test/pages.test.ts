/** Opens the pages in a real browser, because only a browser applies their security policy to their assets and the document. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mailReset } from '../src/auth/password-reset.ts'
import { createInvite } from '../src/auth/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { apiDocument } from '../src/router.ts'
import { testApp } from './support/app.ts'

const CHROMIUM = process.env.CHROMIUM_PATH || '/usr/bin/chromium'
// A developer's machine may lack the browser; CI must have it (.ci/run installs it).
const isMissing = !existsSync(CHROMIUM) && process.env.CI !== 'true'
/** The sandbox cannot start as root; the other flags keep the browser from calling home. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const NO_CALLS_HOME = ['--disable-component-update', '--disable-sync']

if (isMissing) console.warn(`Skipped: no browser at ${CHROMIUM}. Install Debian's chromium, or name another with CHROMIUM_PATH.`)

const title = isMissing ? `the pages (skipped: no browser at ${CHROMIUM})` : 'the pages'
describe.skipIf(isMissing)(title, { timeout: 60_000 }, async () => {
  const app = await testApp()
  let profile: string
  let browser: BrowserContext

  beforeAll(async () => {
    profile = await mkdtemp(join(tmpdir(), 'gridpost-browser-'))
    browser = await chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM,
      args: [...FLAGS, ...NO_CALLS_HOME],
      viewport: { width: 1280, height: 1000 },
    })
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    await rm(profile, { recursive: true, force: true })
  })

  /** Opens the page, and records the errors and the requests of the browser. */
  async function open() {
    const page = await browser.newPage()
    const complaints: string[] = []
    const asked: string[] = []
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`)
    })
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) asked.push(request.url())
    })
    await page.goto(`${app.url}/docs`)
    await page.locator('.opblock-tag').first().waitFor()
    return { page, complaints, asked }
  }

  test('shows every operation of the document, sends no request elsewhere, and causes no error', async () => {
    const { page, complaints, asked } = await open()
    const { paths } = (await apiDocument()) as { paths: Record<string, Record<string, { tags?: string[] }>> }
    const operations = Object.values(paths).flatMap((path) => Object.values(path))
    const tags = new Set(operations.flatMap((operation) => operation.tags ?? []))
    expect(await page.locator('.opblock-tag').count()).toBe(tags.size)
    // Swagger UI 5.35 shows only the last group once more than 134 operations are open at the same time, so each group is closed again.
    for (const tag of tags) {
      const heading = page.locator(`.opblock-tag[data-tag="${tag}"]`)
      await heading.click()
      await expect.poll(() => page.locator('.opblock').count()).toBe(operations.filter((operation) => operation.tags?.[0] === tag).length)
      await heading.click()
      await expect.poll(() => page.locator('.opblock').count()).toBe(0)
    }
    await page.locator('.opblock-tag[data-tag="Records"]').click()
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, 'docs.png'), fullPage: true })
    expect(asked.filter((url) => !url.startsWith(`${app.url}/`))).toEqual([])
    expect(complaints).toEqual([])
    await page.close()
  })

  test('calls an operation with a key', async () => {
    const { page, complaints } = await open()
    const { keys } = await app.account()
    await page.locator('.btn.authorize').click()
    // The second one is for the token of /metrics.
    await page.getByLabel('auth-bearer-value').first().fill(keys.account)
    await page.locator('.modal-ux .btn.authorize').first().click()
    await page.locator('.btn-done').first().click()
    await page.locator('.opblock-tag[data-tag="Keys"]').click()
    const operation = page.locator('.opblock', { hasText: '/api/key/self' })
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('.execute').click()
    const answer = operation.locator('.live-responses-table .highlight-code').first()
    await answer.waitFor()
    expect(await operation.locator('.live-responses-table tbody td.response-col_status').first().innerText()).toContain('200')
    expect(await answer.innerText()).toContain('"kind": "account"')
    if (process.env.SCREENSHOTS) await operation.screenshot({ path: join(process.env.SCREENSHOTS, 'operation.png') })
    expect(complaints).toEqual([])
    await page.close()
  })

  test('lets an invited user in, through the link of the mail', async () => {
    const { space, admin } = await app.account()
    const email = `invited.${Date.now()}@example.com`
    const { user_id } = await app.as(admin).rpc.spaces.addMember.mutate({ space_id: space, email, role: 'viewer' })
    const token = await createInvite(app.db, user_id, new Date())
    const page = await browser.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(`${app.url}/invite#${token}`)
    await page.getByLabel('Your name').fill('Ines Invited')
    await page.getByLabel('A password').fill('correct horse battery')
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, 'invite.png') })
    await page.getByRole('button').click()
    await page.getByText(`Welcome, Ines Invited. You are signed in as ${email}.`).waitFor()
    expect(await page.evaluate('fetch("/api/auth/me").then((answer) => answer.json())')).toMatchObject({ id: user_id, email })
    expect(complaints).toEqual([])
  })

  test('sets a new password, through the link of the mail', async () => {
    const { owner } = await app.account({ withPassword: true })
    await mailReset(systemContext(app.deps), { email: owner.email, ip: '127.0.0.1' })
    const link = /http\S+/.exec(app.letters.find(({ to }) => to === owner.email)?.text ?? '')?.[0] ?? ''
    const page = await browser.newPage()
    await page.goto(link)
    await page.getByLabel('password').fill('staple battery horse')
    if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, 'reset.png') })
    await page.getByRole('button').click()
    await page.getByText('Your new password is set.').waitFor()
    const signIn = { email: owner.email, password: 'staple battery horse' }
    expect((await app.as(null).post('/api/auth/login', signIn)).status).toBe(200)
    await page.goto('about:blank')
    await page.goto(link)
    await page.getByLabel('password').fill('staple battery horse')
    await page.getByRole('button').click()
    await page.getByText('This link is not valid any more').waitFor()
    await page.goto(`${app.url}/forgot`)
    await page.getByLabel('address').fill(owner.email)
    await page.getByRole('button').click()
    await page.getByText('a mail with a link is on its way').waitFor()
    await page.close()
  })
})
