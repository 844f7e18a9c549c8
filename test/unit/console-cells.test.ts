/** Cells of the console as text: what is copied, what a paste means, and what is said of a text that does not fit. */
import { describe, expect, test } from 'vitest'
import { cellText, parseTexts, takesValuesOf, whyNotEditable } from '../../console/src/cells/cell-text.ts'
import type { Field, Surroundings, Value } from '../../console/src/cells/kind.ts'
import { joinList, splitList } from '../../console/src/cells/list-text.ts'
import { safeUrl } from '../../console/src/cells/values.ts'

const now = new Date('2026-11-28T12:00:00Z')
const place = { zone: 'Asia/Kathmandu', locale: 'de', now }
const ann = { id: 7, name: 'Ann Smith', email: 'ann@example.com' }
const field = (type: Field['type'], more: Partial<Field> = {}): Field => ({
  ...{ id: type, name: type, type, required: false, always_hidden: false, admin_only: false, version: 1 },
  ...more,
})
const OPTIONS = ['Lead', 'Won', 'Green, dark', 'won', '50 %']
const FIELDS = {
  text: field('text'),
  long_text: field('long_text'),
  url: field('url'),
  number: field('number', { decimals: 2 }),
  checkbox: field('checkbox'),
  date: field('date'),
  datetime: field('datetime'),
  time: field('time'),
  select: field('select', { options: OPTIONS }),
  multi_select: field('multi_select', { options: OPTIONS }),
  user: field('user'),
  multi_user: field('multi_user'),
  lookup: field('lookup', { table: 2 }),
  multi_lookup: field('multi_lookup', { table: 2 }),
  file: field('file'),
} satisfies Record<string, Field>
type Name = keyof typeof FIELDS

const FILE = { name: 'a <b>.txt', path: '1-2-x.txt', size: 2, type: 'text/plain', host: 'local' }

describe('the text of a cell', () => {
  const TEXTS: [name: Name, value: Value, text: string][] = [
    ['text', 'a\tb\nc', 'a\tb\nc'],
    ['text', null, ''],
    ['number', 1234.5, '1234,5'],
    ['number', '123456789012345.12345678', '123456789012345,12345678'],
    ['checkbox', true, 'TRUE'],
    ['checkbox', null, 'FALSE'],
    ['date', '2026-12-24', '2026-12-24'],
    ['datetime', '2026-12-24 08:45:00', '2026-12-24 14:30'],
    ['datetime', '2026-12-24 08:45:07', '2026-12-24 14:30:07'],
    ['time', '14:30:00', '14:30'],
    ['select', 'Green, dark', 'Green, dark'],
    ['multi_select', ['Lead', 'Green, dark'], 'Lead, "Green, dark"'],
    ['user', ann, 'ann@example.com'],
    ['multi_user', [ann, { id: 8, name: 'Deleted user 8', email: null }], 'ann@example.com, Deleted user 8'],
    ['lookup', { id: 12, title: 'Acme' }, 'Acme'],
    ['lookup', { id: 12, title: null }, '(12)'],
    [
      'multi_lookup',
      [
        { id: 1, title: 'A, B' },
        { id: 2, title: 'C' },
      ],
      '"A, B", C',
    ],
    ['file', [FILE], 'a <b>.txt'],
    // A field may have been converted since the page was read.
    ['number', 'not yet a number', 'not yet a number'],
    ['select', { id: 1, title: 'Acme' }, 'Acme'],
  ]
  test.each(TEXTS)('of type %s, %j, is %s', (name, value, text) => {
    expect(cellText(FIELDS[name]).toText(value, FIELDS[name], place)).toBe(text)
  })

  test('has no markup of its own in HTML, and only http addresses are links', () => {
    const html = (name: Name, value: Value) => cellText(FIELDS[name]).toHtml(value, FIELDS[name], place)
    expect(html('text', '<img src=x onerror="alert(1)">\n&')).toBe('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;<br>&amp;')
    expect(html('select', '<b>')).toBe('&lt;b&gt;')
    expect(html('user', { ...ann, email: null, name: '<i>' })).toBe('&lt;i&gt;')
    expect(html('lookup', { id: 1, title: '"><script>' })).toBe('&quot;&gt;&lt;script&gt;')
    expect(html('url', 'javascript:alert(1)')).toBe('javascript:alert(1)')
    expect(html('url', 'https://example.com/?a=1&b="')).toBe(
      '<a href="https://example.com/?a=1&amp;b=&quot;">https://example.com/?a=1&amp;b=&quot;</a>',
    )
  })

  test.each([
    'javascript:alert(1)',
    ' https://a b',
    'data:text/html,x',
    'ftp://example.com',
    '//example.com',
    'https://',
    'http://[',
    '',
    null,
    7,
  ])('%s opens nothing', (value) => expect(safeUrl(value)).toBeNull())
})

