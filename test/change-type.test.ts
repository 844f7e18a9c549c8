import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { check } from '../src/conversions/job/check.ts'
import { convert } from '../src/conversions/job/convert.ts'
import { isConvertible } from '../src/conversions/rules.ts'
import { resumeAll } from '../src/conversions/service.ts'
import { KEY_FIELD, parseCell } from '../src/fields/definition.ts'
import { FIELD_TYPES } from '../src/fields/registry.ts'
import { type Context, systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { tokenHash } from '../src/platform/secrets/secrets.ts'
import { formatInstant, isCalendarDate } from '../src/platform/time/time.ts'
import { dayRange, startOfDay } from '../src/platform/time/time-zones.ts'
import { query } from '../src/records/query/run.ts'
import type { RecordsQuery } from '../src/records/schema.ts'
import { get } from '../src/records/service.ts'
import { type Answer, type Caller, type TestAccount, testApp } from './support/app.ts'
import { watchedContext } from './support/context.ts'
import { runConversion } from './support/conversions.ts'
import { databaseWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
let account: TestAccount
let people: number
let ann: number

beforeAll(async () => {
  account = await app.account({ timezone: 'America/New_York' })
  people = await newTable([{ name: 'Name', type: 'text' }])
  ann = await createRecord(people, { name: 'Ann' })
})

interface FieldInput {
  name: string
  type: string
  [key: string]: unknown
}

const newTable = async (fields: FieldInput[]) => (await makeTable(app, account, { fields })).id

async function createRecord(table: number, data: object): Promise<number> {
  const answer = await app.as(account.owner).post(`/api/table/${table}/records/create`, { data })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.id
}

/** Creates a table with the field `cell`, and a record for each value. */
async function tableOf(field: Omit<FieldInput, 'name'>, values: readonly unknown[]): Promise<number> {
  const table = await newTable([{ name: 'Cell', ...field } as FieldInput])
  for (const cell of values) await createRecord(table, { cell })
  return table
}

const changeType = (table: number, body: object, caller: Caller = account.admin, field = 'cell') =>
  app.as(caller).post(`/api/table/${table}/field/${field}/changeType`, body)
const job = (id: number, caller: Caller = account.admin) => app.as(caller).get(`/api/job/${id}`)
const run = (id: number) => runConversion(systemContext(app.deps), id)
const count = (id: number) => check(systemContext(app.deps), { conversion_id: id })

async function cells(table: number): Promise<unknown[]> {
  const { body } = await app.as(account.owner).post(`/api/table/${table}/records/query`, {})
  return body.map(({ cell }: { cell: unknown }) => cell)
}

const fieldOf = async (table: number) =>
  (await app.as(account.owner).get(`/api/table/${table}/get`)).body.fields.find(({ id }: { id: string }) => id === 'cell')

/** Lists the columns of the records table that belong to no field. */
const besides = (table: number) =>
  app.db.read(
    sql`select attname from pg_attribute where attrelid = to_regclass(${`t${table}.records`}) and attname like '~%' and not attisdropped`,
  )

const SELECT = { type: 'select', options: ['Open', 'Done'] }
const MULTI = { type: 'multi_select', options: ['Open', 'Done', 'New, old'] }

/** Blanks as they come with pasted texts: line ends, tabs, spaces of several widths, and the mark of a file's beginning. */
const BLANKS = '\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
const padded = (text: string) => [`${text}\n`, `\u00a0${text}`, `${BLANKS}${text}${BLANKS}`]

describe('cells convert', () => {
  const lookup = () => ({ type: 'lookup', table: people })
  const lookups = () => ({ type: 'multi_lookup', table: people })
  const member = () => ({ id: account.member.id, email: account.member.email, name: account.member.name })
  const viewer = () => ({ id: account.viewer.id, email: account.viewer.email, name: account.viewer.name })
  // Each case has the field, its values, the change, and the values that are read after it. Values that fail become null and are named.
  const cases: [string, () => object, () => unknown[], () => object, () => unknown[], number?][] = [
    [
      'text to number',
      () => ({ type: 'text' }),
      () => ['12', ' -1.255 ', '1e3', '.5', 'twelve', null, '2000000000000000', '0x1F', 'NaN', '1_000'],
      () => ({ type: 'number', decimals: 2 }),
      () => [12, -1.26, 1000, 0.5, null, null, null, null, null, null],
      5,
    ],
    [
      'text to date',
      () => ({ type: 'text' }),
      () => ['2026-02-28', '2026-02-29', '28.02.2026', '0001-01-01', 'today'],
      () => ({ type: 'date' }),
      () => ['2026-02-28', null, null, '0001-01-01', null],
      3,
    ],
    [
      'text to datetime',
      () => ({ type: 'text' }),
      () => [
        '2026-03-01 10:30',
        '2026-03-01T10:30:15.999Z',
        '2026-03-01T10:30:00+02:00',
        '2026-03-01',
        '2026-03-01 24:00',
        'now',
        '0001-01-01T00:00:00+05:00',
      ],
      () => ({ type: 'datetime' }),
      () => ['2026-03-01 10:30:00', '2026-03-01 10:30:15', '2026-03-01 08:30:00', '2026-03-01 05:00:00', null, null, null],
      3,
    ],
    [
      'text to time',
      () => ({ type: 'text' }),
      () => ['09:30', '23:59:59', '24:00', '9:30'],
      () => ({ type: 'time' }),
      () => ['09:30:00', '23:59:59', null, null],
      2,
    ],
    [
      'text to checkbox',
      () => ({ type: 'text' }),
      () => ['true', 'No', '1', 'maybe', null],
      () => ({ type: 'checkbox' }),
      () => [true, false, true, false, false],
      1,
    ],
    [
      'text to a select of given options',
      () => ({ type: 'text' }),
      () => ['Open', 'open', ' Done '],
      () => SELECT,
      () => ['Open', null, 'Done'],
      1,
    ],
    [
      'blanks around a text to number',
      () => ({ type: 'long_text' }),
      () => [...padded('12'), '1\u00a0234', '\u200b1'],
      () => ({ type: 'number' }),
      () => [12, 12, 12, null, null],
      2,
    ],
    [
      'blanks around a text to date',
      () => ({ type: 'text' }),
      () => padded('2026-02-28'),
      () => ({ type: 'date' }),
      () => Array(3).fill('2026-02-28'),
    ],
    [
      'blanks around a text to datetime',
      () => ({ type: 'text' }),
      () => [...padded('2026-02-28 10:30:00'), ...padded('2026-02-28'), ...padded('2026-02-28T10:30+01:00')],
      () => ({ type: 'datetime' }),
      () => ['2026-02-28 10:30:00', '2026-02-28 05:00:00', '2026-02-28 09:30:00'].flatMap((one) => Array(3).fill(one)),
    ],
    [
      'blanks around a text to time',
      () => ({ type: 'text' }),
      () => padded('10:30'),
      () => ({ type: 'time' }),
      () => Array(3).fill('10:30:00'),
    ],
    [
      'blanks around a text to checkbox',
      () => ({ type: 'text' }),
      () => [...padded('Yes'), ...padded('0')],
      () => ({ type: 'checkbox' }),
      () => [true, true, true, false, false, false],
    ],
    [
      'blanks around a text to a select of given options',
      () => ({ type: 'text' }),
      () => padded('Open'),
      () => SELECT,
      () => Array(3).fill('Open'),
    ],
    [
      'blanks around a text to a select of the values that exist',
      () => ({ type: 'text' }),
      () => [...padded('b'), 'b', 'a', BLANKS],
      () => ({ type: 'select' }),
      () => ['b', 'b', 'b', 'b', 'a', null],
      1,
    ],
    [
      'blanks around a text and its commas to multi_select',
      () => ({ type: 'long_text' }),
      () => [...padded('Open'), ...padded('New, old'), padded('Open').join(), padded('Done').join()],
      () => MULTI,
      () => [['Open'], ['Open'], ['Open'], ['New, old'], ['New, old'], ['New, old'], ['Open'], ['Done']],
    ],
    [
      'blanks around a text to a multi_select of the values that exist',
      () => ({ type: 'long_text' }),
      () => [padded('b').join(), 'b', 'a'],
      () => ({ type: 'multi_select' }),
      () => [['b'], ['b'], ['a']],
    ],
    [
      'blanks around a text to user',
      () => ({ type: 'text' }),
      () => padded(account.member.email.toUpperCase()),
      () => ({ type: 'user' }),
      () => [member(), member(), member()],
    ],
    [
      'blanks around a text to multi_user',
      () => ({ type: 'long_text' }),
      () => [padded(account.member.email).join()],
      () => ({ type: 'multi_user' }),
      () => [[member()]],
    ],
    [
      'blanks around a text to lookup',
      () => ({ type: 'text' }),
      () => padded(String(ann)),
      () => lookup(),
      () => Array(3).fill({ id: ann, title: 'Ann' }),
    ],
    [
      'text to a select of the values that exist',
      () => ({ type: 'text' }),
      () => ['b', 'a', 'b'],
      () => ({ type: 'select' }),
      () => ['b', 'a', 'b'],
    ],
    [
      'text to multi_select',
      () => ({ type: 'text' }),
      () => ['Done, Open,Done', 'New, old', 'Open, Gone'],
      () => MULTI,
      () => [['Done', 'Open'], ['New, old'], []],
      1,
    ],
    [
      'text to a multi_select, however the list is written',
      () => ({ type: 'text' }),
      () => [
        'Done,Open',
        ' Done ,, Open,',
        ',',
        ', ',
        'a, b, Open',
        'a,b',
        'a,b, Open',
        'b',
        'Open, open',
        'it\'s, 100% "so"',
        '__proto__',
      ],
      () => ({ type: 'multi_select', options: ['Open', 'Done', 'a,b', 'a', "it's", '100% "so"', '__proto__'] }),
      () => [['Done', 'Open'], ['Done', 'Open'], [], [], [], ['a,b'], [], [], [], ["it's", '100% "so"'], ['__proto__']],
      6,
    ],
    [
      'long_text to a multi_select, of 1,000 different words at most',
      () => ({ type: 'long_text' }),
      () => [Array(1_001).fill('a').join(), `${Array(1_000).fill('a').join()},b`, `${Array(1_000).fill('a').join()},`],
      () => ({ type: 'multi_select', options: ['a'] }),
      () => [['a'], [], ['a']],
      1,
    ],
    [
      'text to multi_user, however the list is written',
      () => ({ type: 'text' }),
      () => [
        `${account.viewer.email},${account.member.email.toUpperCase()} ,`,
        `, ${account.member.email}`,
        `${account.member.email}, `,
        `${account.member.email}, Max`,
        ',',
      ],
      () => ({ type: 'multi_user' }),
      () => [[viewer(), member()], [member()], [member()], [], []],
      2,
    ],
    [
      'text to multi_lookup, however the list is written',
      () => ({ type: 'text' }),
      () => [` ${ann} ,, ${ann},`, ',', `${ann} 1`, `9999999999`, `-${ann}`],
      lookups,
      () => [[{ id: ann, title: 'Ann' }], [], [], [], []],
      4,
    ],
    [
      'text to datetime at the edges',
      () => ({ type: 'text' }),
      () => [
        '9999-12-31 23:59:59',
        '9999-12-31T23:59:59-01:00',
        '9999-12-31T22:00:00+01:00',
        '0001-01-01 00:00:00',
        '0001-01-01T01:00+02:00',
        '2026-03-01 10:30:60',
        '2026-02-29 10:30:00',
        '2026-03-01 10:30:5',
        '2026-03-01T10:30.5+0100',
        ' 2026-03-01 10:30:15 ',
        'Sun Mar 01 10:30:15 2026',
      ],
      () => ({ type: 'datetime' }),
      () => [
        '9999-12-31 23:59:59',
        null,
        '9999-12-31 21:00:00',
        '0001-01-01 00:00:00',
        null,
        null,
        null,
        null,
        '2026-03-01 09:30:00',
        '2026-03-01 10:30:15',
        null,
      ],
      6,
    ],
    [
      'text to number, short and long',
      () => ({ type: 'text' }),
      () => ['999999999999999', '-1000000000000000', '1000000000000000.5', '12345678901234.565', '1.', '+.5', '-', '.', '9'.repeat(500)],
      () => ({ type: 'number', decimals: 2 }),
      () => [999999999999999, -1000000000000000, null, 12345678901234.57, 1, 0.5, null, null, null],
      4,
    ],
    ['text to email', () => ({ type: 'text' }), () => ['a@b.example', null], () => ({ type: 'email' }), () => ['a@b.example', null]],
    [
      'text to user',
      () => ({ type: 'text' }),
      () => [account.member.email.toUpperCase(), account.outsider.email, 'Max'],
      () => ({ type: 'user' }),
      () => [member(), null, null],
      2,
    ],
    [
      'text to multi_user',
      () => ({ type: 'text' }),
      () => [`${account.viewer.email}, ${account.member.email}`, account.outsider.email],
      () => ({ type: 'multi_user' }),
      () => [[viewer(), member()], []],
      1,
    ],
    [
      'text to lookup',
      () => ({ type: 'text' }),
      () => [`${ann}`, '999999', 'Ann'],
      lookup,
      () => [{ id: ann, title: 'Ann' }, null, null],
      2,
    ],
    [
      'text to multi_lookup',
      () => ({ type: 'text' }),
      () => [`${ann},${ann}`, `${ann}, 999999`],
      lookups,
      () => [[{ id: ann, title: 'Ann' }], []],
      1,
    ],
    [
      'long_text to text',
      () => ({ type: 'long_text' }),
      () => ['x'.repeat(500), 'x'.repeat(501), '😀'.repeat(250), '😀'.repeat(251)],
      () => ({ type: 'text' }),
      () => ['x'.repeat(500), null, '😀'.repeat(250), null],
      2,
    ],
    [
      'number to text',
      () => ({ type: 'number', decimals: 2 }),
      () => [12, 1.5, -0.25, null],
      () => ({ type: 'text' }),
      () => ['12', '1.5', '-0.25', null],
    ],
    ['number to checkbox', () => ({ type: 'number' }), () => [0, 1, 2], () => ({ type: 'checkbox' }), () => [false, true, false], 1],
    ['number to select', () => ({ type: 'number' }), () => [1, 2.5, 1], () => ({ type: 'select' }), () => ['1', '2.5', '1']],
    ['number to lookup', () => ({ type: 'number' }), () => [ann, 1.5], lookup, () => [{ id: ann, title: 'Ann' }, null], 1],
    ['checkbox to number', () => ({ type: 'checkbox' }), () => [true, false, null], () => ({ type: 'number' }), () => [1, 0, null]],
    ['checkbox to text', () => ({ type: 'checkbox' }), () => [true, false, null], () => ({ type: 'text' }), () => ['true', 'false', null]],
    [
      'date to datetime, the local day',
      () => ({ type: 'date' }),
      () => ['2026-07-01', '2026-01-01', null],
      () => ({ type: 'datetime' }),
      () => ['2026-07-01 04:00:00', '2026-01-01 05:00:00', null],
    ],
    [
      'datetime to date, the local day',
      () => ({ type: 'datetime' }),
      () => ['2026-07-01 03:59:59', '2026-07-01 04:00:00'],
      () => ({ type: 'date' }),
      () => ['2026-06-30', '2026-07-01'],
    ],
    [
      'datetime to text',
      () => ({ type: 'datetime' }),
      () => ['2026-07-01 03:59:59'],
      () => ({ type: 'long_text' }),
      () => ['2026-07-01 03:59:59'],
    ],
    ['time to text', () => ({ type: 'time' }), () => ['09:30'], () => ({ type: 'text' }), () => ['09:30:00']],
    ['select to multi_select', () => SELECT, () => ['Done', null], () => ({ type: 'multi_select' }), () => [['Done'], []]],
    [
      'select to multi_select of other options',
      () => SELECT,
      () => ['Done', 'Open'],
      () => ({ type: 'multi_select', options: ['Later', 'Open'] }),
      () => [[], ['Open']],
      1,
    ],
    ['select to text', () => SELECT, () => ['Done', null], () => ({ type: 'text' }), () => ['Done', null]],
    [
      'multi_select to select',
      () => MULTI,
      () => [['Done'], ['Open', 'Done'], []],
      () => ({ type: 'select' }),
      () => ['Done', null, null],
      1,
    ],
    [
      'multi_select to text, in the form of files',
      () => ({ type: 'multi_select', options: ['c, d', 'a', 'say "hi"', 'x;y'] }),
      () => [['c, d', 'a'], ['a', 'say "hi"'], ['c, d'], ['a', 'x;y']],
      () => ({ type: 'text' }),
      () => ['"c, d", a', 'a, "say ""hi"""', '"c, d"', 'a, x;y'],
    ],
    [
      'text to a multi_select of the values of its lists',
      () => ({ type: 'text' }),
      () => ['"x, y", a', 'a,"x, y"', ' "a" , b ', '"say ""hi""", b', '"b', 'b "c", a', '"x" y', '"", a'],
      () => ({ type: 'multi_select' }),
      () => [['x, y', 'a'], ['a', 'x, y'], ['a', 'b'], ['say "hi"', 'b'], [], ['b "c"', 'a'], [], ['a']],
      2,
    ],
    [
      'text to a multi_select: a list comes before a title with a comma, a title before no list',
      () => ({ type: 'text' }),
      () => ['a, b', '"a, b"', '"a, b", a', 'New, old', '"tail', '"New, old"'],
      () => ({ type: 'multi_select', options: ['a', 'b', 'a, b', 'New, old', '"tail'] }),
      () => [['a', 'b'], ['a, b'], ['a, b', 'a'], ['New, old'], ['"tail'], ['New, old']],
    ],
    [
      'text to multi_user, in quotes',
      () => ({ type: 'text' }),
      () => [`"${account.viewer.email}", ${account.member.email}`, `"${account.viewer.email}, ${account.member.email}"`],
      () => ({ type: 'multi_user' }),
      () => [[viewer(), member()], []],
      1,
    ],
    ['multi_select to text', () => MULTI, () => [['Done', 'Open'], []], () => ({ type: 'text' }), () => ['Done, Open', null]],
    [
      'user to multi_user',
      () => ({ type: 'user' }),
      () => [account.member.id, null],
      () => ({ type: 'multi_user' }),
      () => [[member()], []],
    ],
    [
      'multi_user to user',
      () => ({ type: 'multi_user' }),
      () => [[account.member.id], [account.member.id, account.viewer.id]],
      () => ({ type: 'user' }),
      () => [member(), null],
      1,
    ],
    ['user to text', () => ({ type: 'user' }), () => [account.member.id], () => ({ type: 'text' }), () => [account.member.email]],
    [
      'datetime to date at the edges',
      () => ({ type: 'datetime' }),
      () => ['0001-01-01 00:00:00', '0001-01-01 12:00:00', '9999-12-31 23:59:59'],
      () => ({ type: 'date' }),
      () => ['0001-01-01', '0001-01-01', '9999-12-31'],
    ],
    ['lookup to multi_lookup', lookup, () => [ann, null], () => ({ type: 'multi_lookup' }), () => [[{ id: ann, title: 'Ann' }], []]],
    ['multi_lookup to lookup', lookups, () => [[ann]], () => ({ type: 'lookup' }), () => [{ id: ann, title: 'Ann' }]],
    ['lookup to text', lookup, () => [ann], () => ({ type: 'text' }), () => ['Ann']],
    ['lookup to number', lookup, () => [ann], () => ({ type: 'number' }), () => [ann]],
  ]
  test.each(cases)('%s', async (_, field, values, change, expected, failing = 0) => {
    const table = await tableOf(field() as { type: string }, values())
    const before = await cells(table)
    const total = values().length
    const held = values().filter((value) => value !== null && !(Array.isArray(value) && !value.length)).length
    const figures = { converts: held - failing, failing, fails: expect.toSatisfy((fails) => fails.length === failing) }
    const dry = await changeType(table, { ...change(), dry_run: true })
    expect(dry.status, JSON.stringify(dry.body)).toBe(200)
    expect(dry.body).toEqual({ job_id: expect.any(Number) })
    await run(dry.body.job_id)
    expect((await job(dry.body.job_id)).body).toEqual({ state: 'done', done: total, total, error: null, ...figures })
    if (failing) {
      const refused = await changeType(table, change())
      expect(refused.body).toEqual({ job_id: expect.any(Number) })
      await run(refused.body.job_id)
      const error = expect.stringMatching(/^(1 cell|\d+ cells) cannot be converted; send drop_failing: true to empty (it|them)$/)
      expect((await job(refused.body.job_id)).body).toEqual({ state: 'refused', done: total, total, error, ...figures })
    }
    expect(await cells(table)).toEqual(before)
    expect(await besides(table)).toEqual([])

    const { status, body } = await changeType(table, { ...change(), drop_failing: failing > 0 })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(await cells(table)).toEqual(before)
    await run(body.job_id)
    // The next request reads the record by the definition that the process still knows.
    const record = await app.as(account.owner).get(`/api/table/${table}/record/1/get`)
    expect([record.status, record.body.data?.cell]).toEqual([200, expected()[0]])
    expect((await job(body.job_id)).body).toEqual({ state: 'done', done: total, total, error: null, ...figures })
    expect(await cells(table)).toEqual(expected())
    expect(await fieldOf(table)).toMatchObject(change())
    expect(await besides(table)).toEqual([])
    // From now on, values of the new type are written.
    const written = expected().find((value) => value !== null)
    await createRecord(table, { cell: written })
    expect((await cells(table)).at(-1)).toEqual(written)
  })

  test('to a select whose options are in the order of code points', async () => {
    const table = await tableOf({ type: 'text' }, ['😀', '！', 'b', 'ä'])
    const { body } = await changeType(table, { type: 'select' })
    await run(body.job_id)
    expect((await fieldOf(table)).options).toEqual(['b', 'ä', '！', '😀'])
  })

  test('a local day begins at the same instant as elsewhere, also where midnight is skipped or repeated', async () => {
    for (const [zone, day] of [
      ['Africa/Cairo', '2026-04-24'],
      ['America/Havana', '2026-11-01'],
      ['Pacific/Apia', '2011-12-30'],
      ['Asia/Kolkata', '2026-01-01'],
    ] as const) {
      const table = await tableOf({ type: 'date' }, [day])
      const traveller = await app.person(account.id, 'Tia Traveller', zone)
      await app.as(account.owner).post(`/api/space/${account.space}/members/add`, { email: traveller.email, role: 'admin' })
      const { body } = await changeType(table, { type: 'datetime' }, traveller)
      await run(body.job_id)
      expect(await cells(table), zone).toEqual([formatInstant(dayRange(day, zone).from)])
    }
  })
})

test('a text converts exactly if it can be written, and to the same value', async () => {
  const texts = [
    ...[
      '0',
      '-0',
      '+7',
      '007',
      '1.',
      '.5',
      '.',
      '-',
      '1e3',
      '1E-9',
      '1e1000',
      '-1e15',
      '1e15',
      '1000000000000000.1',
      '0.123456789',
      '1,5',
      '٣',
      '1 2',
    ],
    ...['2024-02-29', '2023-02-29', '0000-01-01', '9999-12-31', '10000-01-01', '2026-1-1', '2026-13-01', '20260101', 'infinity', 'epoch'],
    ...['2026-01-01 00:00', '2026-01-01T23:59:59.9999999Z', '2026-01-01t10:00:00z', '2026-01-01 10:00:60', '2026-01-01 24:00:00'],
    ...[
      '2026-01-01 10:00 +0530',
      '2026-01-01T10:00+05:30',
      '2026-01-01T10:00-0330',
      '9999-12-31T23:59:59-01:00',
      '0001-01-01T00:30:00+01:00',
    ],
    ...['10:00', '10:00:59', '10:60', '1000', '10:00 pm', '10:00:00.5', 'noon'],
    ...['true', "o'clock; --", '\\d+', '%_', 'Straße', '😀', 'allballs', 'NaN', 'nan', '0b1', '1_0', '１２'],
  ]
  for (const type of ['number', 'date', 'datetime', 'time'] as const) {
    const table = await tableOf({ type: 'text' }, texts)
    const field = { ...KEY_FIELD, id: 'cell', key: false, type, decimals: null }
    const written = texts.map((text) => {
      const parsed = parseCell(field, text, 0)
      // A date alone cannot be written as an instant, but it has a first instant.
      if (type === 'datetime' && isCalendarDate(text)) return formatInstant(startOfDay(text, 'America/New_York'))
      return parsed.kind === 'cell' ? (type === 'number' ? Number(parsed.cell) : parsed.cell) : null
    })
    const { body } = await changeType(table, { type, drop_failing: true })
    await run(body.job_id)
    const converted = await cells(table)
    expect(texts.map((text, at) => [text, converted[at]])).toEqual(texts.map((text, at) => [text, written[at]]))
  }
})

test('every other pair of types is refused, and changes nothing', async () => {
  const table = await newTable(
    FIELD_TYPES.map((type) => ({
      name: type,
      type,
      ...(type.includes('lookup') && { table: people }),
      ...(type.includes('select') && { options: ['A'] }),
    })),
  )
  const becomes: string[] = []
  for (const from of FIELD_TYPES) {
    const to: string[] = []
    for (const type of FIELD_TYPES) {
      const { status, body } = await changeType(
        table,
        { type, dry_run: true, ...(type.includes('lookup') && { table: people }) },
        account.admin,
        from,
      )
      expect([200, 400], JSON.stringify(body)).toContain(status)
      if (status === 200) to.push(type)
    }
    becomes.push(`${from}: ${to.join(' ')}`)
  }
  expect(becomes).toEqual([
    'text: long_text email url phone number checkbox date datetime time select multi_select user multi_user lookup multi_lookup',
    'long_text: text email url phone number checkbox date datetime time select multi_select user multi_user lookup multi_lookup',
    'email: text long_text url phone number checkbox date datetime time select multi_select user multi_user lookup multi_lookup',
    'url: text long_text email phone number checkbox date datetime time select multi_select user multi_user lookup multi_lookup',
    'phone: text long_text email url number checkbox date datetime time select multi_select user multi_user lookup multi_lookup',
    'number: text long_text email url phone checkbox select multi_select lookup multi_lookup',
    'checkbox: text long_text email url phone number select multi_select',
    'date: text long_text email url phone datetime select multi_select',
    'datetime: text long_text email url phone date select multi_select',
    'time: text long_text email url phone select multi_select',
    'select: text long_text email url phone multi_select',
    'multi_select: text long_text email url phone select',
    'user: text long_text email url phone select multi_select multi_user',
    'multi_user: text long_text email url phone user',
    'lookup: text long_text email url phone number select multi_select multi_lookup',
    'multi_lookup: text long_text email url phone lookup',
    'file: ',
  ])
})

test('the documentation lists the same pairs', async () => {
  const page = await readFile(new URL('../docs/field-types.md', import.meta.url), 'utf8')
  const texts = ['text', 'long_text', 'email', 'url', 'phone']
  const rows = [...page.matchAll(/^\| (?!From|---)(.+) \| (.+) \|$/gm)].map(([, from = '', to = '']) => [from, to] as const)
  const documented = new Map<string, string[]>(
    rows.flatMap(([from, to]) =>
      from.split(', ').map((type): [string, string[]] => {
        if (texts.includes(type)) return [type, FIELD_TYPES.filter((other) => other !== type && other !== 'file')]
        return [type, to === '–' ? [] : to.split(', ').flatMap((word) => (word === 'the texts' ? texts : word))]
      }),
    ),
  )
  for (const from of FIELD_TYPES) {
    const becomes = FIELD_TYPES.filter((to) => isConvertible(from, to))
    expect(new Set(documented.get(from)), from).toEqual(new Set(becomes))
  }
})

describe('bad input', () => {
  test.each([
    [{}, 'type'],
    [{ type: 'txt' }, 'type'],
    [{ type: 'text' }, 'type'],
    [{ type: 'file' }, 'type'],
    [{ type: 'number', options: ['A'] }, 'options'],
    [{ type: 'select', options: ['A', 'A'] }, 'options'],
    [{ type: 'select', decimals: 2 }, 'decimals'],
    [{ type: 'number', decimals: 9 }, 'decimals'],
    [{ type: 'lookup' }, 'table'],
    [{ type: 'lookup', table: 2_000_000_000 }, 'table'],
    [{ type: 'number', dry_run: 'yes' }, 'dry_run'],
    [{ type: 'number', colour: 'red' }, 'colour'],
  ])('%j is 400', async (body, key) => {
    const table = await tableOf({ type: 'text' }, ['1'])
    const answer = await changeType(table, body)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body.issues)).toContain(key)
    expect((await fieldOf(table)).type).toBe('text')
  })

  test('a type that the field cannot become is refused in a sentence', async () => {
    const table = await tableOf({ type: 'email' }, [])
    const { body } = await changeType(table, { type: 'file' })
    expect(body.message).toBe('type: an email field cannot be converted to a file field')
    await app.as(account.admin).post(`/api/table/${table}/fields/create`, { name: 'Day', type: 'date' })
    const other = await changeType(table, { type: 'user' }, account.admin, 'day')
    expect(other.body.message).toBe('type: a date field cannot be converted to a user field')
  })

  test('an unknown field is 404; key and calculated fields are 400', async () => {
    const table = await tableOf({ type: 'text' }, [])
    expect((await changeType(table, { type: 'number' }, account.admin, 'nothing')).status).toBe(404)
    expect((await changeType(table, { type: 'text' }, account.admin, 'id')).status).toBe(400)
    expect((await changeType(table, { type: 'date' }, account.admin, 'created_at')).status).toBe(400)
  })

  test('more than 500 different values do not become options on their own', async () => {
    const table = await tableOf({ type: 'text' }, [])
    await app.db.write(
      sql([
        `insert into t${table}.records (created_at, updated_at, cell) select now(), now(), i::text from generate_series(1, 501) i`,
      ] as never),
    )
    const { body } = await changeType(table, { type: 'select' })
    await run(body.job_id)
    expect((await job(body.job_id)).body).toEqual({
      state: 'refused',
      done: 0,
      total: 501,
      error: 'options: must be given: the records hold more than 500 different values',
    })
    expect((await fieldOf(table)).type).toBe('text')
  })
})

