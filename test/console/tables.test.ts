/** How admins make tables and fields in a real browser, change them and delete them. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp({}, { worker: true })

describe.skipIf(isBrowserMissing)(browserTitle('tables and fields in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  const heading = (page: Page, name: string) => page.getByRole('columnheader', { name })
  const dialog = (page: Page) => page.getByRole('dialog').or(page.getByRole('alertdialog'))
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

  async function chooseOfColumn(page: Page, column: string, action: string) {
    await heading(page, column).hover()
    await page.getByRole('button', { name: `Column ${column}` }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }

  test('a table is made, gets fields with colored options, and is deleted after its name was typed', async () => {
    const { admin, space } = await app.account()
    const { rpc } = app.as(admin)
    await signInAs(browser.context, app.url, admin)
    const { page, complaints } = await openConsole(browser.context, app.url)
    await page
      .getByRole('button', { name: /^New table in/ })
      .first()
      .click()
    await press(page, 'Create')
    await page.getByText('The table needs a name.').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Deals')
    await page.keyboard.press('Enter')
    await heading(page, 'Notes').waitFor()
    const table = (await rpc.tables.list.query({ space_id: space })).rows.find(({ name }) => name === 'Deals') ?? expect.fail('no table')

    await press(page, 'New field')
    await page.getByLabel('Name', { exact: true }).fill('Stage')
    await page.getByLabel('Type', { exact: true }).selectOption({ label: 'One option' })
    await press(page, 'Add option')
    await page.keyboard.type('Lead')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Lead')
    await press(page, 'Create')
    await page.getByText('There are two options "Lead".').waitFor()
    await page.getByLabel('Option 2').fill('Won')
    await page.getByLabel('Color of Won').selectOption({ label: 'Green' })
    await expectAccessible(page)
    await takePictures(page, 'field')
    await press(page, 'Create')
    await heading(page, 'Stage').and(page.locator(':focus')).waitFor()
    await chooseOfColumn(page, 'Stage', 'Edit field')
    await page.getByLabel('Option 1').fill('Open')
    await press(page, 'Move Won up')
    await page.getByLabel('Only admins write it').check()
    await press(page, 'Save')
    await expect.poll(() => dialog(page).count()).toBe(0)
    const { fields } = await rpc.tables.get.query({ table_id: table.id })
    expect(fields.find(({ id }) => id === 'stage')).toMatchObject({
      ...{ options: ['Won', 'Open'], admin_only: true },
      colors: { Won: 'green', Open: 'gray' },
    })

    await page.getByRole('button', { name: 'Table Deals: more' }).click()
    await page.getByRole('menuitem', { name: 'Rename table' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Sales')
    await press(page, 'Save')
    await page.getByRole('heading', { level: 1, name: 'Sales' }).waitFor()
    await page.getByRole('link', { name: 'Sales' }).waitFor()
    await page.getByRole('button', { name: 'Table Sales: more' }).click()
    await page.getByRole('menuitem', { name: 'Delete table' }).click()
    const deletion = page.getByRole('alertdialog').getByRole('button', { name: 'Delete table' })
    await expect.poll(() => deletion.isDisabled()).toBe(true)
    await page.getByLabel('To confirm, type the name of the table: Sales').fill('Sales')
    await expectAccessible(page)
    expect(complaints).toEqual([])
    // What is deleted is not gone to, however long the list of what is left takes.
    const { promise: isListed, resolve: list } = Promise.withResolvers<void>()
    await page.route('**/*tables.list*', async (route) => {
      await isListed
      await route.continue()
    })
    await deletion.click()
    await page.getByText('Make the first table').waitFor()
    list()
    await page.getByText('The table Sales is deleted').first().waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Sales' }).count()).toBe(0)
  })

  test('a field whose views need it says so before it goes, and what another changed meanwhile is said', async () => {
    const { admin, owner, space } = await app.account()
    const { rpc } = app.as(owner)
    const fields = [
      { id: 'name', name: 'Name', type: 'text' as const },
      { id: 'size', name: 'Size', type: 'text' as const },
      { id: 'stage', name: 'Stage', type: 'select' as const, options: ['Lead', 'Won'] },
    ]
    const { id } = await rpc.tables.create.mutate({ space_id: space, name: 'Deals', fields })
    await rpc.records.createBatch.mutate({
      table_id: id,
      records: [{ data: { name: 'Acme', stage: 'Won', size: '12' } }, { data: { name: 'Bolt', size: 'many' } }],
    })
    const filters = [{ column: 'stage', compare: '=', value: 'Won' }]
    const sizes = [{ column: 'size', compare: '=', value: 'many' }]
    await rpc.views.create.mutate({ table_id: id, name: 'Sized', type: 'grid', filters: sizes } as never)
    await rpc.views.create.mutate({ table_id: id, name: 'Won deals', type: 'grid', filters } as never)
    await signInAs(browser.context, app.url, admin)
    const { page } = await openConsole(browser.context, `${app.url}/table/${id}`)
    await heading(page, 'Stage').waitFor()

    await chooseOfColumn(page, 'Stage', 'Edit field')
    await press(page, 'Remove Lead')
    await rpc.fields.update.mutate({ table_id: id, field_id: 'stage', name: 'Step' })
    await press(page, 'Save')
    await page.getByText('Somebody else has changed the field meanwhile').waitFor()
    await press(page, 'Save')
    await expect.poll(() => dialog(page).count()).toBe(0)
    await expect
      .poll(async () => (await rpc.tables.get.query({ table_id: id })).fields.find((field) => field.id === 'stage')?.options)
      .toEqual(['Won'])

    await chooseOfColumn(page, 'Size', 'Edit field')
    await page.getByLabel('Name', { exact: true }).fill('People')
    await page.getByLabel('Type', { exact: true }).selectOption({ label: 'Number' })
    await page.getByText('1 of 2 values fit. 1 value would be lost for good:').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'many' }).waitFor()
    await expectAccessible(page)
    await takePictures(page, 'type')
    await press(page, 'Change type, lose 1 value')
    await page.getByText('Views need this field: Sized. These views').waitFor()
    await press(page, 'Save anyway')
    await page.getByText('People is now: Number. The views Sized are gone.').first().waitFor()
    await page.getByRole('gridcell', { name: '12', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('gridcell', { name: 'many' }).count()).toBe(0)

    await heading(page, 'Step').waitFor()
    await chooseOfColumn(page, 'Step', 'Edit field')
    await press(page, 'Remove Won')
    await press(page, 'Save')
    await page.getByRole('button', { name: 'Save anyway' }).waitFor()
    await press(page, 'Cancel')
    await chooseOfColumn(page, 'Step', 'Delete field')
    await press(page, 'Delete')
    await page.getByRole('alert').getByText('Won deals').waitFor()
    await press(page, 'Delete anyway')
    await page.getByText('Step is deleted, and with it the views Won deals').first().waitFor()
    await expect.poll(() => heading(page, 'Step').count()).toBe(0)
  })

  test('a file becomes a table after what its columns become was shown', async () => {
    const { admin, space } = await app.account()
    const { rpc } = app.as(admin)
    await signInAs(browser.context, app.url, admin)
    const { page, complaints } = await openConsole(browser.context, app.url)
    await page
      .getByRole('button', { name: /^New table in/ })
      .first()
      .click()
    await press(page, 'Import a file')
    const choose = (name: string, text: string | Buffer) =>
      page
        .getByLabel('Choose a file')
        .last()
        .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await choose('empty.csv', '')
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor()
    const day = (at: number) => `${13 + (at % 15)}.03.2026`
    const lines = [
      'Company;Size;Since;Zip;Notes',
      ...Array.from({ length: 30 }, (_, at) => `M\u00fcller ${at};${at};${day(at)};7${at % 3};x`),
    ]
    await choose('Customers.csv', Buffer.from(lines.join('\r\n'), 'latin1'))
    await page.getByText('The file has 30 rows.').waitFor()
    await expect.poll(() => page.getByLabel('Name of the table').inputValue()).toBe('Customers')
    await page.getByText('M\u00fcller 0 \u00b7 M\u00fcller 1').waitFor()
    const typeOf = (column: string) => page.getByLabel(`Type of ${column}`).locator('option:checked')
    await page.getByText('One form counts for all columns with dates, here: Since.').waitFor()
    await expect.poll(() => typeOf('Since').textContent()).toBe('Date')
    await page.getByLabel('Dates').selectOption({ label: 'Only dates such as 2026-03-31' })
    await expect.poll(() => typeOf('Since').textContent()).toBe('One option')
    await page.getByLabel('Dates').selectOption({ label: 'Also dates such as dd.MM.yyyy, as in Since' })
    await expect.poll(() => typeOf('Since').textContent()).toBe('Date')
    await page.getByLabel('Name of Company').fill('Size')
    await page.getByLabel('Type of Company').selectOption({ label: 'Number' })
    await page.getByLabel('Import Notes').uncheck()
    await press(page, 'Import')
    await page.getByText('There are two fields "Size".').waitFor()
    await page.getByLabel('Name of Company').fill('Client')
    await press(page, 'Import')
    await page.getByText('Line 2, Company: must be a number').waitFor()
    await page.getByLabel('Type of Company').selectOption({ label: 'Text' })
    await page.getByLabel('Type of Zip').selectOption({ label: 'Text' })
    await expectAccessible(page)
    await takePictures(page, 'import')
    await press(page, 'Import')
    await page.getByRole('gridcell', { name: 'M\u00fcller 0', exact: true }).waitFor()
    const table =
      (await rpc.tables.list.query({ space_id: space })).rows.find(({ name }) => name === 'Customers') ?? expect.fail('no table')
    const own = (await rpc.tables.get.query({ table_id: table.id })).fields.filter(({ key, calc }) => !key && !calc)
    expect(own.map(({ name, type }) => [name, type])).toEqual([
      ['Client', 'text'],
      ['Size', 'number'],
      ['Since', 'date'],
      ['Zip', 'text'],
    ])
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([])
  })

  test('a member finds none of it', async () => {
    const { owner, member, space } = await app.account()
    const { id } = await app
      .as(owner)
      .rpc.tables.create.mutate({ space_id: space, name: 'Deals', fields: [{ name: 'Name', type: 'text' }] })
    await signInAs(browser.context, app.url, member)
    const { page } = await openConsole(browser.context, `${app.url}/table/${id}`)
    await heading(page, 'Name').waitFor()
    await heading(page, 'Name').hover()
    await page.getByRole('button', { name: 'Column Name' }).click()
    await page.getByRole('menuitem', { name: 'Wider' }).waitFor()
    await expect.poll(() => page.getByRole('menuitem', { name: /field/ }).count()).toBe(0)
    // The open menu hides everything else.
    await page.getByRole('menuitem', { name: 'Wider' }).press('Escape')
    await page.getByRole('link', { name: 'Deals' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: /New table|New field/ }).count()).toBe(0)
  })
})
