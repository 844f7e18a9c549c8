/** Tasks in a real browser: lists by when they are due, quick add, the task itself, and tasks on a record, by role, label and key. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import { serveBeside } from '../support/another-process.ts'
import { type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp({}, { worker: true })

/** A Monday that the service's clock will not reach soon. In Berlin it is 10:00, in Los Angeles 1:00, in Kiritimati 23:00. */
const MONDAY = new Date('2037-11-30T09:00:00Z')

describe.skipIf(isBrowserMissing)(browserTitle('tasks in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'America/Bogota' })
  })
  afterAll(() => browser?.close())

  /** An account whose people are in Berlin. */
  async function inBerlin(): Promise<TestAccount> {
    const account = await app.account()
    for (const person of [account.owner, account.member, account.viewer]) await livesIn(person, 'Europe/Berlin')
    return account
  }
  const livesIn = (person: TestAccount['owner'], timezone: string) => app.as(person).rpc.auth.profile.mutate({ timezone })

  async function recordOf({ owner, space }: TestAccount) {
    const { rpc } = app.as(owner)
    const { id } = await rpc.tables.create.mutate({
      space_id: space,
      name: 'Companies',
      fields: [{ id: 'name', name: 'Name', type: 'text' }] as never,
    })
    const { id: record } = await rpc.records.create.mutate({ table_id: id, data: { name: 'Acme' } })
    return { table_id: id, record_id: record }
  }

  async function open(person: TestAccount['owner'], path: string, { now }: { now?: Date } = {}): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, 'about:blank')
    // Time goes on from there.
    if (now) await page.clock.install({ time: now })
    await page.goto(app.url + path)
    await page.locator('main').first().waitFor()
    return page
  }

  const box = (page: Page, title: string) => page.getByRole('checkbox', { name: title, exact: true })
  /** The groups in their order, each with the titles of its tasks. The names of a browser are unknown to the tests' compiler. */
  const groups = (page: Page) =>
    page.evaluate<[string, string[]][]>(`[...document.querySelectorAll('main section')].map((section) => [
      section.querySelector('h2').innerText.replace(/\\s*\\d+\\+?$/, ''),
      [...section.querySelectorAll('input')].map((input) => input.getAttribute('aria-label')),
    ])`)
  const focused = (page: Page) => page.evaluate<string | null>(`document.activeElement.getAttribute('aria-label')`)

  test.each([
    [
      'Pacific/Kiritimati',
      [
        ['This week', ['Call', 'Second day']],
        ['Today', ['First day']],
      ],
      [
        ['Overdue', ['First day', 'Call']],
        ['Today', ['Second day']],
      ],
    ],
    [
      'Europe/Berlin',
      [
        ['Today', ['Call', 'First day']],
        ['This week', ['Second day']],
      ],
      [
        ['Overdue', ['Call']],
        ['Today', ['First day']],
        ['This week', ['Second day']],
      ],
    ],
    [
      'America/Los_Angeles',
      [
        ['Today', ['Call', 'First day']],
        ['This week', ['Second day']],
      ],
      [
        ['Overdue', ['Call']],
        ['Today', ['First day']],
        ['This week', ['Second day']],
      ],
    ],
  ] as const)('in %s tasks are where they belong, and move as time goes on', async (zone, before, after) => {
    const { owner } = await app.account()
    await livesIn(owner, zone)
    const { rpc } = app.as(owner)
    await rpc.tasks.create.mutate({ title: 'First day', due_date: '2037-11-30' })
    await rpc.tasks.create.mutate({ title: 'Second day', due_date: '2037-12-01' })
    await rpc.tasks.create.mutate({ title: 'Call', due_date: '2037-11-30', due_time: '10:30' })
    const page = await open(owner, '/tasks', { now: MONDAY })
    await expect.poll(async () => (await groups(page)).toSorted()).toEqual(before.toSorted())
    // In Kiritimati the next day begins at 10:00 UTC; the call is at 10:30.
    await page.clock.fastForward('01:40:00')
    await expect.poll(async () => (await groups(page)).toSorted()).toEqual(after.toSorted())
  })

  test('a task is typed as a line, sent once although the service was away, and nothing typed is lost', async () => {
    const account = await inBerlin()
    const page = await open(account.owner, '/tasks', { now: MONDAY })
    await page.getByText('Nothing to do').waitFor()
    await page.keyboard.press('q')
    const dialog = page.getByRole('dialog', { name: 'Add a task' })
    const line = dialog.getByLabel('Task', { exact: true })
    await line.and(page.locator(':focus')).waitFor()
    await page.keyboard.type('Call Ann tomorrow 9:30 !30m @Ma')
    await dialog.getByRole('option', { name: /Max Member/ }).waitFor()
    await page.keyboard.press('Tab')
    await expect.poll(() => line.inputValue()).toBe('Call Ann tomorrow 9:30 !30m @Max Member ')
    await expect.poll(() => dialog.locator('dl').innerText()).toMatch(/Tomorrow 9:30.+30 minutes before.+Max Member/s)
    await takePictures(page, 'quick-add')
    await expectAccessible(page)

    await page.route('**/trpc/tasks.create*', (route) => route.abort(), { times: 1 })
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Tasks', exact: true }).waitFor()
    await page.keyboard.press('q')
    await expect.poll(() => line.inputValue()).toBe('Call Ann tomorrow 9:30 !30m @Max Member ')
    // The answer of the second try is lost, so the third one gets what the second has created.
    await page.route(
      '**/trpc/tasks.create*',
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await line.press('Enter')
    await dialog.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    await line.press('Enter')
    await page.getByText('Created “Call Ann”').first().waitFor()
    const { rows } = await app.as(account.owner).rpc.tasks.list.query({ tab: 'delegated' })
    expect(rows).toMatchObject([
      { title: 'Call Ann', due_date: '2037-12-01', due_time: '08:30:00', reminder_offset_mins: 30, assignee_user_id: account.member.id },
    ])
  })

  test('what a line cannot become is said, and what is taken away stays in the title', async () => {
    const account = await inBerlin()
    const place = await recordOf(account)
    const page = await open(account.viewer, `/table/${place.table_id}/record/${place.record_id}`, { now: MONDAY })
    await page.getByRole('heading', { name: 'Acme', exact: true }).waitFor()
    await page.keyboard.press('q')
    const dialog = page.getByRole('dialog', { name: 'Add a task' })
    const line = dialog.getByLabel('Task', { exact: true })
    await line.fill('x'.repeat(501))
    await dialog.getByText('A title may have 500 characters; this one has 501.').waitFor()
    await page.keyboard.press('Enter')
    await line.fill('Call on 31.2. or today 25:00 @Zoe')
    for (const said of ['“31.2.” is not a day', '“25:00” is not a time', 'Nobody here is called “Zoe”'])
      await dialog.getByText(said).waitFor()
    await line.fill('Call tomorrow')
    await dialog.getByRole('button', { name: 'Take away: Due' }).click()
    await expect.poll(() => dialog.locator('dl').innerText()).toMatch(/^Title\s+Call tomorrow\s+Record\s+Acme/)
    await page.setViewportSize({ width: 390, height: 844 })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await line.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    // It is on the record, and there live.
    await box(page, 'Call tomorrow').first().waitFor()
    expect(await app.as(account.viewer).rpc.tasks.listOnRecord.query(place)).toMatchObject({
      rows: [{ title: 'Call tomorrow', due_date: null }],
    })
  })

  test('tasks are found, done and taken back by keys, and others are seen at once', async () => {
    const account = await inBerlin()
    const { rpc } = app.as(account.owner)
    for (const title of ['First', 'Second', 'Third']) await rpc.tasks.create.mutate({ title })
    const page = await open(account.owner, '/tasks', { now: MONDAY })
    await box(page, 'First').focus()
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => focused(page)).toBe('Second')
    // Time stands still but for what is waited for: a done task stays in its place for a moment only.
    await page.clock.pauseAt(new Date(MONDAY.getTime() + 10 * 60_000))
    const looking = <Seen>(look: () => Promise<Seen>) =>
      expect.poll(async () => {
        await page.clock.runFor(5)
        return look()
      })
    await page.keyboard.press('Space')
    await looking(() => page.getByText('Done: “Second”').count()).toBeGreaterThan(0)
    await looking(async () => (await rpc.tasks.list.query({})).rows.map(({ title }) => title)).toEqual(['First', 'Third'])
    await looking(() => box(page, 'Second').isChecked()).toBe(true)
    await page.keyboard.press('Control+z')
    await looking(async () => (await rpc.tasks.list.query({})).total).toBe(3)
    await looking(() => box(page, 'Second').isChecked()).toBe(false)
    await looking(() => focused(page)).toBe('Second')
    await page.clock.resume()

    // After a moment the done one goes, and its neighbour has the focus.
    await page.keyboard.press('d')
    await expect.poll(async () => (await rpc.tasks.list.query({})).total).toBe(2)
    await page.clock.fastForward(5_000)
    await expect.poll(() => groups(page)).toEqual([['No date', ['First', 'Third']]])
    await expect.poll(() => focused(page)).toBe('Third')
    // It is checked once the address says so.
    await page.getByRole('checkbox', { name: 'Show done' }).click()
    await expect
      .poll(() => groups(page))
      .toEqual([
        ['No date', ['First', 'Third']],
        ['Done', ['Second']],
      ])

    await app.as(account.member).rpc.tasks.create.mutate({ title: 'From Max', assignee_user_id: account.owner.id, due_date: '2001-11-01' })
    await box(page, 'From Max').waitFor()
    await expect.poll(() => page.getByRole('link', { name: /Tasks/ }).innerText()).toContain('1')
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    const searched = page.getByRole('searchbox', { name: 'Search tasks' })
    await searched.and(page.locator(':focus')).waitFor()
    await page.keyboard.type('max')
    await expect.poll(() => groups(page)).toEqual([['Overdue', ['From Max']]])
    await expect.poll(() => page.url()).toContain('search=max')
    await searched.fill('')
    await expect.poll(() => page.url()).not.toContain('search=')
    await takePictures(page, 'tasks')
    await expectAccessible(page)
    await page.setViewportSize({ width: 390, height: 844 })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.getByRole('link', { name: 'Delegated' }).click()
    await page.getByText('You have given no task to others').waitFor()
    await page.getByRole('button', { name: 'New task' }).click()
    await page.getByRole('dialog', { name: 'Add a task' }).waitFor()
  })

  test('a task is edited in place, and two who change the same see both', async () => {
    const account = await inBerlin()
    const place = await recordOf(account)
    const { owner, member } = account
    const { rpc } = app.as(owner)
    const max = app.as(member).rpc
    const { id: task_id } = await rpc.tasks.createOnRecord.mutate({ ...place, title: 'Call', assignee_user_id: member.id })
    const get = () => rpc.tasks.get.query({ task_id })
    const page = await open(owner, '/tasks?list=all', { now: MONDAY })
    await box(page, 'Call').focus()
    await page.keyboard.press('Enter')
    const panel = page.getByRole('complementary', { name: 'Task', exact: true })
    const due = panel.getByLabel('Due date')
    await due.fill('tomorrow 9:30')
    await panel.getByText('Tue, 1 Dec 2037, 9:30').or(panel.getByText('Tue, Dec 1, 2037, 9:30')).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(get).toMatchObject({ due_date: '2037-12-01', due_time: '08:30:00' })
    await panel.getByLabel('Reminder').selectOption('30')
    await panel.getByText(/Rings .*9:00.*, for Max Member/).waitFor()
    await due.fill('31.2.')
    await panel.getByText('is not a day that exists').waitFor()
    await due.press('Escape')
    await panel.getByRole('button', { name: 'Assignee: Max Member' }).click()
    await page.keyboard.type('vera')
    await page.getByRole('option', { name: /Vera Viewer/ }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(get).toMatchObject({ assignee_user_id: account.viewer.id })
    await panel.getByRole('button', { name: 'Assignee: Vera Viewer' }).waitFor()

    // What is asked for before the answer to the change before is not forgotten.
    const title = panel.getByLabel('Title')
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    await page.route(
      '**/trpc/tasks.update*',
      async (route) => {
        const response = await route.fetch()
        await held
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    await title.fill('Call A')
    await title.press('Enter')
    await expect.poll(get).toMatchObject({ title: 'Call A' })
    await title.fill('Call An')
    await title.press('Enter')
    release()
    await expect.poll(get).toMatchObject({ title: 'Call An' })

    // Others change something else, then the same.
    await title.fill('Call Ann')
    await app.as(account.viewer).rpc.tasks.update.mutate({ task_id, details: 'By phone' })
    await title.press('Enter')
    await expect.poll(get).toMatchObject({ title: 'Call Ann', details: 'By phone' })
    await title.fill('Call Ann soon')
    await app.as(account.viewer).rpc.tasks.update.mutate({ task_id, title: 'Call Bob' })
    await title.press('Enter')
    const both = panel.getByRole('alert').filter({ hasText: 'Call Bob' })
    await expect.poll(() => both.innerText()).toContain('Call Ann soon')
    await both.getByRole('button', { name: 'Keep yours' }).click()
    await expect.poll(get).toMatchObject({ title: 'Call Ann soon' })
    await both.waitFor({ state: 'detached' })
    await expectAccessible(page)

    // A comment is sent by keys, and read by the other person at once.
    const comment = panel.getByLabel('Comment')
    // One is sent after the other. Others may see it before its answer comes.
    const mayBeSent = () =>
      expect.poll(() => panel.getByRole('button', { name: 'Add comment' }).getAttribute('aria-disabled')).toBe('false')
    await comment.fill('Is it done?')
    await page.keyboard.press('Control+Enter')
    await panel
      .getByRole('article', { name: /Owner wrote/ })
      .getByText('Is it done?')
      .waitFor()
    await app.as(account.viewer).rpc.tasks.comments.create.mutate({ task_id, content: 'Nearly' })
    await panel.getByText('Nearly').waitFor()
    await app.as(account.viewer).rpc.tasks.markDone.mutate({ task_id })
    await panel.getByText('Vera Viewer has marked it done.').waitFor()
    await app.as(account.viewer).rpc.tasks.update.mutate({ task_id, assignee_user_id: member.id })
    await panel.getByText('It is Max Member’s task now.').waitFor()

    // Somebody who is mentioned leaves before the comment is sent.
    await comment.pressSequentially('Thanks @vera')
    await page.getByRole('option', { name: /Vera Viewer/ }).waitFor()
    await page.keyboard.press('Enter')
    await rpc.spaces.removeMember.mutate({ space_id: account.space, user_id: account.viewer.id })
    await mayBeSent()
    await page.keyboard.press('Control+Enter')
    await panel
      .getByRole('article', { name: /Owner wrote/ })
      .getByText('Thanks @Vera Viewer')
      .waitFor()

    // A task that is deleted while one types shows what was typed, then and later, and nothing that cannot be used.
    await comment.fill('See you')
    await mayBeSent()
    await title.fill('Call Ann now')
    await max.tasks.delete.mutate({ task_id })
    await panel.getByText('This task has been deleted').waitFor()
    await expect.poll(() => panel.getByText('This cannot be saved any more.').count()).toBe(2)
    await expect.poll(async () => [await title.inputValue(), await comment.inputValue()]).toEqual(['Call Ann now', 'See you'])
    await expect.poll(() => panel.getByRole('button', { name: /^(Follow|Stop|Save|Add|Edit|Delete)/ }).count()).toBe(0)
    await takePictures(page, 'task-gone')
    await expectAccessible(page)
    await page.goto(`${app.url}/task/${task_id}`)
    await page.getByRole('heading', { name: 'This task is not here' }).waitFor()
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Call Ann now')
    await expect.poll(() => page.getByLabel('Comment').inputValue()).toBe('See you')
    await page.getByRole('button', { name: 'Discard' }).first().click()
    await page.getByLabel('Title').waitFor({ state: 'detached' })
  })

  test('a task has a page, its record has it, and who may not change it only reads', async () => {
    const account = await inBerlin()
    const place = await recordOf(account)
    const { rpc } = app.as(account.owner)
    const { id } = await rpc.tasks.createOnRecord.mutate({
      ...{ ...place, title: 'Send the offer', due_date: '2037-11-30' },
      assignee_user_id: account.viewer.id,
    })
    const page = await open(account.viewer, `/task/${id}`, { now: MONDAY })
    await page.getByRole('heading', { level: 1, name: 'Send the offer' }).waitFor()
    // Somebody else gets it while one types.
    await page.getByLabel('Title').fill('Send the offers')
    await rpc.tasks.update.mutate({ task_id: id, assignee_user_id: account.member.id })
    await page.getByText('It is Max Member’s task now.').first().waitFor()
    await page.getByText('This cannot be saved any more.').waitFor()
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Send the offers')
    await page.getByRole('button', { name: 'Discard' }).click()
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('Send the offer')
    await page.getByRole('button', { name: 'Stop following' }).click()
    await expect.poll(() => box(page, 'Send the offer').isDisabled()).toBe(true)
    await expect.poll(() => page.getByLabel('Title').getAttribute('readonly')).not.toBeNull()
    await page.getByRole('button', { name: 'Follow', exact: true }).click()
    await page.getByRole('button', { name: 'Stop following' }).waitFor()
    await expect.poll(async () => (await rpc.tasks.get.query({ task_id: id })).subscribers).toContain(account.viewer.id)
    await takePictures(page, 'task')
    await expect.poll(() => page.getByRole('button', { name: 'Add files' }).count()).toBe(0)
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.goto(`${app.url}/task/999999999`)
    await page.getByRole('heading', { name: 'This task is not here' }).waitFor()

    const record = await open(account.owner, `/table/${place.table_id}/record/${place.record_id}`, { now: MONDAY })
    const section = record.getByRole('region', { name: 'Tasks', exact: true })
    await section.getByRole('checkbox', { name: 'Send the offer' }).check()
    await section.getByRole('button', { name: 'Show done (1)' }).waitFor()
    await expect.poll(async () => (await rpc.tasks.get.query({ task_id: id })).status).toBe('done')
  })

  test('files are attached, and what is typed into a task is there after the page was lost', async () => {
    const { owner } = await inBerlin()
    const { rpc } = app.as(owner)
    const { id: task_id } = await rpc.tasks.create.mutate({ title: 'Call' })
    const get = () => rpc.tasks.get.query({ task_id })
    const page = await open(owner, `/task/${task_id}`, { now: MONDAY })
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'offer.txt', mimeType: 'text/plain', buffer: Buffer.from('Offer') })
    await page.getByRole('link', { name: /offer.txt/ }).waitFor()
    await expect.poll(get).toMatchObject({ attachments: [{ name: 'offer.txt', size: 5 }] })
    await page.getByRole('button', { name: 'Remove offer.txt' }).click()
    await expect.poll(get).toMatchObject({ attachments: [] })

    await page.route('**/trpc/tasks.update*', (route) => route.abort(), { times: 1 })
    await page.getByLabel('Details').fill('Ask about the price')
    await page.getByLabel('Title').click()
    await page.getByRole('alert').filter({ hasText: 'cannot be reached' }).waitFor()
    await page.reload()
    await expect.poll(() => page.getByLabel('Details').inputValue()).toBe('Ask about the price')
    await page.getByText('This was typed earlier and is not saved yet.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect.poll(get).toMatchObject({ details: 'Ask about the price' })
  })

  test('a service that ends between the letters and the answer loses nothing, and nothing is there twice', async () => {
    const { owner } = await inBerlin()
    const { rpc } = app.as(owner)
    const { id: task_id } = await rpc.tasks.create.mutate({ title: 'Call' })
    const get = () => rpc.tasks.get.query({ task_id })
    await signInAs(browser.context, app.url, owner)
    const before = await serveBeside(app)
    const { page } = await openConsole(browser.context, `${before.url}/task/${task_id}`)
    const [title, comment] = [page.getByLabel('Title'), page.getByLabel('Comment')]
    const dialog = page.getByRole('dialog', { name: 'Add a task' })
    const line = dialog.getByLabel('Task', { exact: true })
    const unreachable = page.getByRole('alert').filter({ hasText: 'cannot be reached' })
    await title.waitFor()
    await before.stop()
    // What is loaded when it is first used cannot be loaded now, and the page stays.
    const notLoaded = () => page.waitForEvent('requestfailed', (request) => request.url().includes('/console/'))
    await Promise.all([notLoaded(), page.keyboard.press('q')])
    await title.fill('Call Ann')
    await title.press('Enter')
    await unreachable.waitFor()
    await comment.fill('Is it done?')
    await comment.press('Control+Enter')
    await page.getByText('The comment is sent as soon as there is one.').waitFor()
    await Promise.all([notLoaded(), page.getByRole('button', { name: 'Delete', exact: true }).click()])
    await comment.fill('It is urgent')
    await page.getByRole('link', { name: /^Inbox/ }).click()
    await page.getByRole('heading', { name: 'This did not work' }).waitFor()

    const after = await serveBeside(app, before.port)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.goBack()
    await page.getByRole('article').filter({ hasText: 'Is it done?' }).waitFor()
    await page.getByText('This was typed earlier and is not saved yet.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect.poll(get).toMatchObject({ title: 'Call Ann', comment_count: 1, version: 2 })
    await expect.poll(() => comment.inputValue()).toBe('It is urgent')
    await unreachable.waitFor({ state: 'detached' })

    // What has arrived is there once, although nobody heard the answer.
    const loseAnswer = (path: string) =>
      page.route(
        `**/trpc/${path}*`,
        async (route) => {
          await route.fetch()
          await route.abort()
        },
        { times: 1 },
      )
    await comment.fill('Once')
    // The answer to the comment before may come after others see it.
    await expect.poll(() => page.getByRole('button', { name: 'Add comment' }).getAttribute('aria-disabled')).toBe('false')
    await loseAnswer('tasks.comments.create')
    await comment.press('Control+Enter')
    await page.getByRole('article').filter({ hasText: 'Once' }).waitFor()
    await loseAnswer('tasks.update')
    await title.fill('Call Ann soon')
    await title.press('Enter')
    await unreachable.waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await unreachable.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await expect.poll(get).toMatchObject({ title: 'Call Ann soon', comment_count: 2, version: 3 })

    await title.blur()
    await page.keyboard.press('q')
    await line.fill('Call Bob')
    await expect.poll(async () => (await dialog.boundingBox())?.width).toBeLessThan(600)
    await after.stop()
    await line.press('Enter')
    await unreachable.waitFor()
    const again = await serveBeside(app, before.port)
    await line.press('Enter')
    await page.getByText('Created “Call Bob”').first().waitFor()
    await expect.poll(async () => (await rpc.tasks.list.query({})).total).toBe(2)
    await page.close()
    await again.stop()
  })

  test('thousands of tasks are read as one scrolls, and the end of them by its key', async () => {
    const { id, owner } = await inBerlin()
    await app.db.write(sql`
      insert into tasks (account_id, creator_user_id, assignee_user_id, title, due_date, created_at, updated_at)
      select ${id}::int, ${owner.id}::int, ${owner.id}::int, 'Task ' || n, '2037-12-24', localtimestamp, localtimestamp
      from generate_series(1, 10000) n`)
    const page = await open(owner, '/tasks', { now: MONDAY })
    await box(page, 'Task 1').focus()
    await page.getByRole('heading', { name: /Later 100\+/ }).waitFor()
    expect(
      await page
        .getByRole('listitem')
        .filter({ has: page.getByRole('checkbox') })
        .count(),
    ).toBeLessThan(60)
    for (let press = 0; press < 12; press += 1) await page.keyboard.press('PageDown')
    await expect.poll(() => focused(page)).toMatch(/^Task 1[0-2]\d$/)
    await page.getByRole('heading', { name: /Later 200\+/ }).waitFor()
    await page.keyboard.press('End')
    await expect.poll(() => focused(page)).toBe('Task 10000')
    await page.getByRole('heading', { name: 'Later 10000' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Home')
    await expect.poll(() => focused(page)).toBe('Task 1')
  })
})