test('only an admin of the space may change a type or see the job', async () => {
  const table = await tableOf({ type: 'text' }, ['1'])
  const statuses = async (ask: (caller: Caller) => Promise<{ status: number }>) =>
    Promise.all(
      [
        account.member,
        account.keys.personal,
        account.keys.accountReadOnly,
        account.keys.accountOtherSpace,
        account.outsider,
        account.keys.accountOutsider,
      ].map(async (caller) => (await ask(caller)).status),
    )
  expect(await statuses((caller) => changeType(table, { type: 'number' }, caller))).toEqual([403, 403, 403, 403, 404, 404])
  const { body } = await changeType(table, { type: 'number' })
  expect(await statuses((caller) => job(body.job_id, caller))).toEqual([403, 403, 200, 403, 404, 404])
  expect((await job(2_000_000_000)).body.message).toBe('Job not found')
  expect(await app.as(account.owner).rpc.jobs.get.query({ job_id: body.job_id })).toEqual({
    state: 'checking',
    done: 0,
    total: 1,
    error: null,
  })
})

describe('views', () => {
  test('that the new type makes invalid are named, and are deleted with force', async () => {
    const table = await tableOf({ type: 'number' }, [1, 2])
    const view = async (name: string, body: object) =>
      (await app.as(account.admin).post(`/api/table/${table}/views/create`, { name, type: 'grid', ...body })).body.id
    await view('Filtered', { filters: [{ column: 'cell', compare: '>', value: 1 }] })
    await view('Sorted', { order_by: 'cell' })
    await view('Shown', { config: { columns: ['cell'] } })
    const refused = await changeType(table, { type: 'multi_select' })
    expect(refused.status).toBe(409)
    expect(refused.body.message).toBe('Views need this field: Filtered, Sorted; send force: true to change them')
    const { body } = await changeType(table, { type: 'multi_select', force: true })
    await run(body.job_id)
    const views = (await app.as(account.admin).get(`/api/table/${table}/views/list`)).body
    expect(views.map(({ name, order_by }: { name: string; order_by: string | null }) => [name, order_by])).toEqual([
      ['Default', null],
      ['Shown', null],
      ['Sorted', null],
    ])
    expect(await cells(table)).toEqual([['1'], ['2']])
  })

  test('of a calendar keep their index', async () => {
    const table = await tableOf({ type: 'date' }, ['2026-01-01'])
    await app.as(account.admin).post(`/api/table/${table}/views/create`, { name: 'Plan', type: 'calendar', config: { startField: 'cell' } })
    const { body } = await changeType(table, { type: 'datetime' })
    await run(body.job_id)
    const [index] = await app.db.read<{ indexdef: string }>(
      sql`select indexdef from pg_indexes where schemaname = ${`t${table}`} and indexname = 'idx_layout_cell'`,
    )
    expect(index?.indexdef).toContain('(cell NULLS FIRST, id)')
  })

  test('that are saved during the job end it, and the field stays as it was', async () => {
    for (const isCounted of [false, true]) {
      const table = await tableOf({ type: 'number' }, [1])
      const { body } = await changeType(table, { type: 'text' })
      if (isCounted) await count(body.job_id)
      await app.as(account.admin).post(`/api/table/${table}/views/create`, {
        name: 'Late',
        type: 'grid',
        filters: [{ column: 'cell', compare: '>', value: 1 }],
      })
      await run(body.job_id)
      expect((await job(body.job_id)).body).toMatchObject({
        state: 'refused',
        error: 'Views need this field: Late; send force: true to change them',
        converts: 1,
        failing: 0,
        fails: [],
      })
      expect(await cells(table)).toEqual([1])
      expect(await besides(table)).toEqual([])
    }
  })
})

