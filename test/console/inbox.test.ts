/** `/inbox` in a real browser: every kind of notification, opening and marking them, thousands of them, and those that come meanwhile. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import { type Person, type TestAccount, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'
import { makeTable } from '../support/tables.ts'

const app = await testApp()

const list = (page: Page) => page.getByRole('list', { name: 'Notifications' })
const links = (page: Page) => list(page).getByRole('link')
/** The sentence of the one that has the focus. */
const focused = (page: Page) => list(page).locator('a:focus b').textContent()
const unreadOf = async (person: Person) => (await app.as(person).rpc.notifications.unreadCount.query()).unread

describe.skipIf(isBrowserMissing)(browserTitle('the inbox in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
  })
  afterAll(() => browser?.close())

  async function open(person: Person, path = '/inbox') {
    await signInAs(browser.context, app.url, person)
    return openConsole(browser.context, app.url + path)
  }

  async function withRecords() {
    const account = await app.account({ timezone: 'Asia/Kathmandu' })
    const { id: table, records } = await makeTable(app, account, { name: 'Companies', records: [{ name: 'Acme' }, { name: 'Bolt' }] })
    const [acme = 0, bolt = 0] = records
    return {
      ...account,
      table,
      acme,
      bolt,
      ofMember: app.as(account.member).rpc,
      mention: (text: string) => mentionOf(account.viewer, text),
    }
  }
  const mentionOf = ({ id, name }: Person, text: string) => `@{${id}:${name}} ${text}`

  /** Notifications of a kind that takes more than a request to bring about. */
  const insert = ({ id, space, viewer }: TestAccount, table: number, record: number, [kind, message, summary]: readonly string[]) =>
    app.db.write(sql`
      insert into notifications (user_id, account_id, space_id, table_id, record_id, event_type, message, summary, url, created_at)
      values (${viewer.id}, ${id}, ${space}, ${table}, ${record}, ${kind}, ${message}, ${summary}, '', localtimestamp)`)

  test('says each kind in words, unread ones first, and marks them by keys', async () => {
    const account = await withRecords()
    const { viewer, table, acme, bolt, ofMember, mention } = account
    const assigned = await ofMember.tasks.createOnRecord.mutate({
      ...{ table_id: table, record_id: acme, title: 'Call <b>Ann</b>', assignee_user_id: viewer.id },
      ...{ due_date: '2031-03-31', due_time: '18:30' },
    })
    await app.as(viewer).rpc.notifications.markAllRead.mutate()
    await ofMember.tasks.comments.create.mutate({ task_id: assigned.id, content: 'Is it done?' })
    await ofMember.tasks.comments.create.mutate({ task_id: assigned.id, content: mention('please hurry') })
    await ofMember.tasks.markDone.mutate({ task_id: assigned.id })
    await ofMember.tasks.markUndone.mutate({ task_id: assigned.id })
    await ofMember.comments.create.mutate({ table_id: table, record_id: bolt, content: mention('look "here"') })
    await ofMember.comments.create.mutate({ table_id: table, record_id: bolt, content: 'And here' })
    await insert(account, table, acme, ['EMAIL_BOUNCED', 'Your email “Offer” could not be delivered to a@b.example.', 'No such user'])
    await insert(account, table, acme, ['SMTP_FAILING', 'Mail through “Main” is held back, because its server cannot be used.', 'Refused'])
    // Characters that turn the order of what follows, or hide, are left out; a long sentence is cut where it is shown.
    const long = `Reminder: “\u202eCall\u200b ${'and call again '.repeat(30)}”.`
    await insert(account, table, acme, ['TASK_REMINDER', long, '“Call” is due on 2026-03-31.'])

    const { page, complaints } = await open(viewer)
    await expect.poll(() => links(page).count()).toBe(10)
    const EACH = [
      `Unread: Reminder: “Call ${'and call again '.repeat(30)}”.Acme in Companies · Due Mar 31, 2026`,
      'Unread: Mail through “Main” is held back, because its server cannot be used.Acme in Companies · Refused',
      'Unread: Your email “Offer” could not be delivered to a@b.example.Acme in Companies · No such user',
      'Unread: Max Member commented on a record of “Companies”.Bolt in Companies · And here',
      `Unread: Max Member mentioned you on a record of “Companies”.Bolt in Companies · @${viewer.name} look "here"`,
      'Unread: Max Member reopened the task “Call <b>Ann</b>”.Acme in Companies',
      'Unread: Max Member completed the task “Call <b>Ann</b>”.Acme in Companies',
      `Unread: Max Member mentioned you on the task “Call <b>Ann</b>”.Acme in Companies · @${viewer.name} please hurry`,
      'Unread: Max Member commented on the task “Call <b>Ann</b>”.Acme in Companies · Is it done?',
      'Max Member assigned you the task “Call <b>Ann</b>”.Acme in Companies · Due Apr 1, 2031, 12:15 AM',
    ]
    // The time follows.
    await expect.poll(() => links(page).allTextContents()).toEqual(EACH.map((text) => expect.stringContaining(text)))
    await expect.poll(() => page.title()).toBe('(9) Inbox · Gridpost')
    expect((await links(page).first().boundingBox())?.height).toBeLessThan(90)
    await expectAccessible(page)
    await takePictures(page, 'inbox')
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1280, height: 1000 })

    await page.keyboard.press('ArrowDown')
    await expect.poll(() => focused(page)).toMatch(/^Unread: Reminder: “Call and/)
    await page.keyboard.press('e')
    await expect.poll(() => unreadOf(viewer)).toBe(8)
    await page.getByRole('link', { name: 'Inbox 8 unread' }).waitFor()
    // It stays where it is, so that nothing moves under the reader.
    await expect.poll(() => links(page).first().textContent()).toMatch(/^Reminder/)
    await page.keyboard.press('Shift+U')
    await expect.poll(() => unreadOf(viewer)).toBe(9)
    await page.keyboard.press('End')
    await expect.poll(() => focused(page)).toContain('assigned you')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => focused(page)).toContain('Mail through')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect.poll(() => unreadOf(viewer)).toBe(8)

    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Show unread ones only, or all').waitFor()
    await page.locator('[role=dialog]:focus, [role=dialog] :focus').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('u')
    await expect.poll(() => links(page).count()).toBe(8)
    await expect.poll(() => page.getByRole('switch', { name: 'Unread only' }).isChecked()).toBe(true)
    await page.keyboard.press('Shift+E')
    await page.getByText('You have read everything').waitFor()
    await expect.poll(() => unreadOf(viewer)).toBe(0)
    await expect.poll(() => page.title()).toBe('Inbox · Gridpost')
    await page.getByLabel('Unread only').uncheck()
    await expect.poll(() => links(page).count()).toBe(10)
    expect(complaints).toEqual([])
  })

  test('opening one leads to its comment, and marks it and all others about that record as read', async () => {
    const { viewer, table, acme, bolt, ofMember, mention } = await withRecords()
    const first = await ofMember.comments.create.mutate({ table_id: table, record_id: acme, content: mention('first') })
    await app.db.write(sql`update notifications set created_at = created_at - interval '1 hour' where user_id = ${viewer.id}`)
    await app.db.write(sql`update record_comments set created_at = created_at - interval '1 hour' where id = ${first.id}`)
    await ofMember.tasks.createOnRecord.mutate({ table_id: table, record_id: acme, title: 'Call', assignee_user_id: viewer.id })
    await ofMember.comments.create.mutate({ table_id: table, record_id: acme, content: 'second' })
    await ofMember.comments.create.mutate({ table_id: table, record_id: bolt, content: mention('other') })
    const { page } = await open(viewer)
    const { page: other } = await openConsole(browser.context, `${app.url}/inbox`)
    await expect.poll(() => links(page).count()).toBe(4)
    await expect.poll(() => list(other).locator('[data-unread]').count()).toBe(4)
    // Which comment is meant is heard late: the record is open by then.
    const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>()
    await page.route('**/comments.list*', async (route) => {
      await isOpen
      await route.continue()
    })
    await links(page).last().click()
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${table}/record/${acme}`)
    opened()
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${table}/record/${acme}?entry=${first.id}`)
    await expect.poll(() => unreadOf(viewer)).toBe(1)
    await expect.poll(() => page.title()).toMatch(/^\(1\) /)
    // Another tab hears of it.
    await expect.poll(() => list(other).locator('[data-unread]').count()).toBe(1)
    await other.close()
    await page.goBack()
    await expect.poll(() => links(page).first().textContent()).toMatch(/^Unread: Max Member mentioned you/)
    await expect.poll(() => list(page).locator('[data-unread]').count()).toBe(1)
    // A standalone task is a place, too.
    const task = await ofMember.tasks.create.mutate({ title: 'Alone', assignee_user_id: viewer.id })
    await ofMember.tasks.update.mutate({ task_id: task.id, assignee_user_id: viewer.id, title: 'Alone again' })
    await page.reload()
    await links(page).filter({ hasText: 'Alone' }).first().focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toBe(`${app.url}/task/${task.id}`)
    await expect.poll(() => unreadOf(viewer)).toBe(1)
    // A record that is opened in another way is read, too; what comes meanwhile is told.
    await page.goto(`${app.url}/table/${table}/record/${bolt}`)
    await expect.poll(() => unreadOf(viewer)).toBe(0)
    await ofMember.comments.create.mutate({ table_id: table, record_id: bolt, content: mention('once more') })
    await page.getByRole('link', { name: 'Inbox 1 unread' }).waitFor()
  })

  test('one of a place that is not to be seen any more is marked as read', async () => {
    const { owner, viewer, space, table, acme, ofMember, mention } = await withRecords()
    const task = await ofMember.tasks.create.mutate({ title: 'Gone', assignee_user_id: viewer.id })
    await ofMember.comments.create.mutate({ table_id: table, record_id: acme, content: mention('look') })
    const { page } = await open(viewer)
    await expect.poll(() => links(page).count()).toBe(2)
    await ofMember.tasks.delete.mutate({ task_id: task.id })
    await app.as(owner).rpc.spaces.removeMember.mutate({ space_id: space, user_id: viewer.id })
    await links(page).first().click()
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${table}/record/${acme}`)
    await page.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
    await page.goBack()
    await expect.poll(() => links(page).allInnerTexts()).toEqual([expect.stringContaining('Gone')])
    await links(page).first().click()
    await expect.poll(() => page.url()).toBe(`${app.url}/task/${task.id}`)
    await page.getByRole('heading', { name: 'This task is not here' }).waitFor()
    await expect.poll(() => unreadOf(viewer)).toBe(0)
  })

  test('ten thousand unread ones come as one scrolls, and one that has just come is in front', async () => {
    const { id, viewer, space, table, acme, ofMember } = await withRecords()
    await app.db.write(sql`
      insert into notifications (user_id, account_id, space_id, table_id, record_id, event_type, message, summary, url, created_at)
      select ${viewer.id}::int, ${id}::int, ${space}::int, ${table}::int, ${acme}::int, 'COMMENT', 'Message ' || n, '', '',
        localtimestamp - interval '1 minute'
      from generate_series(1, 10000) n`)
    const { page } = await open(viewer)
    await page.getByRole('link', { name: 'Inbox 10000 unread' }).waitFor()
    // It opens with what is in sight, and a little more.
    await expect.poll(() => links(page).count()).toBe(50)
    await expectAccessible(page)
    for (let pages = 1; pages < 4; pages++) {
      const before = await links(page).count()
      await page.keyboard.press('End')
      await expect.poll(() => links(page).count()).toBeGreaterThan(before)
    }
    const sentences = await list(page).locator('b').allTextContents()
    expect(sentences).toEqual(sentences.map((_, at) => `Unread: Message ${10_000 - at}`))
    await ofMember.tasks.create.mutate({ title: 'Just now', assignee_user_id: viewer.id })
    await links(page).filter({ hasText: 'Just now' }).waitFor()
    await expect.poll(() => links(page).first().innerText()).toContain('Just now')
    await page.getByRole('button', { name: 'Mark all as read', exact: true }).click()
    await expect.poll(() => list(page).locator('[data-unread]').count()).toBe(0)
    expect(await unreadOf(viewer)).toBe(0)
    await expect.poll(() => links(page).first().innerText()).toMatch(/Just now/)
  })

  test('an empty inbox says what will come, and one that could not be read is tried again', async () => {
    const { viewer, ofMember } = await withRecords()
    const { page } = await open(viewer)
    await page.getByRole('heading', { name: 'Nothing has happened yet' }).waitFor()
    await expectAccessible(page)
    await ofMember.tasks.create.mutate({ title: 'Call', assignee_user_id: viewer.id })
    await page.route('**/trpc/**notifications.list**', (route) => route.abort())
    await page.reload()
    await page.getByText('Gridpost cannot be reached at the moment.').waitFor()
    await page.unroute('**/trpc/**notifications.list**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => links(page).count()).toBe(1)
    await page.route('**/trpc/**notifications.markRead**', (route) => route.abort())
    await list(page)
      .getByRole('button', { name: /^Mark as read/ })
      .click()
    await page.getByText('Gridpost cannot be reached at the moment.').last().waitFor()
    await expect.poll(() => list(page).locator('[data-unread]').count()).toBe(1)
  })
})
