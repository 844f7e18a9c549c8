/** The console in a real browser, with people who are signed in. Vitest builds it before, if it was changed (console-build.ts). */
import { readFileSync } from 'node:fs'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Person } from './accounts.ts'
import { type Watched, watchedPage } from './browser.ts'

const AXE = new URL('../../node_modules/axe-core/axe.min.js', import.meta.url)

/**
 * Gives the browser the session of the person, or takes every session away. A session takes the place of the one before, without a moment
 * in between in which an open page would ask for something without any and take its person for signed out.
 * @param url the service's
 */
export async function signInAs(context: BrowserContext, url: string, person: Pick<Person, 'session'> | null): Promise<void> {
  if (!person) return context.clearCookies()
  await context.addCookies([{ name: 'gridpost_session', value: person.session, url, httpOnly: true, sameSite: 'Lax' }])
}

/** Waits until the browser has seen that closed pages are gone, so that the next page takes over what they have left of drafts. */
export async function untilPagesAreGone(context: BrowserContext, url: string): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${url}/readyz`)
  const held = () => page.evaluate<string[]>('navigator.locks.query().then(({ held }) => held.map(({ name }) => name))')
  await expect.poll(async () => (await held()).filter((name) => name.startsWith('gridpost.draft'))).toEqual([])
  await page.close()
}

/**
 * Opens an address of the console in a page of its own, which is closed at the end of the test.
 * @param url the address of the service with the path, such as `${app.url}/table/4`
 */
export async function openConsole(context: BrowserContext, url: string): Promise<Watched> {
  const watched = await watchedPage(context)
  onTestFinished(() => end(watched.page))
  await watched.page.goto(url)
  return watched
}

/** Closes the page, and lets the next one have a network. Requests that the test has held until now fail with the page. */
async function end(page: Page): Promise<void> {
  await page.context().setOffline(false)
  if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.close()
}

/** Of the dark page what depends on colors is judged; the rest is as in the light one. */
const JUDGED = { light: {}, dark: { runOnly: ['color-contrast', 'link-in-text-block'] } }

/** Expects that axe finds nothing on the page, in light and dark. The policy refuses script elements, so it is evaluated. */
export async function expectAccessible(page: Page): Promise<void> {
  // A page that is being loaded has no heading yet.
  await page.locator('h1').first().waitFor({ state: 'attached' })
  await page.evaluate(readFileSync(AXE, 'utf8'))
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await page.evaluate(violations, JUDGED[colorScheme]), `${page.url()} (${colorScheme})`).toEqual([])
  }
}

async function violations(judged: object): Promise<string[]> {
  // biome-ignore lint/suspicious/noExplicitAny: axe puts itself into the page.
  const { violations: found } = await (globalThis as any).axe.run(judged)
  return found.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
