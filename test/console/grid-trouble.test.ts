/** What a grid does when the service, the session, the connection or the definition are not as they were. */
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import { serveBeside } from '../support/another-process.ts'
import { type As, type Person, type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp({}, { worker: true })

const FIELDS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'due', name: 'Due', type: 'date' },
  { id: 'call', name: 'Call', type: 'datetime' },
  { id: 'note', name: 'Note', type: 'long_text' },
]

describe.skipIf(isBrowserMissing)(browserTitle('a grid in trouble'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  async function tableOf({ owner, space }: TestAccount, count: number) {
    const { rpc } = app.as(owner)
    const { id } = await rpc.tables.create.mutate({ space_id: space, name: `Deals ${Math.random()}`, fields: FIELDS as never })
    const records = Array.from({ length: count }, (_, index) => ({ data: { name: `Deal ${index + 1}` } }))
    await rpc.records.createBatch.mutate({ table_id: id, records })
    return { id, rpc, read: async (record: number) => (await rpc.records.get.query({ table_id: id, record_id: record })).data }
  }
  /** Types a new row, and a long text and a comment into the record that is open beside the grid. */
  async function typeElsewhere(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'New row' }).click()
    await at(page, 3, 1).waitFor()
    await page.keyboard.type('A row')
    await page.keyboard.press('Enter')
    const record = page.getByRole('complementary', { name: 'Record' })
    await record.getByRole('button', { name: 'Note', exact: true }).click()
    await page.getByRole('textbox', { name: 'Note' }).fill('A long text')
    await page.keyboard.press('Control+Enter')
    await record.getByRole('textbox', { name: 'Comment' }).fill('A comment')
  }

  /** Waits until the service has what `typeElsewhere` has typed, and expects it once. */
  async function expectOnce({ rpc }: Pick<As, 'rpc'>, id: number): Promise<void> {
    const comments = async () => (await rpc.comments.list.query({ table_id: id, record_id: 2 })).rows
    await expect.poll(comments).toMatchObject([{ content: 'A comment' }])
    const records = async () => (await rpc.records.query.query({ table_id: id, order_by: 'id' })).rows.slice(1)
    await expect.poll(records).toMatchObject([{ note: 'A long text' }, { name: 'A row' }])
  }

  async function open(person: Person, tableId: number): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, `${app.url}/table/${tableId}`)
    await cell(page, 'Deal 1').waitFor()
    return page
  }
  const cell = (page: Page, name: string) => page.getByRole('gridcell', { name, exact: true })
  const at = (page: Page, row: number, col: number) => page.locator(`[aria-rowindex="${row + 1}"] [aria-colindex="${col + 1}"]`)
  const says = (page: Page, text: string | RegExp) => page.getByText(text).waitFor()

  /** Answers what matches with an error of the API, until the function that is returned is called. */
  async function refuse(page: Page, what: RegExp, status: number, message: string, retryAfter?: number) {
    let isRefused = true
    const answer = (route: Route) => {
      if (!isRefused) return route.continue()
      const data = { httpStatus: status, code: 'UNAVAILABLE', message, request_id: 'req-1' }
      const body = JSON.stringify({ error: { message, code: -32000, data } })
      const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
      return route.fulfill({ status, contentType: 'application/json', headers, body })
    }
    await page.route(what, answer)
    return () => {
      isRefused = false
    }
  }

  test.each([
    [429, 'Too many requests'],
    [503, 'The database is not available'],
    [507, 'The disk is full'],
  ])('an edit that is answered with %i waits, says why, and is sent again', async (status, message) => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const page = await open(account.member, table.id)
    const accept = await refuse(page, /updateBatch/, status, message, 1)
    await cell(page, 'Deal 1').click()
    await page.keyboard.type('Deal one')
    await page.keyboard.press('Enter')
    await says(page, `${message}. 1 change waits, and is sent again by itself.`)
    await cell(page, 'Deal one').waitFor()
    expect(await table.read(1)).toMatchObject({ name: 'Deal 1' })
    accept()
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Deal one' })
    await page.getByText('1 change waits').waitFor({ state: 'detached' })
  })

  test('records that cannot be read for now are asked for again, which is said; a new row waits, too', async () => {
    const account = await app.account()
    const table = await tableOf(account, 500)
    const page = await open(account.member, table.id)
    await says(page, '500 records')
    const read = await refuse(page, /records\.query/, 503, 'The service is too busy', 1)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('Control+End')
    await says(page, 'The service is too busy. The records are asked for again.')
    read()
    await cell(page, 'Deal 500').waitFor()
    const create = await refuse(page, /createBatch/, 429, 'Too many requests', 1)
    await page.getByRole('button', { name: 'New row' }).click()
    await page.keyboard.type('Deal of patience')
    await page.keyboard.press('Enter')
    await says(page, 'Too many requests. 1 change waits')
    create()
    await expect.poll(async () => (await table.read(501)).name).toBe('Deal of patience')
  })

  test('a service that takes its time is waited for, and one goes on meanwhile', async () => {
    const account = await app.account()
    const table = await tableOf(account, 3)
    const page = await open(account.member, table.id)
    const answered = Promise.withResolvers<void>()
    await page.route(/updateBatch/, async (route) => {
      await answered.promise
      await route.continue()
    })
    for (const row of [1, 2, 3]) {
      await at(page, row, 1).click()
      await page.keyboard.type(`Slow ${row}`)
      await page.keyboard.press('Enter')
      await cell(page, `Slow ${row}`).waitFor()
    }
    await says(page, 'Saving…')
    expect(await table.read(1)).toMatchObject({ name: 'Deal 1' })
    answered.resolve()
    await expect.poll(() => table.read(3)).toMatchObject({ name: 'Slow 3' })
    await page.keyboard.press('Control+z')
    await cell(page, 'Deal 3').waitFor()
  })

  test('a service that is started again gets what was typed meanwhile, and tells what others have changed', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    await signInAs(browser.context, app.url, account.member)
    const before = await serveBeside(app)
    const { page } = await openConsole(browser.context, `${before.url}/table/${table.id}?record=2`)
    await page.getByRole('textbox', { name: 'Comment' }).waitFor()
    await cell(page, 'Deal 1').click()
    await before.stop()
    await page.keyboard.type('Without a service')
    await page.keyboard.press('Enter')
    await page.getByText('Not connected. 1 change waits, and is sent again by itself.').first().waitFor()
    await typeElsewhere(page)
    await page.keyboard.press('Control+Enter')
    await page.getByText('Not connected. 3 changes wait').first().waitFor()
    await table.rpc.records.update.mutate({ table_id: table.id, record_id: 2, data: { name: 'By another process' } })
    const after = await serveBeside(app, before.port)
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Without a service' })
    await cell(page, 'By another process').waitFor()
    await expectOnce(table, table.id)
    await expect.poll(() => page.getByText('Not connected').count()).toBe(0)
    await page.close()
    await after.stop()
  })

  test('leaving the page with changes that are not sent asks, and so does a row that is not created', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const page = await open(account.member, table.id)
    const asked: string[] = []
    page.on('dialog', async (dialog) => {
      await dialog.dismiss()
      asked.push(dialog.type())
    })
    const accept = await refuse(page, /updateBatch/, 503, 'The database is not available', 1)
    await cell(page, 'Deal 1').click()
    await page.keyboard.type('Unsent')
    await page.keyboard.press('Enter')
    await says(page, '1 change waits')
    const leave = () => void page.reload().catch(() => undefined)
    leave()
    await expect.poll(() => asked).toEqual(['beforeunload'])
    await cell(page, 'Unsent').waitFor()
    accept()
    // The service has the change before the page knows it.
    await page.getByText('1 change waits').waitFor({ state: 'detached' })
    expect(await table.read(1)).toMatchObject({ name: 'Unsent' })
    await page.reload()
    await cell(page, 'Unsent').waitFor()
    expect(asked).toHaveLength(1)
    await table.rpc.fields.create.mutate({ table_id: table.id, id: 'must', name: 'Must', type: 'number', required: true } as never)
    await page.getByRole('columnheader', { name: 'Must' }).waitFor()
    await page.getByRole('button', { name: 'New row' }).click()
    await page.keyboard.type('Incomplete')
    await page.keyboard.press('Enter')
    await says(page, 'Fill in to create the record: Must.')
    leave()
    await expect.poll(() => asked).toHaveLength(2)
  })

  test('what a tab that is gone had not stored is there in the next one: rows, edits, and texts that were open or refused', async () => {
    const { owner, space } = await app.account()
    const { rpc } = app.as(owner)
    const fields = [FIELDS[0], { id: 'must', name: 'Must', type: 'text', required: true }, FIELDS[1]]
    const { id } = await rpc.tables.create.mutate({ space_id: space, name: 'Deals', fields: fields as never })
    const records = [1, 2].map((number) => ({ data: { name: `Deal ${number}`, must: 'Yes' } }))
    await rpc.records.createBatch.mutate({ table_id: id, records })
    const stored = async () => {
      const { rows } = await rpc.records.query.query({ table_id: id, order_by: 'id' })
      return rows.map(({ name, must }) => [name, must].join(' '))
    }
    const page = await open(owner, id)
    // The service does what it is told, and its answer does not come.
    await page.route(/createBatch/, async (route) => void (await route.fetch()))
    for (const [index, cells] of [['Half a row'], ['Whole', 'Yes']].entries()) {
      await page.getByRole('button', { name: 'New row' }).click()
      await at(page, 3 + index, 1).waitFor()
      for (const text of cells) {
        await page.keyboard.type(text)
        await page.keyboard.press('Tab')
      }
    }
    await expect.poll(stored).toEqual(['Deal 1 Yes', 'Deal 2 Yes', 'Whole Yes'])
    await at(page, 1, 3).click()
    await page.keyboard.type('no day')
    await at(page, 2, 1).click()
    await page.keyboard.type('Half a cell')
    await expect.poll(() => page.evaluate('Object.values(localStorage).some((text) => text.includes("Half a cell"))')).toBe(true)
    await page.close({ runBeforeUnload: false })

    const next = await open(owner, id)
    await cell(next, 'Half a row').waitFor()
    await takePictures(next, 'rows-back')
    await at(next, 1, 3).click()
    await says(next, /^Not saved: .*You typed: no day/)
    await at(next, 2, 1).click()
    await says(next, 'Not saved: the page ended while this was typed. You typed: Half a cell')
    await at(next, 2, 1).dblclick()
    await next.getByRole('textbox', { name: 'Name' }).press('Enter')
    await expect.poll(() => cell(next, 'Whole').count()).toBe(1)
    await cell(next, 'Half a row').click()
    await next.keyboard.press('ArrowRight')
    await next.keyboard.type('Now')
    await next.keyboard.press('Enter')
    await expect.poll(stored).toEqual(['Deal 1 Yes', 'Half a cell Yes', 'Whole Yes', 'Half a row Now'])
    await at(next, 1, 3).dblclick()
    const due = next.getByRole('textbox', { name: 'Due' })
    await expect.poll(() => due.inputValue()).toBe('no day')
    await due.press('Escape')
    await expect.poll(() => next.evaluate(`Object.keys(localStorage).filter((name) => name.includes(" edits.${id} "))`)).toEqual([])
  })

  test('a session that ends while one types loses nothing: the edit is sent after signing in again', async () => {
    const account = await app.account({ withPassword: true })
    const table = await tableOf(account, 2)
    const page = await open(account.owner, table.id)
    // The end of the stream would ask before the edit does.
    await page.route('**/trpc/events?*', (route) => route.abort())
    await page.goto(`${app.url}/table/${table.id}?record=2`)
    await page.getByRole('textbox', { name: 'Comment' }).waitFor()
    await cell(page, 'Deal 1').click()
    await page.keyboard.type('Typed before and after')
    const typed = Promise.withResolvers<void>()
    // Whatever else the page asks for would be told before.
    await page.route(
      /updateBatch/,
      async (route) => {
        await typed.promise
        await app.db.write(sql`delete from sessions where user_id = ${account.owner.id}`)
        await route.continue()
      },
      { times: 1 },
    )
    await page.keyboard.press('Enter')
    await typeElsewhere(page)
    typed.resolve()
    const dialog = page.getByRole('alertdialog', { name: 'You are signed out' })
    await dialog.getByLabel('Password', { exact: true }).fill(account.owner.password)
    await dialog.getByLabel('Password', { exact: true }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await cell(page, 'Typed before and after').waitFor()
    await page.getByRole('textbox', { name: 'Comment' }).press('Control+Enter')
    await expectOnce(app.as(account.admin), table.id)
    await expect.poll(async () => app.db.read(sql`select 1 from sessions where user_id = ${account.owner.id}`)).toHaveLength(1)
  })

  test('a right to write that is lost while one types refuses the edit, and keeps what was typed', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const page = await open(account.member, table.id)
    await cell(page, 'Deal 1').click()
    await page.keyboard.type('Too late')
    await table.rpc.spaces.updateMember.mutate({ space_id: account.space, user_id: account.member.id, role: 'viewer' })
    await page.getByRole('button', { name: 'New row' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await page.getByRole('alert').first().waitFor()
    await cell(page, 'Deal 1').waitFor()
    await expect.poll(() => cell(page, 'Deal 1').getAttribute('title')).toMatch(/Not saved/)
    await cell(page, 'Deal 1').click()
    await says(page, /^Not saved: .*You typed: Too late/)
    expect(await table.read(1)).toMatchObject({ name: 'Deal 1' })
  })

  test('a column that is converted or deleted while it is edited, and a table that is deleted, are told', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const page = await open(account.member, table.id)
    await at(page, 1, 2).click()
    await page.keyboard.type('24.12.2026')
    await table.rpc.fields.delete.mutate({ table_id: table.id, field_id: 'due' })
    await says(page, 'The column was removed from the view while you edited it. You typed: 24.12.2026')
    await page.getByRole('columnheader', { name: 'Due' }).waitFor({ state: 'detached' })
    const editor = page.getByRole('textbox', { name: 'Call' })
    await at(page, 1, 2).click()
    await page.keyboard.type('any text')
    await editor.evaluate((input) => Object.assign(input, { isOfDates: true }))
    await table.rpc.fields.changeType.mutate({ table_id: table.id, field_id: 'call', type: 'text' })
    await expect.poll(() => editor.evaluate((input) => 'isOfDates' in input)).toBe(false)
    await expect.poll(() => editor.inputValue()).toBe('any text')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ call: 'any text' })
    // A table that is gone stays on the page as long as something is not saved.
    await expect.poll(() => page.getByText('Saving…').count()).toBe(0)
    await table.rpc.tables.delete.mutate({ table_id: table.id })
    await page.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
  })

  test('a table or a view that is deleted while one types leaves what was typed on the page', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'Mine', type: 'grid' } as never)
    await signInAs(browser.context, app.url, account.member)
    const { page } = await openConsole(browser.context, `${app.url}/table/${table.id}/view/${view.id}`)
    await cell(page, 'Deal 1').click()
    await page.keyboard.type('Typed into a view')
    await table.rpc.views.delete.mutate({ table_id: table.id, view_id: view.id })
    await says(page, 'This view was deleted. What you are typing can still be saved.')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Typed into a view' })
    // The records of the view are shown until those of the table are asked for.
    const read = page.waitForResponse((response) => {
      const asked = response.request().postData() ?? ''
      return response.url().includes('records.query') && asked.includes('cursor') && !asked.includes('view_id')
    })
    await page
      .getByRole('link', { name: /^Open Deals/ })
      .first()
      .click()
    await read
    await cell(page, 'Deal 2').click()
    await page.keyboard.type('Typed into a table')
    await table.rpc.tables.delete.mutate({ table_id: table.id })
    await says(page, /This table was deleted, or you may no longer see it/)
    await expect.poll(() => page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Typed into a table')
    await page.keyboard.press('Enter')
    await cell(page, 'Deal 2').click()
    await says(page, /^Not saved: .*You typed: Typed into a table/)
    await takePictures(page, 'table-gone')
    await expectAccessible(page)
  })

  test('a view that is deleted while it is open says so, and leads to its table', async () => {
    const account = await app.account()
    const table = await tableOf(account, 2)
    const view = await table.rpc.views.create.mutate({ table_id: table.id, name: 'Mine', type: 'grid' } as never)
    await signInAs(browser.context, app.url, account.member)
    const { page } = await openConsole(browser.context, `${app.url}/table/${table.id}/view/${view.id}`)
    await cell(page, 'Deal 1').waitFor()
    await table.rpc.views.delete.mutate({ table_id: table.id, view_id: view.id })
    await page.getByRole('heading', { name: 'This view is not here' }).waitFor()
    await page
      .getByRole('main')
      .getByRole('link', { name: /^Open Deals/ })
      .click()
    await cell(page, 'Deal 1').waitFor()
  })

  test('three hundred columns, and ten megabytes to paste', async () => {
    const { owner, space } = await app.account()
    const { rpc } = app.as(owner)
    const fields = Array.from({ length: 295 }, (_, at) => ({ name: `Field ${at + 1}`, type: 'text' as const }))
    const { id } = await rpc.tables.create.mutate({ space_id: space, name: 'Wide', fields })
    await rpc.records.createBatch.mutate({ table_id: id, records: [{ data: { field_1: 'Deal 1', field_295: 'last' } as never }] })
    const page = await open(owner, id)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('End')
    await expect.poll(() => page.evaluate('document.activeElement.closest("[aria-colindex]").getAttribute("aria-colindex")')).toBe('296')
    await cell(page, 'last').waitFor()
    await expect.poll(() => page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(3_000)
    await page.keyboard.press('Control+Home')
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.url })
    await page.evaluate("navigator.clipboard.writeText(('x'.repeat(100) + String.fromCharCode(10)).repeat(100000))")
    await page.keyboard.press('Control+v')
    const question = page.getByRole('dialog', { name: /Paste/ })
    await question
      .getByText(/100,000|99,999/)
      .first()
      .waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await cell(page, 'Deal 1').waitFor()
  })

  test.each([
    ['Pacific/Kiritimati', '2026-12-24 09:30', '2026-12-23 19:30:00', '2026-12-24 00:10:00', 'Dec 24, 2026, 2:10'],
    ['Asia/Kathmandu', '2026-12-24 09:30', '2026-12-24 03:45:00', '2026-12-24 18:20:00', 'Dec 25, 2026, 12:05'],
    // The clocks of Cairo go from 0:00 to 1:00.
    ['Africa/Cairo', '2026-04-24 01:30', '2026-04-23 22:30:00', '2026-04-23 21:59:00', 'Apr 23, 2026, 11:59'],
  ])('days and times are those of the person in %s', async (timezone, typed, stored, other, shown) => {
    const account = await app.account({ timezone })
    const table = await tableOf(account, 2)
    await table.rpc.records.update.mutate({ table_id: table.id, record_id: 2, data: { due: '2026-04-24', call: other } })
    const page = await open(account.member, table.id)
    await at(page, 1, 3).click()
    await page.keyboard.type(typed)
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ call: stored })
    await at(page, 1, 2).click()
    await page.keyboard.type('2026-04-24')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ due: '2026-04-24' })
    // The focused cell has a character for input methods.
    const shownAt = async (row: number, col: number) => (await at(page, row, col).innerText()).replace('\u200b', '')
    await expect.poll(() => shownAt(1, 2)).toBe(await shownAt(2, 2))
    await expect.poll(() => shownAt(2, 3)).toContain(shown)
  })
})