describe('a pasted text', () => {
  const VALUES: [name: Name, text: string, value: Value][] = [
    ['text', ' a ', ' a '],
    ['text', '', null],
    ['number', '1.234,567', 1234.57],
    ['number', ' ', null],
    ['checkbox', 'WAHR', true],
    ['checkbox', 'x', true],
    ['checkbox', '', false],
    ['date', '24.12.', '2026-12-24'],
    ['date', 'morgen', '2026-11-29'],
    ['datetime', '24.12.2026 14:30', '2026-12-24 08:45:00'],
    ['time', '9:05', '09:05:00'],
    ['select', 'Won', 'Won'],
    ['select', 'won', 'won'],
    ['select', 'LEAD ', 'Lead'],
    ['select', 'Green, dark', 'Green, dark'],
    ['select', '', null],
    ['multi_select', 'lead; "Green, dark", Lead', ['Lead', 'Green, dark']],
    ['multi_select', 'Green, dark', ['Green, dark']],
    ['multi_select', '', []],
    ['user', '', null],
    ['multi_lookup', '', []],
    ['file', '', []],
  ]
  test.each(VALUES)('into %s, %j, is %j', (name, text, value) => {
    expect(cellText(FIELDS[name]).parse(text, FIELDS[name], place)).toEqual({ value })
  })

  const PROBLEMS: [name: Name, text: string, problem: string][] = [
    ['text', 'x'.repeat(501), 'The text has more than 500 characters'],
    ['long_text', 'x'.repeat(100_001), 'The text has more than 100,000 characters'],
    ['number', 'a few', '“a few” is not a number'],
    ['checkbox', 'maybe', '“maybe” is neither yes nor no'],
    ['date', '31.2.', '“31.2.” is not a day that exists'],
    ['datetime', '24.12. 25:00', '“25:00” is not a time of day'],
    ['select', 'Lost', 'There is no option “Lost”'],
    ['multi_select', 'Lead, Lost', 'There is no option “Lost”'],
    ['file', 'a.txt', 'Files cannot be pasted as text: drop or choose them'],
  ]
  test.each(PROBLEMS)('into %s that does not fit is told why', (name, text, problem) => {
    expect(cellText(FIELDS[name]).parse(text, FIELDS[name], place)).toEqual({ problem })
  })

  test('of 100,000 characters is judged at once in every type', () => {
    for (const name of Object.keys(FIELDS) as Name[]) {
      for (const text of ['x', '1', ',', '"', '12:', '. ', '\u202e', '🦉'])
        cellText(FIELDS[name]).parse(text.repeat(100_000 / text.length), FIELDS[name], place)
    }
  })
})

