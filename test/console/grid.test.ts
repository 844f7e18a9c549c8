/** The grid of a table in a real browser, by role, label and key. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp({}, { worker: true })

const FIELDS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'amount', name: 'Amount', type: 'number', decimals: 2 },
  { id: 'stage', name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
  { id: 'done', name: 'Done', type: 'checkbox' },
  { id: 'note', name: 'Note', type: 'text' },
] as const

describe.skipIf(isBrowserMissing)(browserTitle('the grid in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'America/Bogota' })
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  })
  afterAll(() => browser?.close())

  /** A table with so many records, by their numbers. */
  async function tableOf({ owner, space }: TestAccount, count: number, fields: readonly object[] = FIELDS) {
    const { rpc } = app.as(owner)
    const table = await rpc.tables.create.mutate({ space_id: space, name: `Deals ${Math.random()}`, fields: fields as never })
    for (let from = 0; from < count; from += 1_000) {
      const numbers = Array.from({ length: Math.min(1_000, count - from) }, (_, index) => from + index + 1)
      const records = numbers.map((number) => ({ data: { name: `Deal ${number}`, ...(fields === FIELDS && { amount: number }) } }))
      await rpc.records.createBatch.mutate({ table_id: table.id, records })
    }
    return { id: table.id, rpc, read: async (id: number) => (await rpc.records.get.query({ table_id: table.id, record_id: id })).data }
  }

  async function open(person: TestAccount['owner'], tableId: number, path = ''): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, `${app.url}/table/${tableId}${path}`)
    await page.getByRole('grid').waitFor()
    return page
  }
  const cell = (page: Page, name: string) => page.getByRole('gridcell', { name, exact: true })
  /** Where the focus is, by the numbers that screen readers hear; the headings are row 1. */
  const focus = async (page: Page) => {
    const focused = page.locator(':is([role=gridcell], [role=columnheader]):focus')
    return `${await focused.locator('..').getAttribute('aria-rowindex')} ${await focused.getAttribute('aria-colindex')}`
  }
  /** Reads the clipboard, or writes to it. The names of a browser are unknown to the tests' compiler. */
  const copied = (page: Page) => page.evaluate('navigator.clipboard.readText()')
  const putOnClipboard = (page: Page, text: string) => page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
  const says = (page: Page, text: string) => page.getByText(text).waitFor()
  /** Lets the service do what is asked for next, and keeps its answer from the page until the function that is returned is called. */
  async function holdAnswer(page: Page, of: RegExp): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    await page.route(
      of,
      async (route) => {
        const response = await route.fetch()
        await promise
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    return resolve
  }

  test('cells are found, edited, undone and done again by keys', async () => {
    const account = await app.account()
    const table = await tableOf(account, 30)
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 2').click()
    await expect.poll(() => focus(page)).toBe('3 2')
    await page.keyboard.type('Deal two')
    await page.keyboard.press('Enter')
    await cell(page, 'Deal two').waitFor()
    await expect.poll(() => focus(page)).toBe('4 2')
    await expect.poll(() => table.read(2)).toMatchObject({ name: 'Deal two' })
    await page.keyboard.press('F2')
    await page.keyboard.type('!')
    await page.keyboard.press('Tab')
    await cell(page, 'Deal 3!').waitFor()
    await expect.poll(() => focus(page)).toBe('4 3')
    await page.keyboard.type('7')
    await page.keyboard.press('Escape')
    await expect.poll(() => table.read(3)).toMatchObject({ name: 'Deal 3!', amount: 3 })

    await page.keyboard.press('Control+z')
    await says(page, 'Undone: Edit.')
    await cell(page, 'Deal 3').waitFor()
    await page.keyboard.press('Control+Shift+z')
    await says(page, 'Done again: Edit.')
    await cell(page, 'Deal 3!').waitFor()
    const answered = await holdAnswer(page, /records\.undo/)
    await page.keyboard.press('Control+z')
    await cell(page, 'Deal 3').waitFor()
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+z')
    answered()
    await cell(page, 'Deal 2').waitFor()
    await says(page, 'Nothing to undo.')
  })

  test('keys reach every cell and the headings, and the focus stays where it was when it is scrolled away', async () => {
    const account = await app.account()
    const table = await tableOf(account, 3_000)
    const page = await open(account.owner, table.id)
    await says(page, '3,000 records')
    await cell(page, 'Deal 1').click()
    const places = [
      ['Control+End', '3001 6'],
      ['Control+ArrowUp', '2 6'],
      ['Home', '2 2'],
      ['Control+ArrowDown', '3001 2'],
      ['Control+Home', '2 2'],
      ['End', '2 6'],
      ['ArrowLeft', '2 5'],
      ['ArrowUp', '1 5'],
      ['ArrowDown', '2 5'],
      ['Shift+Tab', '2 4'],
      ['Home', '2 2'],
    ]
    for (const [key, place] of places) {
      await page.keyboard.press(key as string)
      await expect.poll(() => focus(page), { message: key as string }).toBe(place)
    }
    await page.getByRole('grid').evaluate((grid) => grid.parentElement?.scrollTo({ top: 64_000 }))
    await cell(page, 'Deal 2001').waitFor()
    await expect.poll(() => focus(page)).toBe('2 2')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => focus(page)).toBe('3 2')
    await cell(page, 'Deal 1').waitFor()
    await expect.poll(() => page.getByRole('grid').getAttribute('aria-rowcount')).toBe('3001')
    await page.keyboard.press('Control+a')
    await expect.poll(() => cell(page, 'Deal 5').getAttribute('aria-selected')).toBe('true')
  })

  test('an input method writes into the active cell', async () => {
    const account = await app.account()
    const table = await tableOf(account, 3)
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 1').click()
    const keyboard = await browser.context.newCDPSession(page)
    await keyboard.send('Input.imeSetComposition', { text: 'に', selectionStart: 1, selectionEnd: 1 })
    await keyboard.send('Input.imeSetComposition', { text: 'にほ', selectionStart: 2, selectionEnd: 2 })
    await keyboard.send('Input.insertText', { text: '日本' })
    await page.getByRole('textbox', { name: 'Name' }).waitFor()
    await page.keyboard.press('Enter')
    await cell(page, '日本').waitFor()
    await expect.poll(() => table.read(1)).toMatchObject({ name: '日本' })
  })

  test('cells are copied and pasted, what does not fit is said before, and one undo takes all of it back', async () => {
    const account = await app.account()
    const table = await tableOf(account, 10)
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowRight')
    await page.keyboard.press('Control+c')
    await says(page, 'Copied 4 cells.')
    await expect.poll(() => copied(page)).toBe('Deal 1\t1\nDeal 2\t2')
    await cell(page, 'Deal 5').click()
    await page.keyboard.press('Control+v')
    await expect.poll(() => table.read(6)).toMatchObject({ name: 'Deal 2', amount: 2 })
    await page.keyboard.press('Control+z')
    await expect.poll(() => table.read(6)).toMatchObject({ name: 'Deal 6', amount: 6 })
    await expect.poll(() => table.read(5)).toMatchObject({ name: 'Deal 5', amount: 5 })

    await putOnClipboard(page, '"two\nlines"\tmany\tNobody\nb\t4\tWon')
    await cell(page, 'Deal 8').click()
    await page.keyboard.press('Control+v')
    const question = page.getByRole('dialog')
    await question.getByText('2 cells do not fit:').waitFor()
    await expect.poll(() => question.innerText()).toContain('Row 8, Amount: “many”')
    await expectAccessible(page)
    expect(await table.read(8)).toMatchObject({ name: 'Deal 8' })
    await question.getByRole('button', { name: 'Paste what fits' }).click()
    await expect.poll(() => table.read(9)).toMatchObject({ name: 'b', amount: 4, stage: 'Won' })
    expect(await table.read(8)).toMatchObject({ name: 'two\nlines', amount: 8, stage: null })
    await page.keyboard.press('Control+z')
    await expect.poll(() => table.read(9)).toMatchObject({ name: 'Deal 9', amount: 9, stage: null })
  })

  test('a change that another made meanwhile is asked about only if it is the same cell', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5)
    const other = app.as(account.member).rpc
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('F2')
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine')
    await other.records.update.mutate({ table_id: table.id, record_id: 1, data: { note: 'Theirs' } })
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Mine', note: 'Theirs' })

    await page.keyboard.press('F2')
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine, too')
    await other.records.update.mutate({ table_id: table.id, record_id: 2, data: { name: 'Theirs' } })
    await page.keyboard.press('Enter')
    const question = page.getByRole('dialog', { name: 'Somebody else has changed this meanwhile' })
    await expect.poll(() => question.innerText()).toMatch(/Mine, too[\s\S]*Theirs/)
    await question.getByRole('button', { name: 'Keep mine' }).click()
    await expect.poll(() => table.read(2)).toMatchObject({ name: 'Mine, too' })
  })

  test('a refused edit puts the cell back, says why and keeps what was typed; a lost connection queues', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5, [{ id: 'name', name: 'Name', type: 'text', required: true }])
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('Delete')
    await page.getByRole('alert').filter({ hasText: 'required' }).or(page.getByText('must')).first().waitFor()
    await cell(page, 'Deal 1').waitFor()
    await expect.poll(() => cell(page, 'Deal 1').getAttribute('aria-invalid')).toBe('true')

    await browser.context.setOffline(true)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.type('Offline')
    await page.keyboard.press('Enter')
    await cell(page, 'Offline').waitFor()
    await says(page, 'Not connected. 1 change waits, and is sent again by itself.')
    await browser.context.setOffline(false)
    await expect.poll(() => table.read(2)).toMatchObject({ name: 'Offline' })
    await page.getByText('Not connected').waitFor({ state: 'detached' })
  })

  test('rows are added, marked and deleted with their number first, and columns summed up', async () => {
    const account = await app.account()
    const table = await tableOf(account, 6)
    const page = await open(account.owner, table.id)
    await page.getByRole('button', { name: 'Sum of Amount' }).click()
    await page.getByRole('button', { name: 'Sum of Amount: 21.00' }).waitFor()
    await page.getByRole('button', { name: 'New row' }).click()
    await page.keyboard.type('Fresh')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(7).catch(() => null)).toMatchObject({ name: 'Fresh' })
    await says(page, '7 records')

    await page.getByRole('checkbox', { name: 'Select row 2' }).check()
    await page.getByRole('checkbox', { name: 'Select row 3' }).check()
    await page.getByRole('button', { name: 'Delete' }).click()
    const question = page.getByRole('dialog', { name: 'Delete 2 records?' })
    const answered = await holdAnswer(page, /records\.deleteBatch/)
    await question.getByRole('button', { name: 'Delete' }).click()
    await says(page, '5 records')
    await cell(page, 'Deal 2').waitFor({ state: 'detached' })
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('Control+z')
    answered()
    await cell(page, 'Deal 2').waitFor()
  })

  test('a new row is counted once, whether its answer, its event or an edit of it comes first', async () => {
    const account = await app.account()
    const table = await tableOf(account, 6)
    const page = await open(account.owner, table.id)
    const isReadingOf = /records\.query/
    // The stream tells of the record, and the rows are read, before the answer comes that it was stored.
    await page.route(
      /records\.createBatch/,
      async (route) => {
        const read = page.waitForResponse(isReadingOf)
        const response = await route.fetch()
        await read
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    const answered = page.waitForResponse(/records\.createBatch/)
    await page.getByRole('button', { name: 'New row' }).click()
    await answered
    await says(page, '7 records')

    await page.getByRole('button', { name: 'New row' }).click()
    await says(page, '8 records')
    await expect.poll(() => table.read(8).catch(() => null)).not.toBeNull()
    const edited = Promise.withResolvers<void>()
    await page.route(isReadingOf, async (route) => {
      const response = await route.fetch()
      await edited.promise
      await route.fulfill({ response })
    })
    const asked = page.waitForRequest(isReadingOf)
    await table.rpc.records.create.mutate({ table_id: table.id, data: { name: 'Theirs' } })
    await asked
    await page.keyboard.type('Edited')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(8)).toMatchObject({ name: 'Edited' })
    edited.resolve()
    await says(page, '9 records')
  })

  test('columns are hidden and widened for oneself, and rows have two lines', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5)
    const page = await open(account.member, table.id)
    const menu = async (column: string, item: string) => {
      await page.getByRole('button', { name: `Column ${column}` }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await menu('Stage', 'Hide')
    await menu('Note', 'Wider')
    await page.getByLabel('Two lines a row').check()
    await page.getByRole('columnheader', { name: 'Stage' }).waitFor({ state: 'detached' })
    const preferences = async () => (await app.as(account.member).rpc.preferences.list.query({ prefix: 'grid.' })).rows
    const arranged = { columns: expect.not.arrayContaining(['stage']), widths: { note: 200 } }
    await expect
      .poll(async () => (await preferences()).toSorted((one, other) => one.name.localeCompare(other.name)))
      .toMatchObject([
        { name: `grid.${table.id}.0`, value: arranged },
        { name: 'grid.rows', value: 'tall' },
      ])
    await page.reload()
    await cell(page, 'Deal 1').waitFor()
    await expect.poll(() => page.getByRole('columnheader', { name: 'Stage' }).count()).toBe(0)
    await expect.poll(() => page.getByLabel('Two lines a row').isChecked()).toBe(true)
    await expect.poll(async () => (await page.getByRole('columnheader', { name: 'Note' }).boundingBox())?.width).toBe(200)
  })

  test('a viewer sees no buttons of writers, and is told why a cell cannot be edited', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5)
    const page = await open(account.viewer, table.id)
    await cell(page, 'Deal 1').click()
    await expect.poll(() => page.getByRole('button', { name: 'New row' }).count()).toBe(0)
    await page.keyboard.type('x')
    await says(page, 'You can read this table, not change it')
    await expect.poll(() => page.getByRole('textbox').count()).toBe(0)
    await expect.poll(() => cell(page, 'Deal 1').getAttribute('aria-readonly')).toBe('true')
  })

  test('the view that is marked opens first, with its columns and its order, and an empty one says so', async () => {
    const account = await app.account()
    const table = await tableOf(account, 5)
    const view = { table_id: table.id, type: 'grid' as const, config: { columns: ['amount', 'name'] } }
    await table.rpc.views.create.mutate({
      ...view,
      name: 'Last first',
      order_by: 'amount',
      order_dir: 'D',
      is_table_default: true,
    })
    const filters = [{ column: 'name', compare: '=' as const, value: 'nobody' }]
    const none = await table.rpc.views.create.mutate({ ...view, name: 'None', filters })
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 5').waitFor()
    await expect.poll(async () => (await page.getByRole('columnheader').allInnerTexts()).filter(Boolean)).toEqual(['Name', 'Amount\n↓'])
    await expect.poll(() => page.getByRole('row').nth(1).innerText()).toContain('Deal 5')
    await expect.poll(() => page.getByRole('columnheader', { name: 'Amount' }).getAttribute('aria-sort')).toBe('descending')
    await page.goto(`${app.url}/table/${table.id}/view/${none.id}`)
    await says(page, 'No record is in this view')
  })

  test('all records are deleted after their number was said, by one undo they are back', async () => {
    const account = await app.account()
    const table = await tableOf(account, 12)
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 1').waitFor()
    await page.getByRole('checkbox', { name: 'Select all rows' }).check()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog', { name: 'Delete 12 records?' }).getByRole('button', { name: 'Delete' }).click()
    await says(page, 'No records yet')
    await page.getByRole('columnheader', { name: 'Name' }).focus()
    await page.keyboard.press('Control+z')
    await cell(page, 'Deal 12').waitFor()
  })

  test('more than a thousand cells are pasted after their number was said', async () => {
    const account = await app.account()
    const table = await tableOf(account, 1_200)
    const page = await open(account.owner, table.id)
    await putOnClipboard(page, 'same')
    await says(page, '1,200 records')
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('Control+Shift+ArrowDown')
    await expect.poll(() => cell(page, 'Deal 1200').getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Control+v')
    await page.getByRole('dialog', { name: 'Paste 1,200 cells?' }).getByRole('button', { name: 'Paste', exact: true }).click()
    await expect.poll(() => table.read(1_200)).toMatchObject({ name: 'same' })
    await page.keyboard.press('Control+z')
    await expect.poll(() => table.read(1_200)).toMatchObject({ name: 'Deal 1200' })
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Deal 1' })
  })

  test('a column that is deleted while the grid is open goes, and a table that is deleted is not here', async () => {
    const account = await app.account()
    const table = await tableOf(account, 1_000)
    const page = await open(account.owner, table.id)
    await says(page, '1,000 records')
    await cell(page, 'Deal 1').click()
    await table.rpc.fields.delete.mutate({ table_id: table.id, field_id: 'note' })
    await page.keyboard.press('Control+End')
    await page.getByRole('columnheader', { name: 'Note' }).waitFor({ state: 'detached' })
    await cell(page, 'Deal 1000').waitFor()
    await table.rpc.tables.delete.mutate({ table_id: table.id })
    await page.getByRole('grid').waitFor({ state: 'detached' })
    await expect.poll(() => page.getByRole('main').innerText()).toMatch(/not here/i)
  })

  test('fifty columns have few elements, and axe finds nothing', async () => {
    const account = await app.account()
    const fields = Array.from({ length: 50 }, (_, index) => ({ id: index ? `f${index}` : 'name', name: `Field ${index}`, type: 'text' }))
    const table = await tableOf(account, 500, fields)
    const page = await open(account.owner, table.id)
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('End')
    await page.getByRole('columnheader', { name: 'Field 49' }).waitFor()
    await expect.poll(() => page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(3_000)
    await expectAccessible(page)
    await takePictures(page, 'grid')
  })
})