describe('while the job runs', () => {
  test('other users read and write with the old type, and none of their writes is lost', async () => {
    const table = await tableOf({ type: 'text' }, [])
    await app.db.write(
      sql([
        `insert into t${table}.records (created_at, updated_at, cell) select now(), now(), i::text from generate_series(1, 30000) i`,
      ] as never),
    )
    const { body } = await changeType(table, { type: 'number' })
    const as = app.as(account.owner)
    const running = run(body.job_id)
    const written = new Map<number, number>()
    let isRunning = true
    const ended = running.finally(() => {
      isRunning = false
    })
    for (let n = 0; isRunning; n++) {
      const id = 1 + ((n * 7_919) % 30_000)
      const updated = await as.post(`/api/table/${table}/record/${id}/update`, { data: { cell: `${n + 0.5}` } })
      const created = await as.post(`/api/table/${table}/records/create`, { data: { cell: `${n}` } })
      const gone = 1 + ((n * 104_729 + 5) % 30_000)
      if (!written.has(gone)) await as.post(`/api/table/${table}/record/${gone}/delete`)
      expect([200, 404], JSON.stringify(updated.body)).toContain(updated.status)
      // A number may be sent as text, so the same call is valid before and after the swap.
      expect(created.status, JSON.stringify(created.body)).toBe(200)
      if (updated.status === 200) written.set(id, n + 0.5)
      written.set(created.body.id, n)
      if (gone === id) written.delete(id)
    }
    await ended
    expect((await job(body.job_id)).body.state).toBe('done')
    const rows = await app.db.read<{ id: number; cell: number }>(sql([`select id, cell from t${table}.records order by id`] as never))
    for (const { id, cell } of rows) expect(cell).toBe(written.get(id) ?? id)
    expect(written.size).toBeGreaterThan(1)
  })

  test('a written cell that does not convert ends the job, or is cleared', async () => {
    for (const drop_failing of [false, true]) {
      const table = await tableOf({ type: 'text' }, ['1'])
      const { body } = await changeType(table, { type: 'number', drop_failing })
      await count(body.job_id)
      await createRecord(table, { cell: 'two' })
      await run(body.job_id)
      expect((await job(body.job_id)).body).toMatchObject(
        drop_failing
          ? { state: 'done', converts: 1, failing: 0, fails: [] }
          : {
              state: 'refused',
              error: '1 cell cannot be converted; send drop_failing: true to empty it',
              converts: 1,
              failing: 1,
              fails: [{ record_id: 2, value: 'two' }],
            },
      )
      expect(await cells(table)).toEqual(drop_failing ? [1, null] : ['1', 'two'])
      expect(await besides(table)).toEqual([])
    }
  })

  test('a reader at the moment of the swap gets the old or the new value of a cell, never an empty one', async () => {
    const other = await tableOf({ type: 'text' }, ['old title'])
    await app.as(account.admin).post(`/api/table/${other}/fields/create`, { name: 'Next', type: 'text' })
    await app.as(account.owner).post(`/api/table/${other}/record/1/update`, { data: { next: 'new title' } })
    const pointing = await tableOf({ type: 'lookup', table: other }, [1])
    for (const [table, converted, to, expected] of [
      [await tableOf(SELECT, ['Open']), null, 'text', 'Open'],
      [await tableOf({ type: 'text' }, ['Open']), null, 'select', 'Open'],
      [pointing, other, 'select', { id: 1, title: 'new title' }],
    ] as const) {
      const { body } = await changeType(converted ?? table, { type: to })
      expect(body.job_id, JSON.stringify(body)).toBeGreaterThan(0)
      const { ref, context } = await readingAtTheSwap(table, converted ?? table, body.job_id)
      const { value } = await query(context, ref, { limit: 10, offset: 0, include: new Set() } as unknown as RecordsQuery)
      expect(JSON.parse(JSON.stringify(value)).rows).toMatchObject([{ id: 1, cell: expected }])
      expect((await job(body.job_id)).body.state).toBe('done')
    }
    const table = await tableOf(SELECT, ['Open'])
    const { body } = await changeType(table, { type: 'text' })
    const { ref, context } = await readingAtTheSwap(table, table, body.job_id)
    expect((await get(context, ref, { id: 1, version: 1 }, { include: new Set() })).value.data).toEqual({ cell: 'Open' })
    expect((await job(body.job_id)).body.state).toBe('done')
  })

  test('the field cannot be deleted or get other options, and no other field can be converted', async () => {
    const table = await tableOf(SELECT, ['Open'])
    await app.as(account.admin).post(`/api/table/${table}/fields/create`, { name: 'Other', type: 'text' })
    const { body } = await changeType(table, { type: 'text' })
    const field = `/api/table/${table}/field/cell`
    for (const [path, input] of [
      [`${field}/delete`, {}],
      [`${field}/update`, { options: ['Open'], force: true }],
      [`${field}/changeType`, { type: 'multi_select' }],
      [`/api/table/${table}/field/other/changeType`, { type: 'number' }],
    ] as const)
      expect((await app.as(account.admin).post(path, input)).status, path).toBe(409)
    expect((await app.as(account.admin).post(`${field}/update`, { name: 'Renamed' })).status).toBe(200)
    await run(body.job_id)
    expect(await cells(table)).toEqual(['Open'])
    expect((await app.as(account.admin).post(`${field}/delete`)).status).toBe(200)
  })

  test.each([
    ['before it has counted', async () => {}],
    ['before it converts', count],
    [
      'while it converts',
      (id: number) => expect(convertAfterCount(breakingAt('set done = done +'), id)).rejects.toThrow('the plug was pulled'),
    ],
  ])('a table that is deleted %s cancels it', async (_, begin) => {
    const table = await tableOf({ type: 'text' }, ['1'])
    const { body } = await changeType(table, { type: 'number' })
    await begin(body.job_id)
    await app.as(account.admin).post(`/api/table/${table}/delete`)
    expect((await job(body.job_id)).status).toBe(404)
    await run(body.job_id)
    const [conversion] = await app.db.read<object>(
      sql`select coalesce(exact_state, state) as state, error from field_conversions where id = ${body.job_id}`,
    )
    expect(conversion).toEqual({ state: 'cancelled', error: 'The table has been deleted' })
    expect(await besides(table)).toEqual([])
  })
})

