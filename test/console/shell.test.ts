/** What stands around every page: the side bar, the foot, the keys, and what happens when the session ends. */
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import { type Person, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp()

const tableIn = async (owner: Person, space: number, name: string) =>
  (await app.as(owner).rpc.tables.create.mutate({ space_id: space, name, fields: [{ name: 'Title', type: 'text' }] })).id

const sideBar = (page: Page) => page.getByRole('navigation', { name: 'Spaces and tables' })
const linkTo = (page: Page, name: string) => sideBar(page).getByRole('link', { name, exact: true })
const keptFor = async (person: Person) =>
  Object.fromEntries((await app.as(person).rpc.preferences.list.query({})).rows.map(({ name, value }) => [name, value]))
const endSessions = ({ id }: Person) => app.db.write(sql`delete from sessions where user_id = ${id}`)

describe.skipIf(isBrowserMissing)(browserTitle('in a browser'), () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
  })
  afterAll(() => browser?.close())

  async function open(person: Person, path = '/') {
    await signInAs(browser.context, app.url, person)
    return openConsole(browser.context, app.url + path)
  }

  test('the side bar folds spaces, keeps stars, and / opens the table that was open last', async () => {
    const { owner, space } = await app.account()
    const first = await tableIn(owner, space, 'Companies')
    const second = await tableIn(owner, space, 'Deals')
    const { page, complaints } = await open(owner)
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${first}`)
    await linkTo(page, 'Deals').click()
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${second}`)
    await expect.poll(() => linkTo(page, 'Deals').getAttribute('aria-current')).toBe('page')
    await page.getByRole('button', { name: 'Star Deals' }).click()
    await page.getByRole('region', { name: 'Starred' }).getByRole('link', { name: 'Deals' }).waitFor()
    const spaces = sideBar(page).getByRole('region')
    const fold = spaces.filter({ has: page.getByRole('link', { name: 'Companies' }) }).getByRole('button', { expanded: true })
    await fold.click()
    await expect.poll(() => linkTo(page, 'Companies').count()).toBe(0)
    await takePictures(page, 'shell')
    await expectAccessible(page)

    // What is being kept would be lost by leaving the page.
    await expect
      .poll(() => keptFor(owner))
      .toMatchObject({ 'console.folded': [space], 'console.starred': [second], 'console.recent': [second, first] })
    await page.goto(`${app.url}/`)
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${second}`)
    await page.getByRole('region', { name: 'Starred' }).getByRole('link', { name: 'Deals' }).waitFor()
    await expect.poll(() => linkTo(page, 'Companies').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('the foot says who one is, keeps the theme, shows the keys, and signs out', async () => {
    const { owner, space } = await app.account({ timezone: 'Asia/Kathmandu' })
    await tableIn(owner, space, 'Deals')
    const { page } = await open(owner)
    await page.getByText(owner.name).waitFor()
    await page.getByText('Asia/Kathmandu').waitFor()
    await page.getByLabel('Theme').selectOption('Dark')
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark')
    await page.getByRole('main').focus()
    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keys of this page' })
    await keys.getByText('Show or hide the side bar').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await keys.waitFor({ state: 'detached' })
    await page.keyboard.press('[')
    await sideBar(page).waitFor({ state: 'hidden' })
    await page.keyboard.press('[')
    await sideBar(page).waitFor()
    // What is being kept would be lost by reloading.
    await expect.poll(() => keptFor(owner)).toMatchObject({ 'console.side-bar-hidden': false, 'console.theme': 'dark' })
    await page.reload()
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark')

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Gridpost' }).waitFor()
    await page.goto(`${app.url}/tasks`)
    await page.getByRole('heading', { name: 'Sign in to Gridpost' }).waitFor()
    await expect.poll(() => page.url()).toBe(`${app.url}/sign-in?to=%2Ftasks`)
  })

  test('what is done after the session has ended waits for the person to sign in again', async () => {
    const { owner, space } = await app.account({ withPassword: true })
    await tableIn(owner, space, 'Deals')
    const { page } = await open(owner)
    // The end of the stream would ask before anything is done.
    await page.route('**/trpc/events?*', (route) => route.abort())
    await page.reload()
    await linkTo(page, 'Deals').waitFor()
    await expect.poll(() => page.url()).toContain('/table/')
    // Whatever else the page asks for would be told before.
    let isFirst = true
    await page.route(/preferences\.update/, async (route) => {
      if (isFirst && route.request().postData()?.includes('console.starred')) {
        isFirst = false
        await endSessions(owner)
      }
      await route.continue()
    })
    await page.getByRole('button', { name: 'Star Deals' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'You are signed out' })
    await dialog.waitFor()
    await expectAccessible(page)
    await takePictures(page, 'signed-out')
    await page.keyboard.press('Escape')
    await expect.poll(() => dialog.getByLabel('Email address').inputValue()).toBe(owner.email)
    await dialog.getByLabel('Password', { exact: true }).fill(owner.password)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Starred' }).getByRole('link', { name: 'Deals' }).waitFor()
    const stored = () => app.db.read<{ name: string }>(sql`select name from preferences where user_id = ${owner.id}`)
    await expect.poll(async () => (await stored()).map(({ name }) => name)).toContain('console.starred')
  })

  test('another tab that signs out, or in as somebody else, is heard', async () => {
    const { owner, member, space } = await app.account({ withPassword: true })
    await tableIn(owner, space, 'Deals')
    const { page } = await open(owner)
    await linkTo(page, 'Deals').waitFor()
    const other = await openConsole(browser.context, app.url)
    await other.page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('alertdialog', { name: 'You are signed out' }).waitFor()
    await other.page.getByLabel('Email address').fill(owner.email)
    await other.page.getByLabel('Password', { exact: true }).fill(owner.password)
    await other.page.keyboard.press('Enter')
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await other.page.evaluate((userId) => new BroadcastChannel('gridpost-session').postMessage({ userId }), member.id)
    await page.getByRole('alertdialog', { name: 'Somebody else has signed in' }).getByRole('button', { name: 'Load the page' }).click()
    await linkTo(page, 'Deals').waitFor()
  })

  test('what waits to be sent is never sent with the cookie of somebody else', async () => {
    const { owner, member, space } = await app.account()
    const table = await tableIn(owner, space, 'Deals')
    const { id } = await app.as(owner).rpc.records.create.mutate({ table_id: table, data: { title: 'Fish' } })
    await signInAs(browser.context, app.url, owner)
    const { page } = await openConsole(browser.context, 'about:blank')
    await page.clock.install()
    // The page counts by itself: the test hears of a request some time after it has begun.
    await page.addInitScript(`
      globalThis.sent = 0
      globalThis.fetch = new Proxy(fetch, {
        apply(ask, self, [to, init]) {
          if (String(init?.body).includes('Only mine')) sent += 1
          return Reflect.apply(ask, self, [to, init])
        },
      })`)
    await page.goto(`${app.url}/table/${table}/record/${id}`)
    await page.getByLabel('Comment', { exact: true }).waitFor()
    await page.route(/preferences\.update/, (route) => route.abort())
    await page.getByLabel('Comment', { exact: true }).fill('Only mine')
    const sentAfter = async (ms: number) => {
      await page.clock.runFor(ms)
      return page.evaluate<number>('sent')
    }
    await expect.poll(() => sentAfter(1_000)).toBeGreaterThan(0)
    const signedIn = (userId: number) => page.evaluate((to) => new BroadcastChannel('gridpost-session').postMessage({ userId: to }), userId)
    await signedIn(member.id)
    await page.getByRole('alertdialog', { name: 'Somebody else has signed in' }).waitFor()
    // A request may have been on its way into the batch.
    const before = await sentAfter(1_000)
    expect(await sentAfter(120_000)).toBe(before)
    await signedIn(owner.id)
    await expect.poll(() => sentAfter(5_000)).toBeGreaterThan(before)
  })

  test('what is typed is not sent with the cookie of somebody else before their tab has said so, either', async () => {
    const { owner, member, space } = await app.account()
    const table = await tableIn(owner, space, 'Deals')
    const { rpc } = app.as(owner)
    const { id } = await rpc.records.create.mutate({ table_id: table, data: { title: 'Fish' } })
    await signInAs(browser.context, app.url, owner)
    const { page } = await openConsole(browser.context, 'about:blank')
    const underway = new Set<Request>()
    page.on('request', (request) => request.url().includes('/trpc/events') || underway.add(request))
    page.on('requestfinished', (request) => underway.delete(request))
    page.on('requestfailed', (request) => underway.delete(request))
    await page.goto(`${app.url}/table/${table}/record/${id}`)
    const comment = page.getByLabel('Comment', { exact: true })
    await comment.fill('As me or not')
    // Nothing else is on its way when the cookie changes.
    await expect.poll(async () => (await rpc.preferences.list.query({ prefix: 'draft.' })).total).toBe(1)
    await expect.poll(() => underway.size).toBe(0)
    const dialog = page.getByRole('alertdialog', { name: 'Somebody else has signed in' })
    const comments = async () => (await rpc.comments.list.query({ table_id: table, record_id: id })).rows
    await signInAs(browser.context, app.url, member)
    await comment.press('Control+Enter')
    await dialog.waitFor()
    expect(await comments()).toEqual([])
    expect((await app.as(member).rpc.preferences.list.query({})).rows).toEqual([])
    await takePictures(page, 'somebody-else')

    await signInAs(browser.context, app.url, owner)
    await page.evaluate((userId) => new BroadcastChannel('gridpost-session').postMessage({ userId }), owner.id)
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(comments).toMatchObject([{ content: 'As me or not', user_id: owner.id }])
  })

  test('whoever goes on before `/` knows the table that it leads to gets there', async () => {
    const { owner, space } = await app.account()
    await tableIn(owner, space, 'Deals')
    const [arrived, loaded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await signInAs(browser.context, app.url, owner)
    const { page } = await openConsole(browser.context, 'about:blank')
    await page.route('**/*tables.list*', async (route) => {
      await arrived.promise
      await route.continue()
    })
    await page.route('**/space-page-*.js', async (route) => {
      await loaded.promise
      await route.continue()
    })
    await page.goto(app.url)
    await page
      .getByRole('link', { name: /^People of/ })
      .first()
      .click()
    arrived.resolve()
    await linkTo(page, 'Deals').waitFor()
    loaded.resolve()
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await expect.poll(() => page.url()).toMatch(/\/spaces\/\d+\/members$/)
  })

  test('what one arranges stays, whatever the page had asked before', async () => {
    const { owner, space } = await app.account()
    await tableIn(owner, space, 'Deals')
    const { page } = await open(owner)
    const star = page.getByRole('button', { name: 'Star Deals' })
    await star.waitFor()
    const answer = Promise.withResolvers<void>()
    let held: Request | undefined
    await page.route('**/*preferences.list*', async (route) => {
      if (held || !route.request().postData()?.includes('"console."')) return route.continue()
      held = route.request()
      const response = await route.fetch()
      await answer.promise
      await route.fulfill({ response }).catch(() => undefined)
    })
    let minutes = 0
    // What was read moments ago, or is being read, is not read again.
    const comeBack = async () => {
      minutes += 2
      await page.clock.setFixedTime(Date.now() + minutes * 60_000)
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return held !== undefined
    }
    await expect.poll(comeBack).toBe(true)
    await star.click()
    await page.getByRole('button', { name: 'Take the star from Deals' }).waitFor()
    answer.resolve()
    await held?.response()
    // What comes after the answer is drawn with the next frame.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
    await page.getByRole('button', { name: 'Take the star from Deals' }).waitFor()
    await expect.poll(() => star.count()).toBe(0)
  })

  test('on a narrow screen the side bar is a menu', async () => {
    const { owner, space } = await app.account()
    const table = await tableIn(owner, space, 'Deals')
    const other = await tableIn(owner, space, 'Events')
    const arrived = Promise.withResolvers<void>()
    const page = await browser.context.newPage()
    onTestFinished(() => page.close())
    await page.setViewportSize({ width: 390, height: 844 })
    // The menu is opened before `/` knows the table that it leads to.
    await page.route('**/*tables.list*', async (route) => {
      await arrived.promise
      await route.continue()
    })
    await signInAs(browser.context, app.url, owner)
    await page.goto(app.url)
    await page.getByRole('button', { name: 'Menu' }).click()
    arrived.resolve()
    await page.waitForURL(`${app.url}/table/${table}`)
    await linkTo(page, 'Deals').waitFor()
    await expectAccessible(page)
    await takePictures(page, 'menu')
    await linkTo(page, 'Deals').press('Escape')
    await sideBar(page).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Menu' }).click()
    await linkTo(page, 'Events').click()
    await page.waitForURL(`${app.url}/table/${other}`)
    await sideBar(page).waitFor({ state: 'hidden' })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
  })

  test('an account without tables says what to do, or whom to ask', async () => {
    const { owner, viewer, outsider } = await app.account()
    const { page } = await open(owner)
    await page.getByText('Make the first table').waitFor()
    await expectAccessible(page)
    await signInAs(browser.context, app.url, viewer)
    await page.reload()
    await expect
      .poll(() => page.getByRole('main').innerText())
      .toContain('Nobody has created a table in your spaces yet. Ask Ada Admin or Olga Owner for one.')
    await signInAs(browser.context, app.url, outsider)
    await page.reload()
    await page.getByRole('button', { name: 'Create the space Main' }).click()
    await page.getByText('Make the first table').waitFor()
    await sideBar(page).getByRole('button', { name: 'Main', exact: true }).waitFor()
    await page.getByRole('main').getByRole('button', { name: 'New table' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Contacts')
    await page.keyboard.press('Enter')
    await page.getByRole('columnheader', { name: 'Notes' }).waitFor()
  })

  test('a new release is said, and loaded at the next move', async () => {
    const { owner, space } = await app.account()
    await tableIn(owner, space, 'Companies')
    await tableIn(owner, space, 'Deals')
    await signInAs(browser.context, app.url, owner)
    const { page } = await openConsole(browser.context, 'about:blank')
    await page.clock.install()
    await page.goto(app.url)
    await linkTo(page, 'Deals').waitFor()
    // The way from `/` to the first table would be the next move.
    await page.getByRole('grid').waitFor()
    await page.evaluate(() => Object.assign(globalThis, { isOldPage: true }))
    const isOldPage = () => page.evaluate(() => 'isOldPage' in globalThis)
    await page.route(`${app.url}/`, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, body: (await answer.text()).replace(/index-[\w-]+\.js/, 'index-another1.js') })
    })
    await page.clock.fastForward('02:00')
    await page.getByText('There is a new release.').waitFor()
    expect(await isOldPage()).toBe(true)
    await linkTo(page, 'Deals').click()
    await expect.poll(isOldPage).toBe(false)
    await expect.poll(() => page.url()).toContain('/table/')
  })

  test('Ctrl+K goes to tables, views, records and tasks, and does what the keys do', async () => {
    const { owner, space } = await app.account()
    const table = await tableIn(owner, space, 'Companies')
    const deals = await tableIn(owner, space, 'Deals')
    const { rpc } = app.as(owner)
    const { id: view } = await rpc.views.create.mutate({ table_id: table, name: 'Northern', type: 'grid' })
    await rpc.records.create.mutate({ table_id: table, data: { title: 'Norwegian Fish <b>AS</b>' } })
    await rpc.tasks.create.mutate({ title: 'Call Nora' })
    const { page, complaints } = await open(owner, `/table/${table}`)
    await linkTo(page, 'Deals').waitFor()
    const palette = page.getByRole('dialog', { name: 'Go to' })
    const find = async (text: string) => {
      await page.keyboard.press('Control+k')
      await palette.getByRole('combobox').fill(text)
    }
    await find('nor')
    for (const name of ['Northern View', 'Norwegian Fish <b>AS</b> Record', 'Call Nora Task'])
      await palette.getByRole('option', { name }).waitFor()
    await takePictures(page, 'palette')
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${table}/view/${view}`)
    await find('deals')
    await palette.getByRole('option', { name: 'Deals' }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toBe(`${app.url}/table/${deals}`)
    await find('zzz')
    await palette.getByText('Nothing has this name.').waitFor()
    await palette.getByRole('combobox').fill('show the keys')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Keys of this page' }).waitFor()
    expect(complaints).toEqual([])
  })
})
