/** A real browser for tests of pages. It is Debian's chromium without windows, the one with them, or the one that CHROMIUM_PATH names. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'

/** The one without windows runs the same pages, but no pages of its own beside them. */
const WITHOUT_WINDOWS = '/usr/bin/chromium-headless-shell'
const CHROMIUM = process.env.CHROMIUM_PATH || (existsSync(WITHOUT_WINDOWS) ? WITHOUT_WINDOWS : '/usr/bin/chromium')
/** A developer's machine may lack the browser; CI must have it (.ci/run installs it). */
export const isBrowserMissing = !existsSync(CHROMIUM) && process.env.CI !== 'true'
/** The sandbox cannot start as root; the other flags keep the browser from calling home. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
const NO_CALLS_HOME = ['--disable-component-update', '--disable-sync']

if (isBrowserMissing)
  console.warn(`Skipped: no browser at ${CHROMIUM}. Install Debian's chromium-headless-shell, or name another with CHROMIUM_PATH.`)

/** The title of a suite, which says why it is skipped. */
export const browserTitle = (title: string) => (isBrowserMissing ? `${title} (skipped: no browser at ${CHROMIUM})` : title)

export interface Browser {
  context: BrowserContext
  close(): Promise<void>
}

/** A step takes so long only if what it waits for never comes. */
const PATIENCE_MS = 60_000

/** One browser serves the files of a process one after the other, because its start costs more than a short test. */
let running: ReturnType<typeof launch> | undefined

async function launch() {
  try {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...NO_CALLS_HOME], timeout: PATIENCE_MS })
    return browser.on('disconnected', forget)
  } catch (error) {
    forget()
    throw error
  }
}

const forget = () => {
  running = undefined
}

/**
 * Opens what a person has as a browser: it shares no cookie, storage, lock or channel with others.
 * @param timezone an IANA zone; that of the machine without it
 */
export async function openBrowser({ timezone }: { timezone?: string } = {}): Promise<Browser> {
  running ??= launch()
  const context = await (await running).newContext({
    viewport: { width: 1280, height: 1000 },
    // Nothing is waited for that only moves.
    reducedMotion: 'reduce',
    ...(timezone && { timezoneId: timezone }),
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return {
    context,
    async close() {
      await context.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    },
  }
}

export interface Watched {
  page: Page
  /** Errors and warnings of the browser, requests that failed, and answers that are errors. */
  complaints: string[]
  /** The addresses that the page asked for. */
  asked: string[]
}

/** Opens a new page that records what goes wrong and what it asks for. A request that the page itself gives up is nothing wrong. */
export async function watchedPage(context: BrowserContext): Promise<Watched> {
  const page = await context.newPage()
  const complaints: string[] = []
  const asked: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText
    // So end a stream when the page follows other tables, a search for what was typed before, and all requests of a page that is left.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url())) asked.push(request.url())
  })
  return { page, complaints, asked }
}

/** Keeps pictures of the page, wide and narrow, in the folder SCREENSHOTS, if it is set. */
export async function takePictures(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  const before = page.viewportSize()
  for (const [size, width] of Object.entries({ wide: 1280, narrow: 390 })) {
    await page.setViewportSize({ width, height: 900 })
    await page.screenshot({ path: join(folder, `${name}-${size}.png`) })
  }
  if (before) await page.setViewportSize(before)
}
