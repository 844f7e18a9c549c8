/** A table with a field of every type, and records with all kinds of values, for trying and testing the API. */
import { isLookup } from '../src/fields/definition.ts'
import { FIELD_TYPES, type FieldType } from '../src/fields/registry.ts'
import { addDays } from '../src/platform/time/time.ts'
import { localDate } from '../src/platform/time/time-zones.ts'
import type { NewField, NewTable } from '../src/tables/schema.ts'

const OPTIONS = ['Lead', 'Qualified', 'Won', 'Lost']
const TAGS = ['red', 'green', 'blue', 'Grün', '50 %']

/** The records that the lookups refer to. */
export const otherTable: NewTable = {
  name: 'Companies',
  fields: [
    { name: 'name', type: 'text', required: true },
    { name: 'founded', type: 'date' },
  ],
}
export const otherRecords: Record<string, unknown>[] = [
  { name: 'Acme', founded: '1990-02-28' },
  { name: 'Ärzte & Söhne', founded: '2000-02-29' },
  { name: 'Zenith "Quoted" Ltd', founded: null },
  { name: '100%_sure\\ GmbH', founded: '2024-12-31' },
  { name: 'オリエント', founded: '1970-01-01' },
]

/** One field per type, each named after it, and one that is always hidden. */
export function everyTypeTable(otherTableId: number): NewTable {
  const ofType = (type: FieldType): NewField => ({
    id: type,
    name: type,
    type,
    ...(type === 'number' && { decimals: 2 }),
    ...(type === 'select' && { options: OPTIONS }),
    ...(type === 'multi_select' && { options: TAGS }),
    ...(isLookup(type) && { table: otherTableId }),
  })
  return {
    name: 'Every type',
    fields: [...FIELD_TYPES.map(ofType), { id: 'hidden_text', name: 'hidden_text', type: 'text', always_hidden: true }],
  }
}

const RECORD_COUNT = 25

const TEXTS = [
  'Alpha',
  'beta',
  'Ärger',
  'élan vital',
  '50% off',
  'under_score',
  'back\\slash',
  "O'Reilly",
  'say "hi"',
  'Straße',
  'ΑΘΗΝΑ',
  '東京',
  'مرحبا',
  'emoji 🦉',
  '  spaces  ',
  'alpha',
  'zebra',
  '<b>bold</b>',
  '{{field:text}}',
  'a;b,c',
]
const NUMBERS = [0, 1, -1, 0.01, 1.5, 2.25, -17.75, 99.99, 100, 1_000_000, 123_456_789.12, -0.5, 42, 42, 3.14, 999_999_999_999]
const DAY_OFFSETS = [0, -1, 1, -7, 7, -30, 30, -365, 2, -2]
const TIMES = ['00:00:00', '23:59:59', '09:30:00', '12:00:00', '17:45:30', '06:15:00']

/**
 * Records in which every field is set in some and empty in others; the last two are nearly and wholly empty. Dates lie around `now`.
 * @param ids members of the space, and records of the other table
 */
export function everyTypeRecords(now: Date, { users, others }: { users: number[]; others: number[] }): Record<string, unknown>[] {
  const today = localDate(now, 'UTC')
  const full = Array.from({ length: RECORD_COUNT - 2 }, (_, index) => {
    const n = index + 1
    const pick = <T>(values: readonly T[], step = 1): T => values[(index * step) % values.length] as T
    /** Every nth record has no value in the field. */
    const unless = (nth: number, value: unknown) => (n % nth === 0 ? null : value)
    const day = addDays(today, pick(DAY_OFFSETS))
    return {
      text: unless(11, pick(TEXTS)),
      long_text: unless(4, `${pick(TEXTS, 3)}\n\nParagraph ${n}: ${'lorem ipsum dolor sit amet '.repeat(n % 5)}`.trim()),
      email: unless(5, `person${n}@${n % 2 ? 'example.com' : 'Example.org'}`),
      url: unless(6, `https://example.com/items/${n}?q=a%20b`),
      phone: unless(7, `+49 30 5550${String(n).padStart(3, '0')}`),
      number: unless(9, pick(NUMBERS)),
      checkbox: n % 8 === 0 ? null : n % 3 === 0,
      date: unless(6, n === 10 ? '2024-02-29' : day),
      datetime: unless(8, n === 12 ? '2026-03-29 00:59:59' : `${day} ${pick(TIMES)}`),
      time: unless(5, pick(TIMES, 5)),
      select: unless(7, pick(OPTIONS)),
      multi_select: unless(
        4,
        [pick(TAGS), ...(n % 3 ? [pick(TAGS.slice(0, 3), 2)] : [])].filter((tag, at, all) => all.indexOf(tag) === at),
      ),
      user: unless(4, pick(users)),
      multi_user: unless(3, [...new Set([pick(users), pick(users, 3)])]),
      lookup: unless(5, pick(others)),
      multi_lookup: unless(3, [...new Set([pick(others), pick(others, 2), pick(others, 3)])]),
      hidden_text: unless(2, `hidden ${n}`),
    }
  })
  return [...full, { text: 'Only a title' }, {}]
}

/** Files of the records, by their place in the list; `data` is base64, as an upload takes it. */
export const everyTypeFiles: readonly { at: number; name: string; type: string; data: string }[] = [
  { at: 0, name: 'notes.txt', type: 'text/plain', data: base64('Plain text, with an umlaut: ä\n') },
  {
    at: 0,
    name: 'pixel.png',
    type: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  },
  { at: 2, name: 'Übersicht 2026.csv', type: 'text/csv', data: base64('name,value\nAlpha,1\n') },
]

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