describe('texts that the service knows', () => {
  const titles = ['Acme', 'Twin', 'Twin', '7', 'A, B', null]
  const records = titles.map((name, index) => ({ id: index + 1, name }))
  const members = [ann, { id: 8, name: 'Bo', email: 'bo@example.com' }, { id: 9, name: 'bo', email: 'bo2@example.com' }]
  const asked: unknown[] = []
  const client = {
    tables: { get: { query: async () => ({ fields: [field('number', { id: 'id', key: true }), field('text', { id: 'name' })] }) } },
    records: {
      query: {
        query: async (input: { filter: { column: 'id' | 'name'; value: unknown[] } }) => {
          asked.push(input.filter)
          return { rows: records.filter((record) => input.filter.value.includes(record[input.filter.column])) }
        },
      },
    },
    spaces: {
      members: {
        query: async () => {
          asked.push('members')
          return { rows: members.map(({ id, ...member }) => ({ user_id: id, role: 'member', ...member })) }
        },
      },
    },
  } as unknown as Surroundings['client']
  const surroundings: Surroundings = { ...place, client, spaceId: 1, tableId: 1, recordId: 1, me: ann }

  test('a record is meant by its title, its id or both, and an unclear or unknown one is said', async () => {
    const texts = ['Acme', '1', 'Acme (1)', '(6)', 'Twin', 'Twin (3)', 'Nobody', 'Other (1)', '7', '99', '']
    expect(await parseTexts(texts, FIELDS.lookup, surroundings)).toEqual([
      { value: { id: 1, title: 'Acme' } },
      { value: { id: 1, title: 'Acme' } },
      { value: { id: 1, title: 'Acme' } },
      { value: { id: 6, title: null } },
      { problem: 'Several records are called “Twin”: take the id' },
      { value: { id: 3, title: 'Twin' } },
      { problem: 'There is no record “Nobody”' },
      { problem: 'There is no record “Other (1)”' },
      { value: { id: 4, title: '7' } },
      { problem: 'There is no record “99”' },
      { value: null },
    ])
    expect(await parseTexts(['"A, B", Acme, 1', 'Acme, Nobody'], FIELDS.multi_lookup, surroundings)).toEqual([
      {
        value: [
          { id: 5, title: 'A, B' },
          { id: 1, title: 'Acme' },
        ],
      },
      { problem: 'There is no record “Nobody”' },
    ])
  })

  test('a thousand texts of a column take few requests', async () => {
    asked.length = 0
    await parseTexts(
      Array.from({ length: 1_000 }, (_, index) => `Title ${index}`),
      FIELDS.lookup,
      surroundings,
    )
    expect(asked).toHaveLength(5)
    asked.length = 0
    await parseTexts(
      Array.from({ length: 1_000 }, (_, index) => `Name ${index}`),
      FIELDS.user,
      surroundings,
    )
    expect(asked).toEqual(['members'])
  })

  test('a person is meant by the address, or by a name that nobody else has', async () => {
    const texts = ['ANN@example.com', 'Ann Smith <ann@example.com>', 'ann smith', '@me', 'Bo', 'Carla']
    expect(await parseTexts(texts, FIELDS.user, surroundings)).toEqual([
      ...Array.from({ length: 4 }, () => ({ value: ann })),
      { problem: 'Several people in this space are called “Bo”: take the address' },
      { problem: 'Nobody in this space is called “Carla”' },
    ])
    expect(await parseTexts(['bo@example.com, ann@example.com'], FIELDS.multi_user, surroundings)).toEqual([{ value: [members[1], ann] }])
  })
})

describe('a field', () => {
  test('says why it cannot be edited', () => {
    expect(whyNotEditable(FIELDS.text, 'member')).toBeNull()
    expect(whyNotEditable(FIELDS.text, 'viewer')).toBe('You can read this table, not change it')
    expect(whyNotEditable(field('text', { admin_only: true }), 'member')).toBe('Only admins of the space can change this field')
    expect(whyNotEditable(field('text', { admin_only: true }), 'admin')).toBeNull()
    expect(whyNotEditable(field('datetime', { calc: true }), 'admin')).toBe('The service sets this value by itself')
    expect(whyNotEditable(field('text', { linked: 'one' }), 'admin')).toBe('This value belongs to the linked record: change it there')
  })

  test('takes the values of another one only where they mean the same', () => {
    expect(takesValuesOf(FIELDS.lookup, field('lookup', { table: 2, id: 'other' }))).toBe(true)
    expect(takesValuesOf(FIELDS.lookup, field('lookup', { table: 3 }))).toBe(false)
    expect(takesValuesOf(FIELDS.select, field('select', { options: ['Lead'] }))).toBe(true)
    expect(takesValuesOf(FIELDS.select, field('select', { options: ['Lost'] }))).toBe(false)
    expect(takesValuesOf(FIELDS.file, FIELDS.file)).toBe(false)
    expect(takesValuesOf(FIELDS.text, FIELDS.number)).toBe(false)
  })

  test('of linked records has a value for each of them', () => {
    const linked = field('select', { linked: 'many', options: OPTIONS })
    expect(cellText(linked).toText(['Lead', null, 'Green, dark'] as unknown as Value, linked, place)).toBe('Lead, "Green, dark"')
    expect(cellText(linked).filled([null] as unknown as Value)).toBe(false)
  })

  test.each([[['a', 'b, c', ' d', 'e"f', 'g\nh', '']], [['']], [['x'.repeat(1_000)]]])('reads a list as it was written', (values) => {
    expect(splitList(joinList(values))).toEqual(values.filter(Boolean))
  })
})
