/** The timeline of a record in a real browser: what two people write and change, live, and that nothing that is typed is lost. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../support/accounts.ts'
import { type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs, untilPagesAreGone } from '../support/console.ts'

const app = await testApp()

const FIELDS = [
  { id: 'name', name: 'Name', type: 'text' },
  { id: 'amount', name: 'Amount', type: 'number' },
  { id: 'stage', name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
] as const

/** A script that drops or pastes a file where the focus is. */
const giving = (event: string, type: string, data: string, name: string) => `
  const files = new DataTransfer()
  files.items.add(new File(['x'], '${name}', { type: 'text/plain' }))
  document.activeElement.dispatchEvent(new ${event}('${type}', { bubbles: true, cancelable: true, ${data}: files }))`

/** A script that tells whether the entries in the page cover all of the timeline that is in sight. */
const IS_FILLED = `(() => {
  const [sight, feed] = ['.content', '.feed'].map((place) => document.querySelector(place).getBoundingClientRect())
  const [top, bottom] = [Math.max(sight.top, feed.top), Math.min(sight.bottom, feed.bottom)]
  const entries = [...document.querySelectorAll('.feed-entry')].map((entry) => entry.getBoundingClientRect())
  return top >= bottom || (entries.some((one) => one.top <= top + 1) && entries.some((one) => one.bottom >= bottom - 1))
})()`

