/** Opens /docs in a real browser, as somebody does who sees the service for the first time. */
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { keepLogin } from '../src/demo/login.ts'
import { apiDocument } from '../src/router.ts'
import { testApp } from './support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, watchedPage } from './support/browser.ts'

interface ApiPaths {
  paths: Record<string, Record<string, { operationId: string; summary: string; tags: string[] }>>
}

describe.skipIf(isBrowserMissing)(browserTitle('/docs in a browser'), async () => {
  const app = await testApp()
  const account = await app.account({ withPassword: true })
  const demo = await app.account()
  // The service of the embedded default, with a demo account.
  const local = await buildApp({ ...app.deps, settings: { ...app.settings, databaseUrl: undefined } })
  await local.listen({ port: 0, host: '127.0.0.1' })
  const localUrl = `http://127.0.0.1:${(local.server.address() as AddressInfo).port}`
  const person = ({ name, email }: { name: string; email: string }) => ({ name, email, password: '' })
  keepLogin(app.settings.dataDir, {
    account_id: demo.id,
    space_id: demo.space,
    owner: person(demo.owner),
    member: person(demo.member),
    viewer: person(demo.viewer),
    keys: { account: '', personal: '' },
  })
  const { paths } = (await apiDocument()) as ApiPaths
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))

  let opened: Browser
  beforeAll(async () => {
    opened = await openBrowser()
  })
  afterAll(async () => {
    await opened?.close()
    await local.close()
  })

  async function visit(path: string, url = app.url) {
    // Browsers share cookies between the ports of a host.
    await opened.context.clearCookies()
    const watched = await watchedPage(opened.context)
    await watched.page.goto(`${url}${path}`)
    return watched
  }
  const picture = async (page: Page, name: string) => {
    if (!process.env.SCREENSHOTS) return
    for (const [form, width] of [
      ['wide', 1280],
      ['narrow', 390],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}-${form}.png`) })
    }
    await page.setViewportSize({ width: 1280, height: 1000 })
  }
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name })

  test('one click gives a demo key, which the samples have and the first call uses', async () => {
    const { page, complaints, asked } = await visit('/docs', localUrl)
    await page.getByRole('button', { name: 'Get a demo key' }).click()
    await expect.poll(() => page.getByLabel(/^Your key/).inputValue()).toMatch(/^gp_acct_/)
    const key = await page.getByLabel(/^Your key/).inputValue()
    await page.getByText(`You are signed in as ${demo.owner.name} (${demo.owner.email})`).waitFor()
    for (const [language, line] of [
      ['curl', `curl ${localUrl}/api/spaces/list`],
      ['TypeScript', `createClient({ baseUrl: '${localUrl}'`],
      ['Python', `gridpost.get("${localUrl}/api/spaces/list")`],
    ] as const) {
      await page.getByRole('tab', { name: language }).first().click()
      const sample = page.getByRole('tabpanel', { name: language }).first()
      await expect.poll(() => sample.innerText()).toContain(line)
      await expect.poll(() => sample.innerText()).toContain(`GRIDPOST_KEY=${key}`)
    }
    await picture(page, 'docs')
    await page.getByRole('button', { name: 'Run it here' }).click()
    await page.getByRole('status').getByText(`"id": ${demo.space},`).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: `${demo.member.name} (member)` }).click()
    await page.getByText(`You are signed in as ${demo.member.name}`).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out').waitFor()
    expect([complaints, asked.filter((url) => !url.startsWith(`${localUrl}/`))]).toEqual([[], []])
    await page.close()
  })

  test('elsewhere one signs in with a password and makes a key; a wrong password is said', async () => {
    const { page, complaints } = await visit('/docs/')
    await page.getByLabel('Email address').fill(account.owner.email)
    await expect.poll(() => page.getByRole('button', { name: 'Get a demo key' }).count()).toBe(0)
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Wrong email or password').waitFor()
    await page.getByLabel('Password').fill(account.owner.password ?? '')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText(`You are signed in as ${account.owner.name}`).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Create a personal key' }).click()
    await expect.poll(() => page.getByLabel(/^Your key/).inputValue()).toMatch(/^gp_user_/)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Email address').waitFor()
    // The browser writes the refused sign-in into its console, and nothing else.
    expect(complaints.filter((line) => !line.includes('401'))).toEqual([])
    await page.close()
  })

  test('the keyboard changes the language, leads to the search and past the header', async () => {
    const { page } = await visit('/docs')
    await page.keyboard.press('Tab')
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
    await page.getByRole('tab', { name: 'curl' }).first().click()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.getByRole('tab', { name: 'TypeScript', selected: true }).count()).toBe(2)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.getByRole('tab', { name: 'curl', selected: true }).count()).toBe(2)
    await page.keyboard.press('/')
    await page.keyboard.type('csv import')
    await page.keyboard.press('Enter')
    await heading(page, 'Search for “csv import”').waitFor()
    await page.getByRole('link', { name: 'Import', exact: true }).first().click()
    await page.getByRole('heading', { name: /^Import/, level: 2 }).waitFor()
    await page.close()
  })

  test('lists every operation by area, each with its place in the reference', async () => {
    const { page } = await visit('/docs')
    const links = page.locator('a[href*="/reference#tag/"], a[href*="reference#tag/"]')
    const anchors = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))
    for (const { operationId, tags } of operations) expect(anchors).toContain(`docs/reference#tag/${tags[0]?.toLowerCase()}/${operationId}`)
    await page.getByText('Tasks on records or by themselves').click()
    await page.getByRole('link', { name: 'Mark a task as done' }).click()
    await heading(page, 'Mark a task as done').waitFor()
    await page.close()
  })

  test('the reference shows all areas and samples, asks nobody else and breaks no policy', async () => {
    const { page, complaints, asked } = await visit('/docs/reference#tag/records/records.query')
    await heading(page, 'Query records').waitFor()
    await page.getByText(`curl ${app.url}/api/table/4/records/query`).waitFor()
    for (const area of new Set(operations.map(({ tags }) => tags[0] ?? '')))
      await page.getByRole('button', { name: new RegExp(`^(Open|Close) Group - ${area}$`) }).waitFor()
    await page.getByRole('button', { name: 'Change code sample language: curl' }).first().click()
    await page.getByRole('option', { name: 'TypeScript' }).first().click()
    await page.getByText('await client.records.query.query({').first().waitFor()
    await picture(page, 'reference')
    expect([complaints, asked.filter((url) => !url.startsWith(`${app.url}/`))]).toEqual([[], []])
    await page.close()
  })

  /** Sends GET /api/spaces/list from the reference. @returns the ids of the spaces that are answered */
  async function trySpaces(page: Page): Promise<number[]> {
    await heading(page, 'List spaces').waitFor()
    await page.getByRole('button', { name: /Test Request\s*\(get \/api\/spaces\/list\)/ }).click()
    // Scalar writes out the parameters that have a default.
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/api/spaces/list')
    await page.getByRole('button', { name: /^Send/ }).last().click()
    const spaces = (await (await answered).json()) as { id: number }[]
    return spaces.map(({ id }) => id)
  }

  test('the reference sends a request with the session of the browser', async () => {
    const { page, complaints } = await visit('/docs')
    await opened.context.addCookies([{ name: 'gridpost_session', value: account.owner.session, url: app.url }])
    // A request that leaving the page ends would be a complaint.
    await page.waitForLoadState('networkidle')
    await page.goto(`${app.url}/docs/reference#tag/spaces/spaces.list`)
    expect(await trySpaces(page)).toContain(account.space)
    // Scalar warns of cookies, which it cannot set itself.
    expect(complaints.filter((line) => !line.includes('Cookie header'))).toEqual([])
    await page.close()
  })

  test('the reference sends a request with a key', async () => {
    const { page, complaints } = await visit('/docs/reference#tag/spaces/spaces.list')
    const token = page.getByRole('textbox', { name: 'Bearer Token' }).first()
    await heading(page, 'List spaces').waitFor()
    await token.fill(account.keys.account)
    await expect.poll(() => token.inputValue()).toBe(account.keys.account)
    expect(await trySpaces(page)).toContain(account.space)
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a page of the documentation is readable in light and dark, and its code can be copied', async () => {
    const { page, complaints, asked } = await visit('/docs/pages/csv')
    await heading(page, 'CSV').first().waitFor()
    await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Export' }).click()
    await expect.poll(() => page.url()).toMatch(/#export$/)
    await opened.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.url })
    // The button says it for a moment only.
    await page.clock.install()
    await page.clock.pauseAt(new Date(Date.now() + 60_000))
    await page.getByRole('button', { name: 'Copy' }).first().click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain('/api/table/4/export.csv')
    const colours = async (colorScheme: 'light' | 'dark') => {
      await page.emulateMedia({ colorScheme })
      return page.evaluate('getComputedStyle(document.body).backgroundColor')
    }
    expect(await colours('dark')).not.toBe(await colours('light'))
    await picture(page, 'page')
    expect([complaints, asked.filter((url) => !url.startsWith(`${app.url}/`))]).toEqual([[], []])
    await page.close()
  })

  test.each(['/docs', '/docs/pages', '/docs/pages/limits', '/docs/search?q=csv', '/docs/reference'])(
    '%s fits a narrow screen',
    async (path) => {
      const { page } = await visit('/docs')
      await page.setViewportSize({ width: 390, height: 800 })
      await page.goto(app.url + path)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      await page.close()
    },
  )

  describe('behind a proxy with a path', () => {
    let proxy: Server
    beforeAll(async () => {
      proxy = createServer((incoming, outgoing) => {
        if (!incoming.url?.startsWith('/gridpost/')) return void outgoing.writeHead(418).end()
        const { method, headers, url } = incoming
        const passed = httpRequest(app.url + url.slice('/gridpost'.length), { method, headers }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(outgoing)
        })
        incoming.pipe(passed)
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    })
    afterAll(() => void proxy?.close())

    test.each(['/docs', '/docs/', '/docs/reference', '/docs/pages/decisions/0001-typed-tables', '/docs/pages/csv/', '/docs/reference/'])(
      '%s finds its parts',
      async (path) => {
        const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/gridpost`
        const { page, complaints, asked } = await visit(path, base)
        await page.getByRole('heading', { level: 1 }).first().waitFor()
        await page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Start' }).click()
        await heading(page, 'Make the first call').waitFor()
        await page.getByText(`curl ${base}/api/spaces/list`).waitFor()
        await page.getByText(`export GRIDPOST_KEY`).first().waitFor()
        expect([complaints, asked.filter((url) => !url.startsWith(`${base}/`))]).toEqual([[], []])
        await page.close()
      },
    )
  })
})
