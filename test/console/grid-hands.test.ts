/** What hands do in the grid of a table: cut, paste, drag, click, drop, arrange. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Person, type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser } from '../support/browser.ts'
import { openConsole, signInAs } from '../support/console.ts'

const app = await testApp()

const FIELDS = [
  { id: 'name', name: 'Name', type: 'text', required: true },
  { id: 'amount', name: 'Amount', type: 'number' },
  { id: 'done', name: 'Done', type: 'checkbox' },
  { id: 'note', name: 'Note', type: 'text' },
  { id: 'files', name: 'Files', type: 'file' },
]

describe.skipIf(isBrowserMissing)(browserTitle('hands in a grid'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  })
  afterAll(() => browser?.close())

  async function tableOf({ owner, space }: TestAccount, count: number) {
    const { rpc } = app.as(owner)
    const { id } = await rpc.tables.create.mutate({ space_id: space, name: `Deals ${Math.random()}`, fields: FIELDS as never })
    const records = Array.from({ length: count }, (_, index) => ({ data: { name: `Deal ${index + 1}`, amount: index + 1 } }))
    await rpc.records.createBatch.mutate({ table_id: id, records })
    const names = async () => {
      const { rows } = await rpc.records.query.query({ table_id: id, fields: ['name', 'amount'], limit: 1_000 })
      return rows.map(({ name, amount }) => `${name} ${amount}`)
    }
    return { id, rpc, names, read: async (record: number) => (await rpc.records.get.query({ table_id: id, record_id: record })).data }
  }

  async function open(person: Person, tableId: number, path = ''): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, `${app.url}/table/${tableId}${path}`)
    await cell(page, 'Deal 1').waitFor()
    return page
  }
  const cell = (page: Page, name: string) => page.getByRole('gridcell', { name, exact: true })
  /** The cell of a row, by its number, in a column, by its place. */
  const at = (page: Page, row: number, col: number) => page.locator(`[aria-rowindex="${row + 1}"] [aria-colindex="${col + 1}"]`)
  const heading = (page: Page, name: string) => page.getByRole('columnheader', { name })
  const selected = (page: Page) => page.locator('[role=gridcell][aria-selected=true]').allTextContents()
  const putOnClipboard = (page: Page, text: string) => page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)

  test('cells are cut and pasted elsewhere', async () => {
    const account = await app.account()
    const table = await tableOf(account, 4)
    const page = await open(account.member, table.id)
    await at(page, 2, 2).click()
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Control+x')
    await expect.poll(() => table.names()).toEqual(['Deal 1 1', 'Deal 2 null', 'Deal 3 null', 'Deal 4 4'])
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Control+v')
    await expect.poll(() => table.names()).toEqual(['Deal 1 2', 'Deal 2 3', 'Deal 3 null', 'Deal 4 4'])
  })

  test('what is pasted below the last record is added after a question, and one undo takes all of it back', async () => {
    const account = await app.account()
    const table = await tableOf(account, 3)
    const page = await open(account.member, table.id)
    await cell(page, 'Deal 3').click()
    await putOnClipboard(page, 'New 3\t30\nNew 4\t40\n\t50\nNew 6\tmany\n')
    await page.keyboard.press('Control+v')
    const question = page.getByRole('dialog', { name: 'Paste 8 cells?' })
    await question.getByText('2 records are added below the last one.').waitFor()
    await question.getByText('Row 5, Name: “” is required, so that the record is not added').waitFor()
    await question.getByText('Row 6, Amount: “many”').waitFor()
    await question.getByRole('button', { name: 'Paste what fits' }).click()
    await cell(page, 'New 6').waitFor()
    await expect.poll(() => table.names()).toEqual(['Deal 1 1', 'Deal 2 2', 'New 3 30', 'New 4 40', 'New 6 null'])
    await page.keyboard.press('Control+z')
    await cell(page, 'New 6').waitFor({ state: 'detached' })
    await cell(page, 'Deal 3').waitFor()
    await expect.poll(() => table.names()).toEqual(['Deal 1 1', 'Deal 2 2', 'Deal 3 3'])
  })

  test('dragging selects, and scrolls at the edge as long as the pointer is there', async () => {
    const account = await app.account()
    const table = await tableOf(account, 100)
    const page = await open(account.viewer, table.id)
    const from = await cell(page, 'Deal 2').boundingBox()
    const to = await at(page, 4, 2).boundingBox()
    await page.mouse.move((from?.x ?? 0) + 20, (from?.y ?? 0) + 10)
    await page.mouse.down()
    await page.mouse.move((to?.x ?? 0) + 20, (to?.y ?? 0) + 10, { steps: 4 })
    await expect.poll(() => selected(page)).toEqual(['Deal 2', '2', 'Deal 3', '3', 'Deal 4', '4'])
    await page.mouse.move((from?.x ?? 0) + 20, 990)
    // The last row stays in sight.
    await cell(page, 'Deal 100').waitFor()
    await page.mouse.up()
    await page.keyboard.press('Shift+Control+ArrowUp')
    await cell(page, 'Deal 1').waitFor()
    await page.keyboard.press('Shift+ArrowDown')
    await expect.poll(() => selected(page)).toEqual(['Deal 2'])
    await expect
      .poll(() => page.getByRole('grid').evaluate((grid) => (grid.parentElement as unknown as { scrollTop: number }).scrollTop))
      .toBeLessThan(64)
  })

  test('a click selects a cell, and ends the edit of another one; the next one checks it', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const page = await open(account.member, table.id)
    const box = page.getByRole('checkbox', { name: 'Done' }).first()
    await box.click()
    await cell(page, 'Deal 2').click()
    await expect.poll(() => box.isChecked()).toBe(false)
    await box.click()
    await box.click()
    await expect.poll(() => table.read(1)).toMatchObject({ done: true })
    await page.keyboard.press('Space')
    await expect.poll(() => table.read(1)).toMatchObject({ done: false })
    await cell(page, 'Deal 1').click()
    await page.keyboard.type('Clicked away')
    await cell(page, 'Deal 2').click()
    await page.keyboard.type('Typed after it')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Clicked away' })
    await expect.poll(() => table.read(2)).toMatchObject({ name: 'Typed after it' })
  })

  test('a file is pasted, and shown when its upload ends after one has gone on', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const page = await open(account.member, table.id)
    await at(page, 1, 5).click()
    let answer = () => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route(/\/files\/create/, async (route) => {
      await held
      await route.continue()
    })
    await page.evaluate(() => {
      // biome-ignore lint/suspicious/noExplicitAny: the names of a browser are unknown to the tests' compiler
      const { DataTransfer, File, ClipboardEvent, document } = globalThis as any
      const clipboardData = new DataTransfer()
      clipboardData.items.add(new File(['a,b'], 'list.csv', { type: 'text/csv' }))
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    })
    await page.getByText('list.csv').waitFor()
    await page.keyboard.press('Escape')
    await cell(page, 'Deal 2').click()
    answer()
    await cell(page, 'list.csv').waitFor()
    await expect.poll(async () => JSON.stringify(await table.read(1))).toContain('list.csv')
  })

  test('a record that leaves the view stays, greyed, until one moves on', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5)
    const filters = [{ column: 'amount', compare: '<', value: 4 }]
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'Small', type: 'grid', filters } as never)
    const page = await open(account.member, table.id, `/view/${view.id}`)
    // Where the stream begins, all is read anew, and what is not in the view goes.
    await page.route('**/trpc/events?*', (route) => route.abort())
    await page.reload()
    await cell(page, 'Deal 1').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'Deal 2' })
    await at(page, 2, 2).click()
    await page.keyboard.type('20')
    await page.keyboard.press('Tab')
    await expect.poll(() => row.getAttribute('title')).toBe('No longer in this view')
    await page.keyboard.press('ArrowUp')
    await row.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByRole('row').count()).toBe(3)
  })

  test('an export has what is tried, in its order', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5)
    const tried = { filter: { column: 'amount', compare: '<', value: 3 }, order: [{ field: 'amount', dir: 'D' }] }
    const page = await open(account.viewer, table.id, `?tried=${encodeURIComponent(JSON.stringify(tried))}`)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export' }).click()
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\r\n')
    expect(lines.slice(1).map((line) => line.split(',')[1])).toEqual(['Deal 2', 'Deal 1'])
  })

  test('what an admin arranges is kept in the view, and what a member arranges for themselves', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'All', type: 'grid' })
    const config = async () => (await table.rpc.views.get.query({ table_id: table.id, view_id: view.id })).config
    const widen = async (page: Page, name: string) => {
      const box = await heading(page, name).boundingBox()
      await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) - 2, (box?.y ?? 0) + 10)
      await page.mouse.down()
      await page.mouse.move((box?.x ?? 0) + 250, (box?.y ?? 0) + 10, { steps: 3 })
      await page.mouse.up()
      await expect.poll(async () => (await heading(page, name).boundingBox())?.width).not.toBe(box?.width)
      return (await heading(page, name).boundingBox())?.width
    }
    const admin = await open(account.admin, table.id, `/view/${view.id}`)
    const width = await widen(admin, 'Amount')
    await heading(admin, 'Note').dragTo(heading(admin, 'Amount'))
    const order = ['Name', 'Note', 'Amount', 'Done', 'Files']
    const shown = async (page: Page) => (await page.getByRole('columnheader').allInnerTexts()).map((text) => text.trim()).filter(Boolean)
    await expect.poll(() => shown(admin)).toEqual(order)
    await expect
      .poll(config)
      .toMatchObject({ widths: { amount: width }, columns: expect.arrayContaining(['name', 'note', 'amount', 'done']) })

    const member = await open(account.member, table.id, `/view/${view.id}`)
    await expect.poll(() => shown(member)).toEqual(order)
    await expect.poll(async () => (await heading(member, 'Amount').boundingBox())?.width).toBe(width)
    const before = await config()
    const own = await widen(member, 'Note')
    const kept = async () => (await app.as(account.member).rpc.preferences.list.query({ prefix: 'grid.' })).rows.map(({ value }) => value)
    await expect.poll(kept).toEqual([expect.objectContaining({ widths: expect.objectContaining({ note: own }) })])
    await member.reload()
    await expect.poll(async () => (await heading(member, 'Note').boundingBox())?.width).toBe(own)
    expect(await config()).toEqual(before)
  })
})
