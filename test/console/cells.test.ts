/** Every type of field in the console's grid, in a real browser: shown, edited in place by keys, and kept as the API has it. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everyTypeTable, otherRecords, otherTable } from '../../scripts/every-type.ts'
import { addDays } from '../../src/platform/time/time.ts'
import { localDate } from '../../src/platform/time/time-zones.ts'
import { type Person, testApp } from '../support/app.ts'
import { type Browser, browserTitle, isBrowserMissing, openBrowser, takePictures } from '../support/browser.ts'
import { expectAccessible, openConsole, signInAs } from '../support/console.ts'

const app = await testApp()
/** People's days are those of the zone of their profile, also where the browser is in another one. */
const ZONE = 'Pacific/Kiritimati'
const BROWSER_ZONE = 'America/Bogota'
const HOSTILE = [
  '<img src=x onerror="document.title=\'broken in\'">',
  '\u202egnp.exe',
  'مرحبا بالعالم',
  '🦉'.repeat(100),
  '{{constructor}}',
  '=HYPERLINK("https://example.com")',
]
/** A day of the calendar below a date. */
const DAY = '.cell-below .calendar-day'
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** An account with a table of every type, whose select has 500 options. */
async function everyType(records: Record<string, unknown>[]) {
  const account = await app.account({ timezone: ZONE })
  const { rpc } = app.as(account.owner)
  const companies = await rpc.tables.create.mutate({ space_id: account.space, ...otherTable } as never)
  await rpc.records.createBatch.mutate({ table_id: companies.id, records: otherRecords.map((data) => ({ data })) })
  const definition = everyTypeTable(companies.id)
  const fields = (definition.fields ?? []).map((field) => ({
    ...field,
    ...(field.id === 'select' && {
      options: ['Lead', 'Won', ...Array.from({ length: 498 }, (_, index) => `Option ${index}`)],
      colors: { Won: 'green' as const },
    }),
    ...(field.id === 'phone' && { admin_only: true }),
  }))
  const table = await rpc.tables.create.mutate({ space_id: account.space, ...definition, fields } as never)
  await rpc.records.createBatch.mutate({ table_id: table.id, records: records.map((data) => ({ data })) })
  const stored = async (id: string, record = 1) => (await rpc.records.get.query({ table_id: table.id, record_id: record })).data[id]
  return { account, rpc, table, stored }
}
type EveryType = Awaited<ReturnType<typeof everyType>>