describe('who asked for a change may lose the right to it', () => {
  const steps: [string, (id: number) => Promise<void>][] = [
    ['before the cells are counted', async () => {}],
    ['before they are converted', count],
  ]
  test.each(steps)('%s, and the field then keeps its type', async (_, before) => {
    const { id: accountId, owner, space } = account
    const admin = await app.person(accountId, 'Ada Admin')
    await app.as(owner).post(`/api/space/${space}/members/add`, { email: admin.email, role: 'admin' })
    const key = await account.keyOf({ accountId, userId: owner.id }, { kind: 'account' })
    const losses: [Caller, () => Promise<unknown>, string][] = [
      [key, () => app.db.write(sql`delete from api_keys where token_hash = ${tokenHash(key)}`), 'the API key was deleted'],
      [admin, () => app.as(owner).post(`/api/space/${space}/member/${admin.id}/update`, { role: 'member' }), 'Not authorized'],
    ]
    for (const [caller, lose, reason] of losses) {
      const table = await tableOf({ type: 'text' }, ['12'])
      const { job_id } = (await changeType(table, { type: 'number' }, caller)).body
      await before(job_id)
      await lose()
      await run(job_id)
      expect((await job(job_id)).body).toMatchObject({ state: 'refused', error: `The sender has lost the right to do this: ${reason}` })
      expect([(await fieldOf(table)).type, await cells(table), await besides(table)]).toEqual(['text', ['12'], []])
      // Nothing of it stands in the way of somebody else.
      await run((await changeType(table, { type: 'number' }, owner)).body.job_id)
      expect(await cells(table)).toEqual([12])
    }
  })
})

