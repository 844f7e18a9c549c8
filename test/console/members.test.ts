/** The people of a space in a real browser: roles, invitations and removals, for admins, for others, and for strangers. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Person, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'
import { makeTable } from '../support/tables.ts'

const app = await testApp({}, { worker: true })

const people = (page: Page) => page.getByRole('list', { name: 'People' }).getByRole('listitem')

describe.skipIf(isBrowserMissing)(browserTitle('the people of a space in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: 'Europe/Berlin' })
  })
  afterAll(() => browser?.close())

  async function open(person: Person, path: string): Promise<Page> {
    await signInAs(browser.context, app.url, person)
    const { page } = await openConsole(browser.context, app.url + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    return page
  }

  test('an admin adds, invites, changes and removes people, and hears what is refused', async () => {
    const account = await app.account()
    const { admin, owner, member, viewer, outsider, space } = account
    await makeTable(app, account)
    const colleague = await app.person(account.id, 'Cora <b>Colleague</b>')
    const page = await open(admin, '/')
    const { rows: spaces } = await app.as(admin).rpc.spaces.list.query()
    await page.getByRole('link', { name: `People of ${spaces[0]?.name}` }).click()
    await expect.poll(() => page.url()).toBe(`${app.url}/spaces/${space}/members`)
    await expect.poll(() => people(page).count()).toBe(4)
    await takePictures(page, 'members')
    await expectAccessible(page)

    const form = page.getByRole('form', { name: 'Add somebody' })
    const email = form.getByLabel('Email address')
    await email.fill('nobody')
    await page.keyboard.press('Enter')
    await expect.poll(() => email.getAttribute('aria-invalid')).toBe('true')
    await email.fill(outsider.email)
    await page.keyboard.press('Enter')
    await expect.poll(() => form.getByRole('alert').innerText()).not.toBe('')
    await email.fill(colleague.email)
    await form.getByLabel('Role').selectOption('Viewer')
    await form.getByRole('button', { name: 'Add' }).click()
    await people(page).filter({ hasText: 'Cora <b>Colleague</b>' }).waitFor()
    // An event may tell of the person before the form has its answer.
    await expect.poll(() => email.inputValue()).toBe('')

    await email.fill(`new-${owner.email}`)
    await form.getByRole('button', { name: 'Add' }).click()
    const invited = people(page).filter({ hasText: `new-${owner.email}` })
    await invited.getByText('Invited').waitFor()
    await expect.poll(() => app.letters.filter(({ to }) => to === `new-${owner.email}`).length).toBe(1)
    await invited.getByRole('button', { name: 'Send again' }).click()
    await expect.poll(() => app.letters.filter(({ to }) => to === `new-${owner.email}`).length).toBe(2)

    await page.getByLabel(`Role of ${viewer.name}`).selectOption('Member')
    const roleOf = async ({ id }: Person) =>
      (await app.as(owner).rpc.spaces.members.query({ space_id: space })).rows.find(({ user_id }) => user_id === id)?.role
    await expect.poll(() => roleOf(viewer)).toBe('member')
    await page.getByLabel(`Role of ${owner.name}`).selectOption('Viewer')
    await page.getByText("The account's owner is an admin of every space").first().waitFor()
    await expect.poll(() => page.getByLabel(`Role of ${owner.name}`).inputValue()).toBe('admin')

    // What another admin does is there at once.
    await app.as(owner).rpc.spaces.updateMember.mutate({ space_id: space, user_id: member.id, role: 'viewer' })
    await expect.poll(() => page.getByLabel(`Role of ${member.name}`).inputValue()).toBe('viewer')

    await page.getByRole('button', { name: `Remove ${viewer.name}` }).click()
    const dialog = page.getByRole('alertdialog', { name: `Remove ${viewer.name} from the space?` })
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await people(page).filter({ hasText: viewer.name }).waitFor({ state: 'detached' })
    expect(await roleOf(viewer)).toBeUndefined()
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.setViewportSize({ width: 1280, height: 1000 })
    await page.getByRole('button', { name: `Remove ${admin.name}` }).click()
    await page.getByText('You see nothing of it any more').waitFor()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
  })

  test('others see who is there, and a space of others is not here', async () => {
    const account = await app.account()
    const page = await open(account.viewer, `/spaces/${account.space}`)
    await expect.poll(() => people(page).count()).toBe(4)
    await expect.poll(() => page.url()).toBe(`${app.url}/spaces/${account.space}/members`)
    await expect.poll(() => people(page).filter({ hasText: account.viewer.name }).innerText()).toMatch(/You[\s\S]*Viewer/)
    await expect.poll(() => page.getByRole('main').getByRole('button').count()).toBe(0)
    await expectAccessible(page)
    for (const path of [`/spaces/${account.otherSpace}/members`, '/spaces/abc/members', `/spaces/${account.space}/toString`]) {
      await page.goto(app.url + path)
      await page.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
    }
  })

  test('the owner makes, renames and deletes spaces', async () => {
    const account = await app.account()
    const page = await open(account.owner, '/')
    await page.getByRole('button', { name: 'New space' }).click()
    const dialog = page.getByRole('dialog', { name: 'New space' })
    await dialog.getByLabel('Name').press('Enter')
    await expect.poll(() => dialog.getByLabel('Name').getAttribute('aria-invalid')).toBe('true')
    await dialog.getByLabel('Name').fill('Support <b>')
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await expect.poll(() => people(page).count()).toBe(1)
    await page.getByRole('link', { name: 'This space' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Help')
    await page.getByRole('button', { name: 'Save' }).click()
    const sideBar = page.getByRole('navigation', { name: 'Spaces and tables' })
    await sideBar.getByRole('region', { name: 'Help' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Delete the space' }).click()
    const question = page.getByRole('alertdialog', { name: 'Delete Help?' })
    await expect.poll(() => question.getByRole('button', { name: 'Delete the space' }).isDisabled()).toBe(true)
    await question.getByLabel('Type “Help” to confirm').fill('Help')
    await question.getByRole('button', { name: 'Delete the space' }).click()
    await sideBar.getByRole('region', { name: 'Help' }).waitFor({ state: 'detached' })
    await signInAs(browser.context, app.url, account.admin)
    await page.goto(`${app.url}/spaces/${account.space}/general`)
    await page.getByRole('heading', { name: 'Not here, or not yours' }).waitFor()
    await sideBar.and(page.locator('[aria-busy=false]')).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'New space' }).count()).toBe(0)
  })
})
