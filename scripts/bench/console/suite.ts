/**
 * The suite "console": what a person waits for in a browser on a table of a million records, and what the page costs its machine. It needs
 * Debian's Chromium, as the tests do. CPU time is that of the renderer's process, beside a page that was written by hand.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CDPSession, Page } from 'playwright-core'
import { SESSION_COOKIE, startSession } from '../../../src/auth/sessions.ts'
import { isBrowserMissing, openBrowser } from '../../../test/support/browser.ts'
import { ScriptError } from '../../runtime.ts'
import type { Bench, Suite } from '../case.ts'
import { barePage } from './bare-page.ts'
import { type Filled, fill } from './data.ts'
import { CLICK_TO_ROWS, COUNT, COUNTED, ELEMENTS, jump, NOTE_FIRST_ROWS, SCRIPTS, SPACE_TO_RECORD } from './in-page.ts'

const RECORDS = 1_000_000
/** Kilobytes of compressed script; milliseconds at p95; a ratio; elements; megabytes. */
const GOALS = { script: 220, firstRows: 300, jump: 400, panel: 100, record: 300, frame: 2, task: 50, elements: 3_000, heap: 80 }
const REPEATS = 20
const WHEEL_EVERY_MS = 16
const LONG_MINUTES = 10
const BARE_ROWS = 5_000

export const inConsole: Suite<Filled> = {
  defaults: { records: RECORDS, seconds: 8 },
  prepare: fill,
  cases: () => [],
  steps: {
    'first load': { run: (bench, filled) => inBrowser(bench, (page) => weighScripts(page, bench, filled)) },
    'first rows': { run: (bench, filled) => inBrowser(bench, (page) => timeFirstRows(page, bench, filled)) },
    jumps: { run: (bench, filled) => inBrowser(bench, (page) => timeJumps(page, bench, filled)) },
    scrolling: { run: (bench, filled) => inBrowser(bench, (page) => compareScrolling(page, bench, filled)) },
    'a record': { run: (bench, filled) => inBrowser(bench, (page) => timeRecord(page, bench, filled)) },
    'a timeline': { run: (bench, filled) => inBrowser(bench, (page) => scrollTimeline(page, bench, filled)) },
    'ten minutes': { run: (bench, filled) => inBrowser(bench, (page) => growth(page, bench, filled)) },
  },
}

/** Opens a browser with the session of the account's owner. */
async function inBrowser({ db, url, account }: Bench, measure: (page: Page) => Promise<void>): Promise<void> {
  if (isBrowserMissing) throw new ScriptError('The suite console needs a browser: Debian’s chromium-headless-shell, or CHROMIUM_PATH')
  const { context } = await openBrowser()
  try {
    const value = await startSession({ db, settings: { keepSessionsDays: 1 } }, account.ownerId, new Date())
    await context.addCookies([{ name: SESSION_COOKIE, value, url, httpOnly: true, sameSite: 'Lax' }])
    await measure(await context.newPage())
  } finally {
    // A browser that stays would keep the bench from ending.
    await context.browser()?.close()
  }
}

const tableUrl = (url: string, tableId: number) => `${url}/table/${tableId}`

async function openTable(page: Page, url: string, tableId: number): Promise<void> {
  await page.goto(tableUrl(url, tableId))
  await page.getByRole('gridcell', { name: 'Deal 1', exact: true }).waitFor()
}

async function weighScripts(page: Page, { url }: Bench, { largeTableId }: Filled): Promise<void> {
  await page.addInitScript(NOTE_FIRST_ROWS)
  await openTable(page, url, largeTableId)
  const scripts = (await page.evaluate(SCRIPTS)) as string[]
  let bytes = 0
  for (const script of scripts) bytes += await gzipLength(script)
  report('first load', `${(bytes / 1_000).toFixed(0)} kB of gzip in ${scripts.length} scripts`, bytes / 1_000, GOALS.script)
}

/** Small files are not compressed. */
async function gzipLength(script: string): Promise<number> {
  const answer = await fetch(script, { headers: { 'accept-encoding': 'gzip' } })
  const { byteLength } = await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`${script} is answered with ${answer.status}`)
  return answer.headers.has('content-encoding') ? Number(answer.headers.get('content-length')) : byteLength
}

/** Each time in a page that was loaded anew, so that nothing of the large table is in its memory. */
async function timeFirstRows(page: Page, { url }: Bench, { smallTableId, largeTableId }: Filled): Promise<void> {
  const times: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    await openTable(page, url, smallTableId)
    const link = page.getByRole('link', { name: 'Large' }).first()
    await link.waitFor()
    const shown = page.evaluate(CLICK_TO_ROWS)
    await link.click()
    times.push((await shown) as number)
    if (!page.url().endsWith(`/table/${largeTableId}`)) throw new Error(`The click led to ${page.url()}`)
  }
  reportTimes('first rows after the click', times.slice(1), GOALS.firstRows)
}

async function timeJumps(page: Page, { url }: Bench, { largeTableId }: Filled): Promise<void> {
  await openTable(page, url, largeTableId)
  await sleep(2_000)
  const times: number[] = []
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    times.push((await page.evaluate(jump(((repeat * 37) % 100) / 100 + 0.005))) as number)
    await sleep(500)
  }
  reportTimes('a jump into the middle', times.slice(1), GOALS.jump)
}