describe('a dry run', () => {
  test('blocks no other request, and is cancelled when its field is deleted', async () => {
    const table = await tableOf(SELECT, ['Open'])
    const { body } = await changeType(table, { type: 'text', dry_run: true })
    const field = `/api/table/${table}/field/cell`
    expect((await app.as(account.admin).post(`${field}/update`, { options: ['Open'], force: true })).status).toBe(200)
    expect((await app.as(account.admin).post(`${field}/delete`)).status).toBe(200)
    await run(body.job_id)
    expect((await job(body.job_id)).body).toEqual({ state: 'cancelled', done: 0, total: 1, error: 'The field has been deleted' })
  })

  test('is one of twenty that a field may have at a time', async () => {
    const busy = await app.account()
    const table = await makeTable(app, busy, { records: [{ name: '1' }] })
    const ask = (dry_run: boolean) => app.as(busy.owner).post(`${table.path}/field/name/changeType`, { type: 'number', dry_run })
    const answers: Answer[] = []
    // No more at once than a process serves of one account.
    for (const atOnce of [8, 8, 7]) answers.push(...(await Promise.all(Array.from({ length: atOnce }, () => ask(true)))))
    const refused = answers.filter(({ status }) => status === 409)
    expect([refused.length, refused[0]?.body.message]).toEqual([3, 'The field has 20 unfinished dry runs; wait for one of them'])
    expect((await changeType(await tableOf({ type: 'text' }, ['1']), { type: 'number', dry_run: true })).status).toBe(200)
    await count(answers.find(({ status }) => status === 200)?.body.job_id)
    expect((await ask(true)).status).toBe(200)
    // They stand in the way of no change.
    expect((await ask(false)).status).toBe(200)
  })

  test('ends when the field gets another type while its cells are counted', async () => {
    const table = await tableOf({ type: 'text' }, ['1'])
    const dry = await changeType(table, { type: 'date', dry_run: true })
    const context = watchedContext(app.deps, async (statement) => {
      if (!statement.text.includes('set done = ')) return
      const { body } = await changeType(table, { type: 'number' })
      await run(body.job_id)
    })
    await check(context, { conversion_id: dry.body.job_id })
    expect((await job(dry.body.job_id)).body).toMatchObject({ state: 'failed', error: 'The field has been changed' })
    expect(await cells(table)).toEqual([1])
  })

  test('does not wait for other dry runs on the table, and all report the same', async () => {
    const table = await tableOf({ type: 'text' }, ['1', 'x'])
    const started = await Promise.all(
      Array.from({ length: 4 }, () =>
        app.as(account.owner).rpc.fields.changeType.mutate({
          table_id: table,
          field_id: 'cell',
          type: 'number',
          dry_run: true,
        }),
      ),
    )
    await Promise.all(started.map(({ job_id }) => run(job_id)))
    for (const { job_id } of started)
      expect(await app.as(account.owner).rpc.jobs.get.query({ job_id })).toEqual({
        state: 'done',
        done: 2,
        total: 2,
        error: null,
        converts: 1,
        failing: 1,
        fails: [{ record_id: 2, value: 'x' }],
      })
  })
})

