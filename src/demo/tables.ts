/** The tables of the demo account: their fields, and their rows from data/. */
import { readFileSync } from 'node:fs'
import { addDays } from '../platform/time/time.ts'
import type { NewField, NewTable } from '../tables/schema.ts'

type Row = Record<string, unknown>

/** Ids of records by their key in the data. */
export type DemoRecordIds = ReadonlyMap<unknown, number>

const rowsOf = <T extends Row>(name: string): T[] =>
  JSON.parse(readFileSync(new URL(`./data/${name}.json`, import.meta.url), 'utf8')) as T[]

const text = (name: string): NewField => ({ name, type: 'text' })
const number = (name: string, decimals: number): NewField => ({ name, type: 'number', decimals })
/** A select with the options and their colors. */
const colored = (name: string, colors: NonNullable<NewField['colors']>): NewField => ({
  name,
  type: 'select',
  options: Object.keys(colors),
  colors,
})
/** The titles in the rows, each once, in alphabetical order. */
const optionsOf = (rows: Row[], column: string) =>
  [...new Set(rows.flatMap((row) => (row[column] as string | string[] | null) ?? []))].sort()

export function countries(): { table: NewTable; rows: Row[] } {
  const rows = rowsOf('countries')
  const table: NewTable = {
    name: 'Countries',
    fields: [
      { ...text('Name'), required: true },
      text('Code'),
      text('Official name'),
      text('Capital'),
      { name: 'Region', type: 'select', options: optionsOf(rows, 'region') },
      { name: 'Subregion', type: 'select', options: optionsOf(rows, 'subregion') },
      { ...number('Area', 0), id: 'area_km2' },
      { name: 'Landlocked', type: 'checkbox' },
      { name: 'UN member', type: 'checkbox' },
      { name: 'Languages', type: 'multi_select', options: optionsOf(rows, 'languages') },
      text('Currency'),
      { name: 'Calling code', type: 'phone' },
      text('Domain'),
    ],
  }
  return { table, rows }
}

export function cities(countryTable: number, countryIds: DemoRecordIds): { table: NewTable; rows: Row[] } {
  const rows = rowsOf<Row & { country: string; geonames_id: number }>('cities')
  const table: NewTable = {
    name: 'Cities',
    fields: [
      { ...text('Name'), required: true },
      { name: 'Country', type: 'lookup', table: countryTable },
      colored('Kind', { Capital: 'purple', 'Seat of government': 'indigo', 'Regional capital': 'blue', City: 'gray' }),
      number('Population', 0),
      number('Latitude', 5),
      number('Longitude', 5),
      { name: 'Source', type: 'url' },
    ],
  }
  return {
    table,
    rows: rows.map(({ geonames_id, country, ...row }) => ({
      ...row,
      country: countryIds.get(country),
      source: `https://www.geonames.org/${geonames_id}`,
    })),
  }
}

export function holidays(countryTable: number, countryIds: DemoRecordIds): { table: NewTable; rows: Row[] } {
  const table: NewTable = {
    name: 'Holidays',
    fields: [
      { ...text('Name'), required: true },
      { name: 'Country', type: 'lookup', table: countryTable },
      { name: 'Date', type: 'date' },
      { name: 'Until', type: 'date' },
    ],
  }
  return { table, rows: rowsOf('holidays').map((row) => ({ ...row, country: countryIds.get(row.country) })) }
}

interface Contact extends Row {
  country: string
  city: string
  next_contact_in_days: number | null
}

/**
 * The contacts, with dates around `today`.
 * @param owners members of the space, among whom the contacts are divided
 */
export function contacts(
  lookups: { countryTable: number; countryIds: DemoRecordIds; cityTable: number; cityIds: DemoRecordIds },
  owners: readonly number[],
  today: string,
): { table: NewTable; rows: Row[] } {
  const rows = rowsOf<Contact>('contacts')
  const table: NewTable = {
    name: 'Contacts',
    fields: [
      { ...text('Name'), required: true },
      text('Company'),
      { name: 'Email', type: 'email' },
      { name: 'Phone', type: 'phone' },
      { name: 'Country', type: 'lookup', table: lookups.countryTable },
      { name: 'City', type: 'lookup', table: lookups.cityTable },
      { name: 'Markets', type: 'multi_lookup', table: lookups.countryTable },
      colored('Stage', { Lead: 'gray', Qualified: 'blue', Negotiation: 'yellow', Won: 'green', Lost: 'red' }),
      number('Value', 2),
      { name: 'Owner', type: 'user' },
      { name: 'Next contact', type: 'date' },
      { name: 'Last contact', type: 'datetime' },
      { name: 'Best time', type: 'time' },
      { name: 'Tags', type: 'multi_select', options: optionsOf(rows, 'tags') },
      { name: 'Newsletter', type: 'checkbox' },
      { name: 'Notes', type: 'long_text' },
      { name: 'Documents', type: 'file' },
      { name: 'Source', type: 'text', always_hidden: true },
    ],
  }
  return {
    table,
    rows: rows.map(({ next_contact_in_days, ...row }, index) => ({
      ...row,
      country: lookups.countryIds.get(row.country),
      city: lookups.cityIds.get(`${row.city}, ${row.country}`),
      markets: [row.country, rows[(index + 7) % rows.length]?.country].map((code) => lookups.countryIds.get(code)),
      owner: owners[index % owners.length],
      next_contact: next_contact_in_days === null ? null : addDays(today, next_contact_in_days),
      last_contact: `${addDays(today, -((index * 5) % 40) - 1)} ${String(8 + (index % 9)).padStart(2, '0')}:${index % 2 ? '30' : '00'}:00`,
      source: ['Fair', 'Newsletter', 'Recommendation'][index % 3],
    })),
  }
}