/** Opens the first record of the small table, again and again. The parts of the panel are loaded once, as a person's page does while idle. */
async function timeRecord(page: Page, { url }: Bench, { smallTableId }: Filled): Promise<void> {
  const [opened, whole]: [number[], number[]] = [[], []]
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    await openTable(page, url, smallTableId)
    await page.getByRole('gridcell', { name: 'Deal 1', exact: true }).click()
    await sleep(1_000)
    await page.evaluate(`globalThis.shown = ${SPACE_TO_RECORD}; undefined`)
    await page.keyboard.press('Space')
    const times = (await page.evaluate('shown')) as { opened: number; whole: number }
    opened.push(times.opened)
    whole.push(times.whole)
  }
  reportTimes('the panel of a record after the key', opened.slice(1), GOALS.panel)
  reportTimes('the whole record', whole.slice(1), GOALS.record)
}

/** Scrolls through a timeline of thousands of entries. */
async function scrollTimeline(page: Page, { url }: Bench, { smallTableId, longRecordId }: Filled): Promise<void> {
  await page.goto(`${tableUrl(url, smallTableId)}/record/${longRecordId}`)
  await page.getByRole('article').first().waitFor()
  const { msPerFrame, longest, long } = await scrolled(page, 2 * SCROLL_MS)
  console.log(`  a frame of the timeline: ${msPerFrame.toFixed(2)} ms of CPU; ${long} long tasks`)
  report('the longest task of the timeline', `${longest.toFixed(0)} ms`, longest, GOALS.task)
  const elements = (await page.evaluate(ELEMENTS)) as number
  report('elements of the timeline', String(elements), elements, GOALS.elements)
}

/** Scrolls the grid and the bare page in turn. */
async function compareScrolling(page: Page, bench: Bench, { largeTableId }: Filled): Promise<void> {
  const rows = (await bench.key('POST', `/api/table/${largeTableId}/records/query`, { limit: 1_000 })) as Record<string, unknown>[]
  const texts = Array.from({ length: BARE_ROWS }, (_, index) => Object.values(rows[index % rows.length] ?? {}).map(String))
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(barePage(texts)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bareUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  try {
    const ratios: number[] = []
    for (let round = 0; round < 3; round++) {
      await page.goto(bareUrl)
      const bare = await scrolled(page)
      await openTable(page, bench.url, largeTableId)
      const ours = await scrolled(page)
      ratios.push(ours.msPerFrame / bare.msPerFrame)
      console.log(`  a frame: ${ours.msPerFrame.toFixed(2)} ms of CPU, bare ${bare.msPerFrame.toFixed(2)}; ${ours.long} long tasks`)
      if (round === 2) report('the longest task', `${ours.longest.toFixed(0)} ms`, ours.longest, GOALS.task)
    }
    const median = ratios.sort((a, b) => a - b)[1] ?? Number.NaN
    report('CPU time of a frame', `${median.toFixed(2)} times that of a bare page`, median, GOALS.frame)
    const elements = (await page.evaluate(ELEMENTS)) as number
    report('elements', String(elements), elements, GOALS.elements)
  } finally {
    server.close()
  }
}

const SCROLL_MS = 8_000

async function scrolled(page: Page, forMs = SCROLL_MS): Promise<{ msPerFrame: number; longest: number; long: number }> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await page.mouse.move(800, 500)
  await sleep(1_500)
  await page.evaluate(COUNT)
  const before = await metric(session, 'ProcessTime')
  const until = performance.now() + forMs
  let down = 0
  while (performance.now() < until) {
    await page.mouse.wheel(0, down++ % 200 < 150 ? 120 : -120)
    await sleep(WHEEL_EVERY_MS)
  }
  const cpuMs = ((await metric(session, 'ProcessTime')) - before) * 1_000
  const { frames, longest, long } = (await page.evaluate(COUNTED)) as { frames: number; longest: number; long: number }
  await session.detach()
  return { msPerFrame: cpuMs / frames, longest, long }
}

async function metric(session: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN
}

async function heapMegabytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  await session.send('HeapProfiler.collectGarbage')
  const used = await metric(session, 'JSHeapUsedSize')
  await session.detach()
  return used / 1e6
}

/** Scrolls and jumps for ten minutes. */
async function growth(page: Page, { url }: Bench, { largeTableId }: Filled): Promise<void> {
  await openTable(page, url, largeTableId)
  // Until the records are counted, the bar is as long as those that were read.
  await page.locator('[role=grid]:not([aria-rowcount="-1"])').waitFor()
  const heaps: number[] = []
  for (let minute = 0; minute <= LONG_MINUTES; minute++) {
    for (let turn = 0; turn < 6; turn++) {
      await page.evaluate(jump(((minute * 6 + turn) % 67) / 67 + 0.005))
      await scrolled(page, SCROLL_MS)
    }
    heaps.push(await heapMegabytes(page))
  }
  console.log(`  heap by minute: ${heaps.map((heap) => heap.toFixed(1)).join(', ')} MB`)
  report('heap after ten minutes', `${heaps.at(-1)?.toFixed(1)} MB`, heaps.at(-1) ?? Number.NaN, GOALS.heap)
  const [early = Number.NaN, late = Number.NaN] = [heaps[2], heaps.at(-1)]
  report('growth of the heap from the second to the tenth minute', `${(late / early).toFixed(2)} times`, late / early, 1.2)
}

function reportTimes(what: string, times: number[], goal: number): void {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
  report(what, `p50 ${at(0.5).toFixed(0)} ms, p95 ${at(0.95).toFixed(0)} ms`, at(0.95), goal)
}

function report(what: string, text: string, value: number, goal: number): void {
  console.log(`${what}: ${text} (goal: ${goal} at most)${value <= goal ? '' : ' MISSED'}`)
}