test('only one of several concurrent conversions is started', async () => {
  const table = await tableOf({ type: 'text' }, ['1'])
  const answers = await Promise.all(Array.from({ length: 4 }, () => changeType(table, { type: 'number' })))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  const refused = answers.find(({ status }) => status === 409)
  expect(refused?.body.message).toBe('The field is being converted to another type')
  const dry = await changeType(table, { type: 'number', dry_run: true })
  expect(dry.status).toBe(409)
  await run(answers.find(({ status }) => status === 200)?.body.job_id)
  expect(await cells(table)).toEqual([1])
})

test('a conversion that an earlier release has started goes on', async () => {
  for (const state of ['queued', 'running']) {
    const table = await tableOf({ type: 'text' }, ['1'])
    const target = JSON.stringify({ type: 'number', options: null, decimals: null, lookup_table_id: null })
    const [stored] = await app.db.write<{ id: number }>(sql`
      insert into field_conversions (account_id, table_id, field_id, target, time_zone, drop_failing, force, total, state)
      values (${account.id}, ${table}, 'cell', ${target}::jsonb, 'UTC', false, false, 1, ${state}) returning id`)
    const id = stored?.id ?? 0
    expect((await job(id)).body).toEqual({ state: 'running', done: 0, total: 1, error: null })
    expect((await changeType(table, { type: 'date' })).status).toBe(409)
    await convert(systemContext(app.deps), { conversion_id: id })
    expect((await job(id)).body).toEqual({ state: 'done', done: 1, total: 1, error: null })
    expect(await cells(table)).toEqual([1])
  }
})

