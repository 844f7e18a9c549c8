/** What others change appears in an open grid, over one stream a browser. */
import type { BrowserContext, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import { type Person, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser } from '../support/browser.ts'
import { openConsole, signInAs } from '../support/console.ts'

const app = await testApp()

const cell = (page: Page, name: string) => page.getByRole('gridcell', { name, exact: true })

describe.skipIf(isBrowserMissing)(browserTitle('live tables in a browser'), () => {
  let first: Browser
  let second: Browser
  beforeAll(async () => {
    ;[first, second] = await Promise.all([openBrowser(), openBrowser()])
  })
  afterAll(async () => {
    await first?.close()
    await second?.close()
  })

  async function tableOf(owner: Person, space: number, count = 3) {
    const { rpc } = app.as(owner)
    const { id } = await rpc.tables.create.mutate({
      space_id: space,
      name: `Deals ${Math.random()}`,
      fields: [{ id: 'name', name: 'Name', type: 'text' }],
    })
    const records = Array.from({ length: count }, (_, index) => ({ data: { name: `Deal ${index + 1}` } }))
    await rpc.records.createBatch.mutate({ table_id: id, records })
    return { id, rpc }
  }

  async function open(context: BrowserContext, tableId: number): Promise<Page> {
    const { page } = await openConsole(context, `${app.url}/table/${tableId}`)
    await cell(page, 'Deal 1').waitFor()
    return page
  }

  /** The streams that pages of the browser have open, by their addresses. */
  function streamsOf(context: BrowserContext) {
    const streams = new Set<Request>()
    context.on('request', (request) => {
      if (request.url().includes('/trpc/events?')) streams.add(request)
    })
    context.on('requestfinished', (request) => streams.delete(request))
    context.on('requestfailed', (request) => streams.delete(request))
    return () => [...streams].filter((request) => !request.frame().page().isClosed()).map((request) => decodeURIComponent(request.url()))
  }

  /**
   * Waits until the page hears what others change, by a record that is created. Where its stream begins, all is read anew, which ends
   * before.
   */
  async function untilHearing(page: Page, { id, rpc }: Awaited<ReturnType<typeof tableOf>>): Promise<void> {
    const reading = new Set<Request>()
    page.on('request', (request) => void (request.url().includes('records.query') && reading.add(request)))
    page.on('requestfinished', (request) => void reading.delete(request))
    page.on('requestfailed', (request) => void reading.delete(request))
    await cell(page, 'Deal 1').waitFor()
    await rpc.records.create.mutate({ table_id: id, data: { name: 'Deal of another' } })
    await cell(page, 'Deal of another').waitFor()
    // What is to be read once more is asked for in the next turn.
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))')
    await expect.poll(() => reading.size).toBe(0)
  }

  /** Where the rows are scrolled to, and what has the focus. */
  const place = (page: Page) =>
    page.getByRole('grid').evaluate((grid) => {
      const top = (grid.parentElement as unknown as { scrollTop: number }).scrollTop
      return { top, focus: grid.ownerDocument.activeElement?.textContent ?? null }
    })

  test('an edit, a new record, a deletion and a new name of the table by one person appear for another', async () => {
    const { owner, member, space } = await app.account()
    const table = await tableOf(owner, space)
    await signInAs(first.context, app.url, owner)
    await signInAs(second.context, app.url, member)
    const streams = streamsOf(second.context)
    const own = await open(first.context, table.id)
    const other = await open(second.context, table.id)
    await expect.poll(() => streams().length).toBe(1)

    await cell(own, 'Deal 2').click()
    await own.keyboard.type('Deal two')
    await own.keyboard.press('Enter')
    await cell(other, 'Deal two').waitFor()
    await table.rpc.records.create.mutate({ table_id: table.id, data: { name: 'Deal 4' } })
    await cell(other, 'Deal 4').waitFor()
    await cell(own, 'Deal 4').waitFor()
    await table.rpc.records.delete.mutate({ table_id: table.id, record_id: 3 })
    await cell(other, 'Deal 3').waitFor({ state: 'detached' })
    await table.rpc.tables.update.mutate({ table_id: table.id, name: 'Bargains' })
    await expect.poll(() => other.title()).toContain('Bargains')
    await expect.poll(streams).toHaveLength(1)
  })

  test('a record that another person takes out of the view stays, greyed, until one moves on', async () => {
    const { owner, member, space } = await app.account()
    const table = await tableOf(owner, space)
    const filters = [{ column: 'name', compare: 'contains', value: 'Deal' }]
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'Deals', type: 'grid', filters } as never)
    await signInAs(second.context, app.url, member)
    const { page } = await openConsole(second.context, `${app.url}/table/${table.id}/view/${view.id}`)
    await untilHearing(page, table)
    await cell(page, 'Deal 1').click()
    await table.rpc.records.update.mutate({ table_id: table.id, record_id: 2, data: { name: 'Nothing' } })
    const row = page.getByRole('row').filter({ hasText: 'Nothing' })
    await expect.poll(() => row.getAttribute('title')).toBe('No longer in this view')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => row.count()).toBe(1)
    await page.keyboard.press('ArrowDown')
    await row.waitFor({ state: 'detached' })
    await cell(page, 'Deal 3').waitFor()
  })

  test('eight tabs share one stream, and go on when the one that has it is closed, and when the next one crashes', async () => {
    const { owner, space } = await app.account()
    const [table, another] = [await tableOf(owner, space), await tableOf(owner, space)]
    await signInAs(first.context, app.url, owner)
    const streams = streamsOf(first.context)
    const one = await open(first.context, table.id)
    await expect.poll(() => streams().length).toBe(1)
    const two = await open(first.context, table.id)
    const rest = await Promise.all([1, 2, 3, 4, 5].map(() => open(first.context, table.id)))
    const last = await open(first.context, another.id)
    const rename = (of: typeof table, name: string) => of.rpc.records.update.mutate({ table_id: of.id, record_id: 2, data: { name } })
    const appears = async (name: string, pages: Page[]) => {
      await rename(table, name)
      await rename(another, name)
      for (const page of pages) await cell(page, name).waitFor()
    }
    await appears('Deal two', [one, two, ...rest, last])
    await expect.poll(streams).toHaveLength(1)
    await one.close()
    await appears('Deal of two', [two, ...rest, last])
    await expect.poll(streams).toHaveLength(1)
    const inTwo = await first.context.newCDPSession(two)
    const crashed = two.waitForEvent('crash')
    inTwo.send('Page.crash').catch(() => undefined)
    await crashed
    await appears('Deal after all', [...rest, last])
  })

  test('a column that is added, renamed or arranged by others leaves the place, the focus and what is typed as they are', async () => {
    const { owner, member, space } = await app.account()
    const table = await tableOf(owner, space, 400)
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'All', type: 'grid' })
    await signInAs(first.context, app.url, member)
    const { page } = await openConsole(first.context, `${app.url}/table/${table.id}/view/${view.id}`)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('PageDown')
    await page.keyboard.press('PageDown')
    await page.keyboard.type('Half an ed')
    const before = await place(page)
    expect(before.top).toBeGreaterThan(0)
    const at = { table_id: table.id }
    await table.rpc.fields.create.mutate({ ...at, name: 'Amount', type: 'number' })
    await page.getByRole('columnheader', { name: 'Amount' }).waitFor()
    await table.rpc.fields.update.mutate({ ...at, field_id: 'name', name: 'Title' })
    await page.getByRole('columnheader', { name: 'Title' }).waitFor()
    await table.rpc.views.update.mutate({ ...at, view_id: view.id, config: { columns: ['amount', 'name'], widths: { amount: 260 } } })
    await expect.poll(async () => (await page.getByRole('columnheader', { name: 'Amount' }).boundingBox())?.width).toBe(260)
    await expect.poll(() => place(page)).toEqual(before)
    await page.keyboard.type('it')
    await page.keyboard.press('Enter')
    await cell(page, 'Half an edit').waitFor()
  })

  test('what a person arranges in one tab is arranged in their other tabs', async () => {
    const { admin, space } = await app.account()
    const table = await tableOf(admin, space)
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'All', type: 'grid', order_by: 'name' })
    await signInAs(first.context, app.url, admin)
    const path = `${app.url}/table/${table.id}/view/${view.id}`
    const [{ page: one }, { page: two }] = [await openConsole(first.context, path), await openConsole(first.context, path)]
    const heading = (page: Page) => page.getByRole('columnheader', { name: 'Name' })
    await heading(two).waitFor()
    const width = (await heading(two).boundingBox())?.width
    await one.bringToFront()
    await heading(one).locator('.grid-resizer').hover()
    await one.mouse.down()
    await one.mouse.move(500, 200)
    await one.mouse.up()
    await expect.poll(async () => (await heading(two).boundingBox())?.width).not.toBe(width)
    await expect.poll(async () => (await heading(two).boundingBox())?.width).toBe((await heading(one).boundingBox())?.width)
  })

  test('rights that change, and a table that is deleted, show in open grids, and the tables that are left are told of', async () => {
    const { owner, member, space } = await app.account()
    const [table, another] = [await tableOf(owner, space), await tableOf(owner, space)]
    await signInAs(first.context, app.url, member)
    const one = await open(first.context, table.id)
    const two = await open(first.context, another.id)
    const becomes = (role: 'viewer' | 'member') => table.rpc.spaces.updateMember.mutate({ space_id: space, user_id: member.id, role })
    await becomes('viewer')
    await one.getByRole('button', { name: 'New row' }).waitFor({ state: 'detached' })
    await becomes('member')
    await one.getByRole('button', { name: 'New row' }).waitFor()
    await table.rpc.tables.delete.mutate({ table_id: table.id })
    await one.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
    await another.rpc.records.update.mutate({ table_id: another.id, record_id: 1, data: { name: 'Deal one' } })
    await cell(two, 'Deal one').waitFor()
  })

  test('a page whose browser has no locks, since it came by http from another machine, has a stream of its own', async () => {
    const { owner, space } = await app.account()
    const table = await tableOf(owner, space)
    await signInAs(second.context, app.url, owner)
    const page = await second.context.newPage()
    await page.addInitScript("Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })")
    await page.goto(`${app.url}/table/${table.id}`)
    await cell(page, 'Deal 1').waitFor()
    await table.rpc.records.update.mutate({ table_id: table.id, record_id: 1, data: { name: 'Deal one' } })
    await cell(page, 'Deal one').waitFor()
    await page.close()
  })

  test('a right that was lost without a word is seen when one comes back to the page', async () => {
    const account = await app.account()
    const { owner, member } = account
    const others = await app.makeSpace(account.id, owner.id, { [member.id]: 'member' })
    const [table, another] = [await tableOf(owner, account.space), await tableOf(owner, others)]
    await signInAs(first.context, app.url, member)
    const one = await open(first.context, another.id)
    await open(first.context, table.id)
    await table.rpc.spaces.removeMember.mutate({ space_id: others, user_id: member.id })
    let minutes = 0
    // What was read moments ago, or is being read, is not read again.
    const comeBack = async () => {
      minutes += 1
      await one.clock.setFixedTime(Date.now() + minutes * 60_000)
      await one.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return one.getByRole('heading', { name: 'Not here, or not yours' }).count()
    }
    await expect.poll(comeBack).toBe(1)
  })

  test('what happens while there is no connection, no session, or no memory of the stream is shown afterwards', async () => {
    const { owner, admin, space } = await app.account({ withPassword: true })
    const table = await tableOf(owner, space)
    const rename = (name: string) => table.rpc.records.update.mutate({ table_id: table.id, record_id: 2, data: { name } })
    await signInAs(first.context, app.url, owner)
    const streams = streamsOf(first.context)
    const page = await open(first.context, table.id)
    await expect.poll(() => streams().length).toBe(1)
    await first.context.setOffline(true)
    await rename('Without a connection')
    await first.context.setOffline(false)
    await cell(page, 'Without a connection').waitFor()

    // The service knows no such event, so that it begins with a reset.
    await first.context.route('**/trpc/events?*', (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/lastEventId%22%3A%22\d+/, 'lastEventId%22%3A%22999999999'),
      }),
    )
    await first.context.setOffline(true)
    await rename('Without a memory')
    await first.context.setOffline(false)
    await cell(page, 'Without a memory').waitFor()
    await first.context.unroute('**/trpc/events?*')

    // A stream whose session has ended ends with the next event.
    await app.db.write(sql`delete from sessions where user_id = ${owner.id}`)
    const { rpc } = app.as(admin)
    await rpc.records.update.mutate({ table_id: table.id, record_id: 1, data: { name: 'Without a session' } })
    const dialog = page.getByRole('alertdialog', { name: 'You are signed out' })
    await dialog.getByLabel('Password', { exact: true }).fill(owner.password)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    await cell(page, 'Without a session').waitFor()
    await rpc.records.update.mutate({ table_id: table.id, record_id: 1, data: { name: 'Signed in again' } })
    await cell(page, 'Signed in again').waitFor()
  })
})
