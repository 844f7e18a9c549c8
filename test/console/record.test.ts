/** A record in a real browser, beside its grid and on its page, by role, label and key. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp({}, { worker: true })

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe.skipIf(isBrowserMissing)(browserTitle('a record in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'America/Bogota' })
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  })
  afterAll(() => browser?.close())

  /** Deals of companies, `Deal 1` and so on, of which the first two are of Acme. */
  async function deals({ owner, space }: TestAccount, count = 5) {
    const { rpc } = app.as(owner)
    const companies = await rpc.tables.create.mutate({
      space_id: space,
      name: `Companies ${Math.random()}`,
      fields: [
        { id: 'name', name: 'Name', type: 'text' },
        { id: 'parent', name: 'Parent', type: 'text' },
      ],
    })
    await rpc.records.create.mutate({ table_id: companies.id, data: { name: 'Acme', parent: 'Globex' } })
    const table = await rpc.tables.create.mutate({
      space_id: space,
      name: `Deals ${Math.random()}`,
      fields: [
        { id: 'name', name: 'Name', type: 'text', required: true },
        { id: 'amount', name: 'Amount', type: 'number', decimals: 2 },
        { id: 'stage', name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
        { id: 'done', name: 'Done', type: 'checkbox' },
        { id: 'note', name: 'Note', type: 'long_text' },
        { id: 'company', name: 'Company', type: 'lookup', table: companies.id },
        { id: 'files', name: 'Files', type: 'file' },
        { id: 'secret', name: 'Secret', type: 'text', admin_only: true },
      ],
    })
    const numbers = Array.from({ length: count }, (_, index) => index + 1)
    const records = numbers.map((number) => ({
      data: { name: `Deal ${number}`, amount: number, stage: number === 1 ? 'Lead' : 'Won', ...(number < 3 && { company: 1 }) },
    }))
    await rpc.records.createBatch.mutate({ table_id: table.id, records })
    const read = async (id: number) => (await rpc.records.get.query({ table_id: table.id, record_id: id })).data
    return { id: table.id, companies: companies.id, rpc, read }
  }

  async function open(person: TestAccount['owner'], path: string): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    return (await openConsole(browser.context, `${app.url}${path}`)).page
  }
  const cell = (page: Page, name: string) => page.getByRole('gridcell', { name, exact: true })
  const panel = (page: Page) => page.getByRole('complementary', { name: 'Record' })
  const title = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })
  /** The button that opens the editor of a field. */
  const field = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  const focused = (page: Page) => page.evaluate('document.activeElement.textContent')

  test('by keys alone a record is opened beside its grid, edited, undone, left for the next one, and closed', async () => {
    const account = await app.account()
    const table = await deals(account)
    const page = await open(account.owner, `/table/${table.id}`)
    await cell(page, 'Deal 2').click()
    await page.keyboard.press('Space')
    await panel(page).getByRole('heading', { level: 2, name: 'Deal 2' }).waitFor()
    await expect.poll(() => page.url()).toContain('?record=2')
    await expect.poll(() => focused(page)).toBe('Deal 2')

    await field(page, 'Amount').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Amount' }).fill('many')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').first().waitFor()
    await page.getByRole('textbox', { name: 'Amount' }).fill('1250.5')
    await page.keyboard.press('Tab')
    await expect.poll(() => table.read(2)).toMatchObject({ amount: 1250.5 })
    await cell(page, '1,250.50').waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("aria-labelledby") !== null')).toBe(true)
    await page.keyboard.press('Enter')
    await page
      .getByRole('combobox', { name: 'Stage' })
      .or(page.getByRole('textbox', { name: 'Stage' }))
      .first()
      .fill('Lead')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(2)).toMatchObject({ stage: 'Lead' })
    await page.getByRole('checkbox', { name: 'Done' }).last().press('Space')
    await expect.poll(() => table.read(2)).toMatchObject({ done: true })

    await field(page, 'Note').press('F2')
    await page.keyboard.type('One')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Two')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => table.read(2)).toMatchObject({ note: 'One\nTwo' })
    await page.keyboard.press('Control+z')
    await says(page, 'Undone: Edit.')
    await expect.poll(() => table.read(2)).toMatchObject({ note: null })
    await page.keyboard.press('Control+Shift+z')
    await expect.poll(() => table.read(2)).toMatchObject({ note: 'One\nTwo' })

    await page.keyboard.press('j')
    await title(page, 'Deal 3').waitFor()
    await expect.poll(() => focused(page)).toBe('Deal 3')
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    await title(page, 'Deal 1').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Previous record' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await panel(page).waitFor({ state: 'detached' })
    await expect.poll(() => page.locator('[role=gridcell]:focus').innerText()).toContain('Deal 1')
    await page.goBack()
    await title(page, 'Deal 1').waitFor()
  })

  test('what another changes is shown at once, asked about if it is the same field, and what is refused or offline is kept', async () => {
    const account = await app.account()
    const table = await deals(account)
    const other = app.as(account.member).rpc
    const page = await open(account.owner, `/table/${table.id}/record/1`)
    await page.getByRole('heading', { level: 1, name: 'Deal 1' }).waitFor()
    await field(page, 'Name').click()
    await other.records.update.mutate({ table_id: table.id, record_id: 1, data: { amount: 77 } })
    await says(page, '77.00')
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine')
    await other.records.update.mutate({ table_id: table.id, record_id: 1, data: { name: 'Theirs' } })
    await title(page, 'Theirs').waitFor()
    await page.keyboard.press('Enter')
    const question = page.getByRole('dialog', { name: 'Somebody else has changed this meanwhile' })
    await expect.poll(() => question.innerText()).toMatch(/Mine[\s\S]*Theirs/)
    await question.getByRole('button', { name: 'Keep mine' }).click()
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Mine', amount: 77 })

    await field(page, 'Name').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('')
    await page.keyboard.press('Enter')
    await says(page, /Not saved: .*required/)
    await expect.poll(() => field(page, 'Name').getAttribute('aria-invalid')).toBe('true')
    await field(page, 'Name').click()
    await expect.poll(() => page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('')
    await page.keyboard.press('Escape')
    await page
      .getByText(/Not saved/)
      .first()
      .waitFor({ state: 'detached' })

    await browser.context.setOffline(true)
    await field(page, 'Name').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Offline')
    await page.keyboard.press('Enter')
    await says(page, 'Not connected. 1 change waits, and is sent again by itself.')
    await title(page, 'Mine').waitFor()
    await browser.context.setOffline(false)
    await expect.poll(() => table.read(1)).toMatchObject({ name: 'Offline' })
    await title(page, 'Offline').waitFor()
  })

  test('what was not saved when a page ended goes on in the next one, and is done once', async () => {
    const account = await app.account()
    const table = await deals(account)
    const address = `/table/${table.id}/record/1`
    const page = await open(account.owner, address)
    // The service does what it is told, and its answer does not come.
    await page.route('**/records.updateBatch*', async (route) => void (await route.fetch()))
    await field(page, 'Amount').click()
    await page.getByRole('textbox', { name: 'Amount' }).fill('5')
    await page.keyboard.press('Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ amount: 5 })
    await field(page, 'Stage').click()
    await page.keyboard.type('Won')
    await page.keyboard.press('Enter')
    // The options may be loaded only then.
    await field(page, 'Stage').waitFor()
    await field(page, 'Note').click()
    await page.keyboard.type('Half a sentence')
    const kept = 'Object.values(localStorage).some((text) => text.includes("Half a sentence"))'
    await expect.poll(() => page.evaluate(kept)).toBe(true)
    await page.close()

    const next = await open(account.owner, address)
    await expect.poll(() => table.read(1)).toMatchObject({ amount: 5, stage: 'Won', note: null })
    await says(next, /the page ended while this was typed/)
    await field(next, 'Note').click()
    await expect.poll(() => next.getByRole('textbox', { name: 'Note' }).inputValue()).toBe('Half a sentence')
    await next.keyboard.press('Control+Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ note: 'Half a sentence' })
    const { rows } = await table.rpc.records.history.query({ table_id: table.id, record_id: 1 })
    expect(rows.map(({ kind, changes }) => [kind, ...(changes ?? []).map(({ name }) => name)])).toEqual([
      ['update', 'Note'],
      ['update', 'Stage'],
      ['update', 'Amount'],
      ['create'],
    ])
    await expect.poll(() => next.evaluate(`Object.keys(localStorage).filter((name) => name.includes(" edits.${table.id} "))`)).toEqual([])
  })

  test('a linked record is opened in the panel, and the browser goes back; the page has its own address', async () => {
    const account = await app.account()
    const table = await deals(account)
    const page = await open(account.owner, `/table/${table.id}?record=1`)
    await panel(page).getByRole('link', { name: 'Acme' }).click()
    await panel(page).getByRole('heading', { name: 'Acme' }).waitFor()
    await says(page, 'Globex')
    await expect.poll(() => page.getByRole('grid').count()).toBe(1)
    await page.goBack()
    await title(page, 'Deal 1').waitFor()
    await page.goForward()
    await title(page, 'Acme').waitFor()
    await page.getByRole('button', { name: 'Back', exact: true }).click()
    await title(page, 'Deal 1').waitFor()
    await page.getByRole('link', { name: 'Open as a page' }).click()
    await page.getByRole('heading', { level: 1, name: 'Deal 1' }).waitFor()
    // Also pressed before it is known what stands beside the record.
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key)
    await title(page, 'Deal 4').waitFor()
    for (const key of ['k', 'k']) await page.keyboard.press(key)
    await title(page, 'Deal 2').waitFor()
    await expect.poll(() => page.url()).toContain(`/table/${table.id}/record/2`)
    await page.getByRole('link', { name: 'Acme' }).click()
    await title(page, 'Acme').waitFor()
    await page.goBack()
    await title(page, 'Deal 2').waitFor()
    await expectAccessible(page)
  })

  test('files are dropped anywhere on a record, shown as pictures, downloaded and removed', async () => {
    const account = await app.account()
    const table = await deals(account)
    const page = await open(account.owner, `/table/${table.id}?record=1`)
    await page.getByRole('button', { name: 'Choose files for Files' }).waitFor()
    const files = async () => ((await table.read(1)).files as { name: string }[]).map(({ name }) => name)
    await page
      .locator('.record-files input[type=file]')
      .setInputFiles({ name: 'a <b>.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') })
    await page.getByRole('link', { name: 'a <b>.png', exact: true }).waitFor()
    await title(page, 'Deal 1').evaluate((target) => {
      // biome-ignore lint/suspicious/noExplicitAny: the names of a browser are unknown to the tests' compiler
      const { DataTransfer, DragEvent, File } = globalThis as any
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }))
      for (const name of ['dragover', 'drop']) target.dispatchEvent(new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }))
    })
    await page.getByRole('link', { name: 'dropped.txt', exact: true }).waitFor()
    await expect.poll(files).toEqual(['a <b>.png', 'dropped.txt'])
    await expect
      .poll(() => page.locator('.file-preview img').evaluate((image) => (image as { naturalWidth?: number }).naturalWidth))
      .toBe(1)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download dropped.txt' }).click()
    expect((await download).suggestedFilename()).toBe('dropped.txt')
    await page.getByRole('button', { name: 'Remove a <b>.png' }).click()
    await page.getByRole('link', { name: 'a <b>.png', exact: true }).waitFor({ state: 'detached' })
    await expect.poll(files).toEqual(['dropped.txt'])
  })

  test('a record is deleted and brought back by its message, by Ctrl+Z and from the list of deleted records', async () => {
    const account = await app.account()
    const table = await deals(account)
    const page = await open(account.member, `/table/${table.id}?record=1`)
    const undo = page.getByRole('button', { name: 'Undo' })
    const remove = async () => {
      await cell(page, 'Deal 1').waitFor()
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Delete the record' }).click()
      // The page has the answer then, and keeps the message for the pointer.
      await undo.hover()
      await cell(page, 'Deal 1').waitFor({ state: 'detached' })
    }
    await title(page, 'Deal 1').waitFor()
    await remove()
    await undo.click()
    await cell(page, 'Deal 1').waitFor()
    await cell(page, 'Deal 1').click()
    await page.keyboard.press('Space')
    await title(page, 'Deal 1').waitFor()
    await remove()
    await cell(page, 'Deal 2').click()
    await page.keyboard.press('Control+z')
    await cell(page, 'Deal 1').waitFor()

    for (const id of [1, 4]) await table.rpc.records.delete.mutate({ table_id: table.id, record_id: id })
    await page.getByRole('button', { name: /^Table Deals/ }).click()
    await page.getByRole('menuitem', { name: 'Deleted records' }).click()
    const list = page.getByRole('dialog')
    await list.getByRole('button', { name: 'Bring back Deal 4' }).waitFor()
    await expectAccessible(page)
    await list.getByLabel('Search by title').fill('deal 1')
    await list.getByRole('button', { name: 'Bring back Deal 4' }).waitFor({ state: 'detached' })
    await list.getByRole('button', { name: 'Bring back Deal 1' }).click()
    await list.getByRole('button', { name: 'Open Deal 1' }).click()
    await panel(page).getByRole('heading', { name: 'Deal 1' }).waitFor()
    await cell(page, 'Deal 1').waitFor()

    // Hidden texts scroll with the panel: the page beside it has nothing to scroll.
    await page.setViewportSize({ width: 1280, height: 400 })
    await panel(page).getByRole('button', { name: 'Write a mail' }).click()
    await panel(page).getByLabel('Subject', { exact: true }).waitFor()
    const beyond = () => page.locator('.content').evaluate((content) => content.scrollHeight - content.clientHeight)
    await expect.poll(beyond).toBe(0)
  })

  test('a record that is deleted or lost while it is open says so in words, and what is typed stays', async () => {
    const account = await app.account()
    const table = await deals(account)
    const page = await open(account.member, `/table/${table.id}/record/1`)
    const comment = page.getByRole('textbox', { name: 'Comment' })
    await comment.fill('Half a comment')
    await field(page, 'Note').click()
    await page.getByRole('textbox', { name: 'Note' }).fill('Typed')
    await table.rpc.records.delete.mutate({ table_id: table.id, record_id: 1 })
    await says(page, /“Deal 1” was deleted by/)
    await expect.poll(() => page.getByRole('textbox', { name: 'Note' }).inputValue()).toBe('Typed')
    await page.keyboard.press('Control+Enter')
    await says(page, /You typed: Typed/)
    await says(page, 'This cannot be saved any more.')
    await expect.poll(() => comment.inputValue()).toBe('Half a comment')
    await takePictures(page, 'record-gone')
    await page.getByRole('button', { name: 'Bring back' }).click()
    await page.getByText(/was deleted by/).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add comment' }).waitFor()
    await expect.poll(() => comment.inputValue()).toBe('Half a comment')
    await field(page, 'Note').click()
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => table.read(1)).toMatchObject({ note: 'Typed' })

    await field(page, 'Note').click()
    await page.getByRole('textbox', { name: 'Note' }).fill('Typed again')
    await table.rpc.spaces.removeMember.mutate({ space_id: account.space, user_id: account.member.id })
    await says(page, /You may no longer see this table/)
    await expect.poll(() => page.getByRole('textbox', { name: 'Note' }).inputValue()).toBe('Typed again')
    await table.rpc.spaces.addMember.mutate({ space_id: account.space, email: account.member.email, role: 'member' })

    await page.goto(`${app.url}/table/${table.id}/record/999`)
    await page.getByRole('heading', { level: 1, name: 'This record is not here' }).waitFor()
    await page.goto(`${app.url}/table/999999/record/1`)
    await page
      .getByRole('main')
      .getByText(/not here/i)
      .first()
      .waitFor()
  })

  test('a viewer follows a record, and may change nothing; a member is told of what is for admins', async () => {
    const account = await app.account()
    const table = await deals(account)
    const page = await open(account.viewer, `/table/${table.id}?record=1`)
    const follow = page.getByRole('button', { name: 'Follow', exact: true })
    await follow.waitFor()
    // What the page has asked before is answered only after one follows.
    const [asked, followed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route('**/subscriptions.status*', async (route) => {
      const answer = await route.fetch()
      asked.resolve()
      await followed.promise
      await route.fulfill({ response: answer })
    })
    await table.rpc.records.update.mutate({ table_id: table.id, record_id: 1, data: { amount: 7 } })
    await asked.promise
    await follow.click()
    await page.getByRole('button', { name: 'Following', pressed: true }).waitFor()
    const status = () => app.as(account.viewer).rpc.subscriptions.status.query({ table_id: table.id, record_id: 1 })
    await expect.poll(status).toMatchObject({ record: true })
    const answered = page.waitForResponse('**/subscriptions.status*')
    followed.resolve()
    await answered
    await page.getByRole('button', { name: 'Following' }).click()
    await expect.poll(status).toMatchObject({ record: false })
    await expect.poll(() => field(page, 'Name').count()).toBe(0)
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem').first().waitFor()
    await expect.poll(() => page.getByRole('menuitem').allInnerTexts()).toEqual(['Copy the link'])
    await page.getByRole('menuitem', { name: 'Copy the link' }).click()
    await says(page, 'The link is copied.')
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(`${app.url}/table/${table.id}/record/1`)

    const member = await open(account.member, `/table/${table.id}?record=1`)
    await panel(member).and(member.locator('[aria-busy=false]')).waitFor()
    await field(member, 'Name').waitFor()
    await expect.poll(() => field(member, 'Secret').count()).toBe(0)
    await member.getByTitle('Only admins of the space can change this field').waitFor()
  })

  test('a record outside of the view says why; hostile values are text; a narrow screen has room for it', async () => {
    const account = await app.account()
    const table = await deals(account)
    const view = await table.rpc.views.create.mutate({
      ...{ table_id: table.id, type: 'grid', name: 'Won deals' },
      filters: [{ column: 'stage', compare: '=', value: 'Won' }],
    })
    const hostile = '<img src=x onerror=alert(1)>'
    await table.rpc.records.update.mutate({
      table_id: table.id,
      record_id: 1,
      data: { name: hostile, note: `${hostile}${'long '.repeat(300)}` },
    })
    await signInAs(browser.context, app.url, account.owner)
    const { page, complaints } = await openConsole(browser.context, `${app.url}/table/${table.id}/view/${view.id}?record=1`)
    await title(page, hostile).waitFor()
    await says(page, 'Not in this view: Won deals')
    await says(page, /Stage is "?Lead"?, the view wants "?Won"?/)
    const next = page.getByRole('button', { name: 'Next record' })
    await next.press('Enter')
    await title(page, 'Deal 2').waitFor()
    await expect.poll(() => next.isEnabled()).toBe(true)
    await page.keyboard.press('Enter')
    await title(page, 'Deal 3').waitFor()
    await page.getByRole('button', { name: 'Edit' }).waitFor({ state: 'detached' })
    await page.setViewportSize({ width: 390, height: 780 })
    await page.goto(`${app.url}/table/${table.id}?record=1`)
    await title(page, hostile).waitFor()
    await expect.poll(() => panel(page).boundingBox()).toMatchObject({ x: 0, width: 390 })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })
})