describe('a job that was interrupted', () => {
  test.each([
    ['while it counted', 'update field_conversions set done = ', 'checking'],
    ['before it stored what it had counted', 'update field_conversions set converts', 'checking'],
    ['before it began to convert', "set state = 'running', target", 'checking'],
    ['while it filled', 'update field_conversions set done = done +', 'running'],
    ['before it swapped', ' in exclusive mode', 'running'],
    ['in the middle of the swap', 'rename column', 'running'],
  ])('%s resumes, and may run twice', async (_, at, state) => {
    const table = await tableOf({ type: 'text' }, [])
    await app.db.write(
      sql([
        `insert into t${table}.records (created_at, updated_at, cell) select now(), now(), i::text from generate_series(1, 12000) i`,
      ] as never),
    )
    const { body } = await changeType(table, { type: 'number' })
    const broken =
      state === 'checking' ? check(breakingAt(at), { conversion_id: body.job_id }) : convertAfterCount(breakingAt(at), body.job_id)
    await expect(broken).rejects.toThrow('the plug was pulled')
    expect((await job(body.job_id)).body).toMatchObject({ state, error: null })
    expect((await fieldOf(table)).type).toBe('text')
    await createRecord(table, { cell: '12001' })

    await Promise.all([run(body.job_id), run(body.job_id)].map((one) => one.catch(() => undefined)))
    await run(body.job_id)
    expect((await job(body.job_id)).body).toMatchObject({ state: 'done', error: null, failing: 0, fails: [] })
    const [sum] = await app.db.read<{ n: number; total: number }>(
      sql([`select count(*) as n, sum(cell) as total from t${table}.records`] as never),
    )
    expect(sum).toEqual({ n: 12_001, total: (12_001 * 12_002) / 2 })
    expect(await besides(table)).toEqual([])
  })

  test.each([
    ['counts', 'conversions.check', async () => {}, (id: number) => check(breakingAt('set converts'), { conversion_id: id })],
    ['converts', 'tables.convert-field', count, (id: number) => convert(breakingAt(' in exclusive mode'), { conversion_id: id })],
  ])('while it %s is found again by the clock, and fails after ten attempts', async (_, queue, begin, attempt) => {
    const table = await tableOf({ type: 'text' }, ['1'])
    const { body } = await changeType(table, { type: 'number' })
    await begin(body.job_id)
    await app.db.write(
      sql`update field_conversions set attempts = 9, updated_at = updated_at - interval '11 minutes',
        checked_at = checked_at - interval '11 minutes' where id = ${body.job_id}`,
    )
    const jobs = async () =>
      (await app.db.read(sql`select from pgboss.job where name = ${queue} and (data->>'conversion_id')::int = ${body.job_id}`)).length
    const before = await jobs()
    await resumeAll(systemContext(app.deps))
    expect(await jobs()).toBe(before + 1)
    await expect(attempt(body.job_id)).rejects.toThrow('the plug was pulled')
    expect((await job(body.job_id)).body).toMatchObject({ state: 'failed', error: 'The conversion failed 10 times' })
    expect(await cells(table)).toEqual(['1'])
    expect(await besides(table)).toEqual([])
  })
})