describe.skipIf(isBrowserMissing)(browserTitle('the timeline of a record in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
  })
  afterAll(() => browser?.close())

  async function dealOf({ owner, admin, space }: TestAccount) {
    const { rpc } = app.as(owner)
    const { id: table } = await rpc.tables.create.mutate({ space_id: space, name: 'Deals', fields: FIELDS as never })
    const { id: record } = await rpc.records.create.mutate({ table_id: table, data: { name: 'Acme', amount: 10, stage: 'Lead' } })
    const at = { table_id: table, record_id: record }
    // With a session that no test ends.
    const contents = async () => (await app.as(admin).rpc.comments.list.query(at)).rows.map(({ content }) => content)
    return { at, path: `/table/${table}/record/${record}`, rpc, contents }
  }

  async function open(person: Person, path: string): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, app.url + path)
    await page.getByRole('feed', { name: 'Timeline' }).waitFor()
    return page
  }

  const field = (page: Page) => page.getByRole('textbox', { name: 'Comment' })
  const entries = (page: Page) => page.getByRole('feed').getByRole('article')
  const labels = (page: Page) => entries(page).evaluateAll((all) => all.map((one) => one.ariaLabel))
  const entryOf = (page: Page, text: string) => entries(page).filter({ hasText: text })
  const topOf = async (entry: Locator) => Math.round((await entry.boundingBox())?.y ?? Number.NaN)

  test('shows comments, changes and tasks, the newest first, with what others do, and each kind can be left out', async () => {
    const account = await app.account()
    const { at, path, rpc } = await dealOf(account)
    const member = app.as(account.member).rpc
    await rpc.records.update.mutate({ ...at, data: { stage: 'Won', amount: 12 } })
    await rpc.comments.create.mutate({ ...at, content: '<img src=x onerror=alert(1)> \u202eevil https://example.com/a.' })
    const page = await open(account.owner, path)
    await expect
      .poll(() => labels(page))
      .toEqual(['Olga Owner wrote', 'Olga Owner changed Amount and Stage', 'Olga Owner created the record'])
    await page.getByRole('link', { name: 'https://example.com/a', exact: true }).waitFor()
    await expect.poll(() => page.locator('img[src=x]').count()).toBe(0)

    const { id } = await member.comments.create.mutate({ ...at, content: `Hello @{${account.owner.id}:Olga Owner}` })
    await entryOf(page, 'Hello @Olga Owner').waitFor()
    await member.tasks.createOnRecord.mutate({ ...at, title: 'Call Ann' })
    await entryOf(page, 'Call Ann').waitFor()
    await member.comments.update.mutate({ ...at, comment_id: id, content: 'Good morning' })
    await entryOf(page, 'Good morning').getByText('edited').waitFor()
    await member.records.update.mutate({ ...at, data: { amount: 15 } })
    await entryOf(page, 'Max Member changed Amount').waitFor()
    await member.comments.delete.mutate({ ...at, comment_id: id })
    await entryOf(page, 'Good morning').waitFor({ state: 'detached' })
    await takePictures(page, 'timeline')
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Changes', exact: true }).click()
    // Of the same second either may be the first.
    const left = async () => new Set(await labels(page))
    await expect.poll(left).toEqual(new Set(['Task “Call Ann”', 'Olga Owner wrote']))
    await expect.poll(async () => (await rpc.preferences.list.query({ prefix: 'console.timeline' })).rows[0]?.value).toBe('changes')
    await page.reload()
    await expect.poll(left).toEqual(new Set(['Task “Call Ann”', 'Olga Owner wrote']))
  })

  test('a change has its values before and after, and is taken back there', async () => {
    const account = await app.account()
    const { at, path, rpc } = await dealOf(account)
    const member = app.as(account.member).rpc
    await rpc.records.update.mutate({ ...at, data: { amount: 12, stage: 'Won' } })
    const { id: other } = await rpc.records.create.mutate({ table_id: at.table_id, data: { name: 'Bolt' } })
    await rpc.records.updateBatch.mutate({
      table_id: at.table_id,
      records: [at.record_id, other].map((id) => ({ id, data: { name: 'Same' } })),
    })
    await member.records.update.mutate({ ...at, data: { amount: 20 } })
    const page = await open(account.owner, path)
    const changed = entryOf(page, 'changed Amount and Stage')
    const values = async () => (await changed.getByRole('definition').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))
    await expect.poll(values).toEqual(['before: 10 after: 12', 'before: Lead after: Won'])
    await entryOf(page, 'changed Name, with 1 other record').waitFor()

    await changed.getByRole('button', { name: 'Undo' }).click()
    const said = page.getByRole('region', { name: 'What has happened' })
    await said.getByText('The change was taken back. Left as it is: Amount (changed since).').waitFor()
    await entryOf(page, 'took back a change of Stage').waitFor()
    expect((await rpc.records.get.query(at)).data).toMatchObject({ amount: 20, stage: 'Lead' })

    await entryOf(page, 'changed Name, with').getByRole('button', { name: 'Undo' }).click()
    await page
      .getByRole('alertdialog', { name: 'Take the change of 2 records back?' })
      .getByRole('button', { name: 'Take it back' })
      .click()
    await entryOf(page, 'took back a change of Name, with 1 other record').waitFor()

    const others = await open(account.member, path)
    await entryOf(others, 'Max Member changed Amount').getByRole('button', { name: 'Undo' }).waitFor()
    await entryOf(others, 'changed Amount and Stage').waitFor()
    await expect.poll(() => entryOf(others, 'changed Amount and Stage').getByRole('button').count()).toBe(0)
    const readers = await open(account.viewer, path)
    await entries(readers).first().waitFor()
    await expect.poll(() => readers.getByRole('feed').getByRole('button').count()).toBe(0)
    await expect.poll(() => field(readers).count()).toBe(0)
  })

  test('a comment is written, edited and deleted by keys alone', async () => {
    const account = await app.account()
    const { path, contents } = await dealOf(account)
    const page = await open(account.member, path)
    const keys = page.keyboard
    await field(page).focus()
    await keys.type('Hi @vera')
    const people = page.getByRole('listbox', { name: 'People' }).getByRole('option')
    await expect.poll(() => people.allInnerTexts()).toEqual([expect.stringContaining('Vera Viewer')])
    await expectAccessible(page)
    await keys.press('Enter')
    await keys.type('and @nobody here')
    await expect.poll(() => field(page).inputValue()).toBe('Hi @Vera Viewer and @nobody here')
    await keys.press('Control+Enter')
    await entryOf(page, 'Hi @Vera Viewer and @nobody here').waitFor()
    expect(await contents()).toEqual([`Hi @{${account.viewer.id}:Vera Viewer} and @nobody here`])
    await expect.poll(() => field(page).inputValue()).toBe('')
    const { rows } = await app.as(account.viewer).rpc.notifications.list.query({})
    expect(rows.map(({ event_type }) => event_type)).toContain('comment.mention')

    const entry = entryOf(page, 'Hi @Vera')
    await entry.getByText(/1[0-5] min left/).waitFor()
    await entry.getByRole('button', { name: 'Edit' }).focus()
    await keys.press('Enter')
    await entry.getByRole('textbox', { name: 'Text' }).and(page.locator(':focus')).waitFor()
    await keys.press('Control+End')
    await keys.type('!')
    await keys.press('Control+Enter')
    await entry.getByText('edited').waitFor()
    expect(await contents()).toEqual([`Hi @{${account.viewer.id}:Vera Viewer} and @nobody here!`])

    await entry.getByRole('button', { name: 'Delete' }).focus()
    await keys.press('Enter')
    const question = page.getByRole('alertdialog', { name: 'Delete the comment?' })
    await question.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor()
    await question.getByRole('button', { name: 'Delete' }).focus()
    await keys.press('Enter')
    await entry.waitFor({ state: 'detached' })
    expect(await contents()).toEqual([])
  })

  test('files come by choice, drop and paste, and one can be taken out again', async () => {
    const account = await app.account()
    const { at, path, rpc } = await dealOf(account)
    const page = await open(account.member, path)
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })
    await page.locator('.comment-field input[type=file]').setInputFiles([file('one.txt'), file('two.txt')])
    await page.getByRole('link', { name: 'one.txt' }).waitFor()
    await field(page).focus()
    await page.evaluate(giving('DragEvent', 'drop', 'dataTransfer', 'three.txt'))
    await page.getByRole('link', { name: 'three.txt' }).waitFor()
    await page.evaluate(giving('ClipboardEvent', 'paste', 'clipboardData', 'four.txt'))
    await page.getByRole('link', { name: 'four.txt' }).waitFor()
    await page.getByRole('button', { name: 'Remove two.txt' }).click()
    await page.reload()
    await page.getByRole('link', { name: 'four.txt' }).waitFor()
    await page.getByRole('button', { name: 'Add comment' }).click()
    await entries(page).getByRole('link', { name: 'three.txt' }).waitFor()
    const [comment] = (await rpc.comments.list.query(at)).rows
    expect(comment?.content).toBe('')
    expect(comment?.attachments.map(({ name }) => name).sort()).toEqual(['four.txt', 'one.txt', 'three.txt'])
  })
  test('nothing that is typed is lost, and nothing is there twice, whatever breaks', async () => {
    const account = await app.account({ withPassword: true })
    const { at, path, rpc, contents } = await dealOf(account)
    let page = await open(account.owner, path)
    const reopen = async () => {
      await page.close()
      await untilPagesAreGone(browser.context, app.url)
      page = await open(account.owner, path)
    }
    // A comment is sent once the one before has been answered.
    const send = async () => {
      await page.getByRole('button', { name: 'Add comment', disabled: false }).waitFor()
      await field(page).press('Control+Enter')
    }
    const draft = `draft.comment.${at.table_id}.${at.record_id}`
    const keptHere = async () => (await page.evaluate<string[]>('Object.keys(localStorage)')).filter((key) => key.includes(` ${draft} `))
    const keptThere = async () => (await rpc.preferences.list.query({ prefix: draft })).rows
    // The tab is gone while one types.
    await field(page).pressSequentially('First')
    await reopen()
    await expect.poll(() => field(page).inputValue()).toBe('First')

    // The answer is lost, and with it the tab.
    const held = Promise.withResolvers<void>()
    await page.route('**/trpc/comments.create*', async (route) => {
      await route.fetch()
      held.resolve()
    })
    await send()
    await held.promise
    expect(await contents()).toEqual(['First'])
    await reopen()
    await entryOf(page, 'First').waitFor()
    await expect.poll(() => field(page).inputValue()).toBe('')
    // What this page has sent once more is answered then: there is no draft any more, in the browser or after it on the service.
    await expect.poll(async () => [await keptHere(), await keptThere()]).toEqual([[], []])
    expect(await contents()).toEqual(['First'])

    // The service and then the network are away; what is written meanwhile is kept apart.
    await page.route('**/trpc/comments.create*', (route) => route.fulfill({ status: 503, body: '' }))
    await field(page).pressSequentially('Second')
    await send()
    await page.getByText('There is no connection. The comment is sent as soon as there is one.').waitFor()
    await browser.context.setOffline(true)
    await page.unroute('**/trpc/comments.create*')
    await field(page).pressSequentially('Third')
    await takePictures(page, 'timeline-offline')
    await browser.context.setOffline(false)
    await entryOf(page, 'Second').waitFor()
    expect(await contents()).toEqual(['Second', 'First'])
    await expect.poll(() => field(page).inputValue()).toBe('Third')

    // The session has ended.
    await page.route(
      '**/trpc/comments.create*',
      async (route) => {
        await app.as(account.owner).rpc.auth.logout.mutate()
        await route.continue()
      },
      { times: 1 },
    )
    await send()
    const dialog = page.getByRole('alertdialog', { name: 'You are signed out' })
    await dialog.getByLabel('Password', { exact: true }).fill(account.owner.password)
    await dialog.getByLabel('Password', { exact: true }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await entryOf(page, 'Third').waitFor()

    // The service refuses it: it is in the field again.
    await field(page).fill('x'.repeat(50_001))
    await send()
    await page.getByText('content: must have at most 50000 characters').waitFor()
    await expect.poll(async () => (await field(page).inputValue()).length).toBe(50_001)
    await field(page).fill('Fourth')
    await send()
    await entryOf(page, 'Fourth').waitFor()
    expect(await contents()).toEqual(['Fourth', 'Third', 'Second', 'First'])
  })

  test('what is written in a comment that another page has deleted comes back to the field', async () => {
    const account = await app.account()
    const { at, path, rpc, contents } = await dealOf(account)
    const { id } = await rpc.comments.create.mutate({ ...at, content: 'Plan' })
    const page = await open(account.owner, path)
    await entryOf(page, 'Plan').getByRole('button', { name: 'Edit' }).click()
    const text = entries(page).getByRole('textbox', { name: 'Text' })
    await text.and(page.locator(':focus')).waitFor()
    await text.pressSequentially(' and more')
    await expect.poll(async () => (await rpc.preferences.list.query({ prefix: 'draft.comment.' })).total).toBe(1)
    await page.reload()
    await expect.poll(() => text.inputValue()).toBe('Plan and more')
    await rpc.comments.update.mutate({ ...at, comment_id: id, content: 'Plan B' })
    await page.getByText('It was changed elsewhere meanwhile. Saving replaces this: Plan B').waitFor()
    await rpc.comments.delete.mutate({ ...at, comment_id: id })
    await expect.poll(() => field(page).inputValue()).toBe('Plan and more')
    await field(page).press('Control+Enter')
    await expect.poll(contents).toEqual(['Plan and more'])
  })

  test('of two pages with the same draft the later one asks', async () => {
    const account = await app.account()
    const { path, rpc, contents } = await dealOf(account)
    const [first, second] = [await open(account.owner, path), await open(account.owner, path)]
    // Neither page knows of the other's draft before it has one itself.
    const isStored = Promise.withResolvers<void>()
    await second.route('**/trpc/preferences.update*', async (route) => {
      await isStored.promise
      await route.continue()
    })
    await field(second).pressSequentially('Two')
    await field(first).pressSequentially('One')
    const stored = async () => (await rpc.preferences.list.query({ prefix: 'draft.comment.' })).rows.map(({ value }) => value)
    await expect.poll(stored).toMatchObject([{ value: { content: 'One' } }])
    isStored.resolve()
    const question = second.getByRole('alert').filter({ hasText: 'This draft was changed in another window' })
    await question.getByText('The other one: One').waitFor()
    await question.getByRole('button', { name: 'Take the other one' }).click()
    await question.waitFor({ state: 'detached' })
    await expect.poll(() => field(second).inputValue()).toBe('One')
    // It does not hear that the draft is gone, and what it sends has the key of what was sent.
    await first.route('**/trpc/preferences.*', (route) => route.abort())
    await field(second).press('Control+Enter')
    await expect.poll(contents).toEqual(['One'])
    await field(first).pressSequentially(' more')
    await field(first).press('Control+Enter')
    await first.getByText('Another page has sent this draft with another text. This one was not sent.').waitFor()
    await expect.poll(() => field(first).inputValue()).toBe('One more')
    expect(await contents()).toEqual(['One'])
  })

  test('goes to the entry that the address names, and stays where one reads while others write', async () => {
    const account = await app.account()
    const { at, path, rpc } = await dealOf(account)
    const member = app.as(account.member).rpc
    const ids: number[] = []
    for (let number = 1; number <= 90; number += 1) {
      const { id } = await rpc.comments.create.mutate({ ...at, content: `Note ${number}.${'\nline'.repeat(number % 7)}` })
      ids.push(id)
      if (number % 10 === 0) await rpc.records.update.mutate({ ...at, data: { amount: number } })
    }
    const page = await open(account.owner, `${path}?entry=${ids[29]}`)
    const marked = page.locator('[data-marked]')
    await marked.waitFor()
    await expect.poll(() => marked.innerText()).toContain('Note 30.')
    await expect.poll(() => topOf(marked)).toBeLessThan(1000)
    await expectAccessible(page)

    // What is above changes: new entries, one that is gone, one that grows.
    const before = await topOf(marked)
    await member.comments.create.mutate({ ...at, content: 'New' })
    await member.records.update.mutate({ ...at, data: { name: 'Other' } })
    await rpc.comments.update.mutate({ ...at, comment_id: ids[33] as number, content: 'Grown\n'.repeat(9) })
    await app.as(account.owner).rpc.comments.delete.mutate({ ...at, comment_id: ids[34] as number })
    await entryOf(page, 'Grown').waitFor({ state: 'attached' })
    await entryOf(page, 'Note 35.').waitFor({ state: 'detached' })
    await expect.poll(async () => Math.abs((await topOf(marked)) - before)).toBeLessThanOrEqual(1)

    // Everything comes once, in the order of the service, while one scrolls.
    const seen = new Set<string>()
    const look = async () => {
      for (const text of await entries(page)
        .getByText(/^Note \d+\./)
        .allInnerTexts())
        seen.add(text.split('.')[0] ?? '')
    }
    const scroller = page.locator('.content')
    for (const direction of [1, -1]) {
      for (let step = 0; step < 20; step += 1) {
        await look()
        await scroller.evaluate((element, by) => element.scrollBy(0, by), direction * 700)
        await expect.poll(() => page.evaluate(IS_FILLED)).toBe(true)
      }
    }
    await look()
    await entryOf(page, 'Max Member changed Name').waitFor()
    expect(seen.size).toBe(88)
  })
})