describe.skipIf(isBrowserMissing)(browserTitle('in a browser'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser({ timezone: BROWSER_ZONE })
  })
  afterAll(() => browser?.close())

  /** Opens the table so wide that all its columns are there, and waits for its first record. */
  async function openTable({ table }: EveryType, person: Person, path = '') {
    await signInAs(browser.context, app.url, person)
    const opened = await openConsole(browser.context, `${app.url}/table/${table.id}${path}`)
    await opened.page.setViewportSize({ width: 4_400, height: 900 })
    await opened.page.getByRole('checkbox', { name: 'Select row 1', exact: true }).waitFor()
    return opened
  }

  /** The cell of a field, in a row that counts from 1. */
  async function cellOf(page: Page, field: string, row = 1): Promise<Locator> {
    const heading = page.getByRole('columnheader').filter({ has: page.getByText(field, { exact: true }) })
    await heading.waitFor()
    return page.locator(`[aria-rowindex="${row + 1}"] [role=gridcell][aria-colindex="${await heading.getAttribute('aria-colindex')}"]`)
  }

  async function type(page: Page, keys: readonly string[]) {
    for (const key of keys) {
      if (key.startsWith('key:')) await page.keyboard.press(key.slice(4))
      else if (key.startsWith('see:'))
        await page
          .getByRole('option', { name: key.slice(4) })
          .and(page.locator('[data-highlighted]'))
          .waitFor()
      else if (key.startsWith('wait:')) await page.locator(key.slice(5)).waitFor()
      else await page.keyboard.type(key)
    }
  }

  test('every type is edited in place by keys, and shown and stored as what was meant', async () => {
    const every = await everyType([{ text: 'First', number: 5, select: 'Lead' }])
    const { page, complaints } = await openTable(every, every.account.owner)
    const year = localDate(new Date(), ZONE).slice(0, 4)
    const EDITS: [field: string, keys: string[], stored: unknown, shown: string | RegExp][] = [
      ['text', ['<b>Bold</b>', 'key:Enter'], '<b>Bold</b>', '<b>Bold</b>'],
      ['long_text', ['key:Enter', 'one', 'key:Shift+Enter', 'two', 'key:Enter'], 'one\ntwo', /one\s+two/],
      ['email', ['ann@example.com', 'key:Tab'], 'ann@example.com', 'ann@example.com'],
      ['url', ['https://example.com/?a=1', 'key:Enter'], 'https://example.com/?a=1', 'https://example.com/?a=1'],
      ['phone', ['+49 30 5550', 'key:Enter'], '+49 30 5550', '+49 30 5550'],
      ['number', ['1,234.567', 'key:Enter'], 1234.57, '1,234.57'],
      ['checkbox', ['key:ArrowRight', 'key:Space'], true, ''],
      ['date', ['24.12.', 'key:Enter'], `${year}-12-24`, /Dec 24/],
      [
        'date',
        ['key:Enter', `wait:${DAY}[tabindex="0"]`, 'key:ArrowDown', 'key:ArrowRight', `wait:${DAY}:focus:text-is("25")`, 'key:Enter'],
        `${year}-12-25`,
        /Dec 25/,
      ],
      ['datetime', ['2026-12-24 14:30', 'key:Enter'], '2026-12-24 00:30:00', /Dec 24, 2026, 2:30 PM/],
      ['time', ['2:30 pm', 'key:Enter'], '14:30:00', /2:30 PM/],
      ['select', ['won', 'key:Enter'], 'Won', 'Won'],
      ['multi_select', ['key:Enter', 'gree', 'key:Enter', 'blu', 'key:Enter', 'key:Tab'], ['green', 'blue'], /green\s*blue/],
      ['user', ['max', 'key:Enter'], expect.objectContaining({ name: 'Max Member' }), /Max Member/],
      [
        'multi_user',
        ['key:Enter', 'ada', 'see:Ada Admin', 'key:Enter', 'max', 'see:Max Member', 'key:Enter', 'key:Tab'],
        [expect.anything(), expect.anything()],
        /Ada Admin.*Max/s,
      ],
      ['lookup', ['zen', 'key:Enter'], { id: 3, title: 'Zenith "Quoted" Ltd' }, 'Zenith "Quoted" Ltd'],
      [
        'multi_lookup',
        ['key:Enter', '2', 'see:Söhne', 'key:Enter', 'acm', 'see:Acme', 'key:Enter', 'key:Tab'],
        [expect.objectContaining({ id: 2 }), { id: 1, title: 'Acme' }],
        /Söhne.*Acme/s,
      ],
    ]
    for (const [field, keys, stored, shown] of EDITS) {
      const cell = await cellOf(page, field)
      // A click on a checkbox would change it.
      await (await cellOf(page, field === 'checkbox' ? 'number' : field)).click({ position: { x: 3, y: 3 } })
      await type(page, keys)
      await expect.poll(() => every.stored(field), { message: field }).toEqual(stored)
      await expect.poll(() => cell.innerText(), { message: field }).toMatch(shown)
    }
    const tomorrow = () => addDays(localDate(new Date(), ZONE), 1)
    const [earliest, cell] = [tomorrow(), await cellOf(page, 'date')]
    await cell.click()
    await type(page, ['tomorrow', 'key:Enter'])
    // Midnight may pass meanwhile.
    await expect.poll(async () => [earliest, tomorrow()].includes(String(await every.stored('date')))).toBe(true)
    await expect.poll(async () => (await cellOf(page, 'checkbox')).getByRole('checkbox').getAttribute('aria-checked')).toBe('true')
    await expect.poll(async () => (await cellOf(page, 'url')).getByRole('link').getAttribute('rel')).toContain('noopener')
    await takePictures(page, 'cells')
    await expect.poll(() => page.locator('style').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('what does not fit is said in words beside what was typed, and Escape leaves the cell as it was', async () => {
    const every = await everyType([{ number: 5, date: '2026-01-02', select: 'Lead' }])
    const { page } = await openTable(every, every.account.owner)
    const PROBLEMS: [field: string, text: string, problem: string, before: unknown][] = [
      ['number', 'five', '“five” is not a number', 5],
      ['date', '31.2.', '“31.2.” is not a day that exists', '2026-01-02'],
      ['datetime', 'tomorrow 25:00', '“25:00” is not a time of day', null],
      ['time', 'soon', '“soon” is not a time of day', null],
    ]
    for (const [field, text, problem, before] of PROBLEMS) {
      await (await cellOf(page, field)).click()
      await type(page, [text, 'key:Enter'])
      await expect.poll(() => page.getByRole('alert').allInnerTexts()).toEqual([problem])
      await expect.poll(() => page.getByRole('textbox', { name: field }).inputValue()).toBe(text)
      await page.keyboard.press('Escape')
      await expect.poll(() => page.getByRole('textbox', { name: field }).count()).toBe(0)
      expect(await every.stored(field)).toEqual(before)
    }
    await (await cellOf(page, 'select')).click()
    await type(page, ['no such option', 'key:Enter'])
    await page.getByText('Nothing found').waitFor()
    await page.keyboard.press('Escape')
    expect(await every.stored('select')).toBe('Lead')
  })

  test('of 500 options and of a calendar only what is in sight is in the page, and axe finds nothing', async () => {
    const every = await everyType([{ text: 'A', select: 'Option 250', multi_select: ['red'] }])
    const { page } = await openTable(every, every.account.owner)
    await (await cellOf(page, 'select')).click()
    await page.keyboard.press('Enter')
    const list = page.getByRole('listbox', { name: 'select' })
    await list.getByRole('option', { name: 'Option 250', selected: true }).waitFor()
    await expect.poll(() => list.getByRole('option').count()).toBeLessThan(40)
    await page.setViewportSize({ width: 1280, height: 800 })
    await takePictures(page, 'cells-select')
    await expectAccessible(page)
    await type(page, ['option 49', 'key:ArrowDown', 'key:Tab'])
    await expect.poll(() => every.stored('select')).toBe('Option 149')
    await page.setViewportSize({ width: 4_400, height: 900 })
    await (await cellOf(page, 'datetime')).click()
    await page.keyboard.press('Enter')
    await page
      .getByRole('application', { name: /Calendar/ })
      .or(page.getByRole('grid', { name: /20\d\d/ }))
      .first()
      .waitFor()
    await expectAccessible(page)
    await takePictures(page, 'cells-datetime')
  })

  test('files are chosen, dropped, shown as pictures, opened and removed', async () => {
    const every = await everyType([{ text: 'A' }])
    const { page, complaints } = await openTable(every, every.account.owner)
    const cell = await cellOf(page, 'file')
    await cell.click()
    await page.keyboard.press('Enter')
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose files' }).press('Enter')
    const files = [
      { name: 'a <b>.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
      { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') },
    ]
    await (await chooser).setFiles(files)
    await page.getByRole('link', { name: 'pixel.png' }).waitFor()
    const named = (names: string[]) => names.map((name) => expect.objectContaining({ name }))
    expect(await every.stored('file')).toEqual(named(['a <b>.txt', 'pixel.png']))
    await takePictures(page, 'cells-files')
    await page.getByRole('button', { name: 'Remove a <b>.txt' }).click()
    await expect.poll(() => every.stored('file')).toEqual(named(['pixel.png']))
    await page.keyboard.press('Escape')
    await cell.getByRole('img', { name: 'pixel.png' }).waitFor()
    await cell.evaluate((target) => {
      // biome-ignore lint/suspicious/noExplicitAny: this runs in the page, whose types these tests do not have.
      const { DataTransfer, DragEvent, File } = globalThis as any
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }))
      for (const name of ['dragover', 'drop']) target.dispatchEvent(new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }))
    })
    await expect.poll(() => every.stored('file')).toEqual(named(['pixel.png', 'dropped.txt']))
    expect(complaints).toEqual([])
  })

  test('hostile values are text, and only http addresses are links', async () => {
    const values = [...HOSTILE, 'x'.repeat(500)]
    const every = await everyType([
      ...values.map((text) => ({ text, long_text: text, url: 'javascript:alert(1)' })),
      { long_text: `<script>1</script>${'long '.repeat(19_000)}`, url: 'https://example.com' },
    ])
    const { page, complaints } = await openTable(every, every.account.owner)
    for (const [index, text] of values.entries()) {
      const cell = await cellOf(page, 'text', index + 1)
      await expect.poll(() => cell.innerText()).toContain(text.slice(0, 100))
      await expect.poll(async () => (await cellOf(page, 'url', index + 1)).getByRole('link').count()).toBe(0)
    }
    await expect.poll(async () => (await cellOf(page, 'url', values.length + 1)).getByRole('link').count()).toBe(1)
    expect(await page.title()).not.toBe('broken in')
    expect(complaints).toEqual([])
  })

  test('a cell that one may not change says why', async () => {
    const every = await everyType([{ text: 'A', phone: '1' }])
    const config = { columns: ['text', 'phone', 'created_at'] }
    const view = await every.rpc.views.create.mutate({ table_id: every.table.id, name: 'With times', type: 'grid', config })
    const REASONS: [person: Person, field: string, reason: string][] = [
      [every.account.owner, 'Created at', 'The service sets this value by itself'],
      [every.account.member, 'phone', 'Only admins of the space can change this field'],
      [every.account.viewer, 'text', 'You can read this table, not change it'],
    ]
    for (const [person, field, reason] of REASONS) {
      const { page } = await openTable(every, person, `/view/${view.id}`)
      const cell = await cellOf(page, field)
      await cell.click()
      await page.keyboard.press('Enter')
      await page.getByText(reason).first().waitFor()
      await expect.poll(() => cell.getAttribute('aria-readonly')).toBe('true')
      await expect.poll(() => page.getByRole('textbox', { name: field, exact: true }).count()).toBe(0)
    }
  })
})