async function convertAfterCount(context: Context, id: number): Promise<void> {
  await count(id)
  await convert(context, { conversion_id: id })
}

/** A context whose first read of the records comes just after the swap, with a definition from before it. */
async function readingAtTheSwap(table: number, converted: number, conversion: number) {
  const context = systemContext(app.deps)
  let isSwapped = false
  const db = databaseWith(context.db, async ({ text }) => {
    if (isSwapped || !text.includes(`"t${converted}".records`)) return
    isSwapped = true
    await run(conversion)
  })
  const [found] = await context.db.read<{ version: number }>(sql`select version from tables where id = ${table}`)
  const ref = { id: table, name: '', space_id: account.space, account_id: account.id, version: found?.version ?? 0, role: 'admin' as const }
  return { ref, context: { ...context, db, actor: { ...context.actor, accountId: account.id } } }
}

/** A context whose database fails at the first statement that contains the words, as if the process had died there. */
function breakingAt(words: string) {
  const context = systemContext(app.deps)
  const write: typeof context.db.write = (statement) => {
    if (statement.text.includes(words)) throw new Error('the plug was pulled')
    return context.db.write(statement)
  }
  const db = new Proxy(context.db, { get: (target, key) => (key === 'write' ? write : Reflect.get(target, key)) })
  return { ...context, db }
}
