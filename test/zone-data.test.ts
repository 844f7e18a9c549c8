/** Dates and instants are converted by the zone data that everything else uses, not by that of PostgreSQL. */
import { describe, expect, test } from 'vitest'
import { dayStart, localDay } from '../src/fields/day-sql.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { addDays, formatInstant } from '../src/platform/time/time.ts'
import { localDate, startOfDay } from '../src/platform/time/time-zones.ts'
import { changesOfZone } from '../src/platform/time/zone-changes.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()

/** Zones with rules of many kinds: Ramadan, half hours, a skipped day, changes at midnight, many changes, none. */
const ZONES = [
  ...['Africa/Casablanca', 'Africa/El_Aaiun', 'Africa/Cairo', 'Africa/Monrovia', 'America/New_York', 'America/Havana', 'America/Sao_Paulo'],
  ...['America/St_Johns', 'America/Nuuk', 'America/Anchorage', 'America/Scoresbysund', 'Antarctica/Troll', 'Asia/Gaza', 'Asia/Kathmandu'],
  ...['Asia/Manila', 'Asia/Tehran', 'Asia/Pyongyang', 'Australia/Lord_Howe', 'Europe/Berlin', 'Europe/Dublin', 'Europe/Lisbon'],
  ...['Pacific/Apia', 'Pacific/Kwajalein', 'Pacific/Chatham', 'Pacific/Kiritimati', 'UTC'],
]
const DAY = 86_400_000

/** Instants around the changes of the zone, and some in all centuries. */
function instantsOf(zone: string): string[] {
  const changes = changesOfZone(zone).instants.filter((at, index) => at < '2100' || index % 50 === 0)
  const near = changes.flatMap((at) => [-DAY, -3_600_000, -1000, 0, 1000, DAY].map((ms) => Date.parse(`${at}Z`) + ms))
  const spread = Array.from({ length: 400 }, (_, index) => Date.parse('0002-01-01T00:00:00Z') + index * 9_123 * DAY + index * 7_919_000)
  return [...near, ...spread].filter((at) => at < Date.parse('9999-12-30T00:00:00Z')).map((at) => formatInstant(new Date(at)))
}

describe.each(ZONES)('in %s', (zone) => {
  test('an instant has the same local date in PostgreSQL', async () => {
    const instants = instantsOf(zone)
    const rows = await app.db.read<{ at: string; date: string }>(
      sql`select c.at, ${localDay(sql`c.at`, zone)} as date from unnest(${instants}::timestamp[]) with ordinality c (at, n) order by c.n`,
    )
    expect(rows.length).toBe(instants.length)
    const wrong = rows.filter(({ at, date }) => localDate(new Date(`${at.replace(' ', 'T')}Z`), zone) !== date)
    expect(wrong).toEqual([])
  })

  test('a local day begins at the same instant in PostgreSQL', async () => {
    const dates = [...new Set(instantsOf(zone).flatMap((at) => [-1, 0, 1].map((days) => addDays(at.slice(0, 10), days))))]
    const rows = await app.db.read<{ date: string; at: string }>(
      sql`select c.date, ${dayStart(sql`c.date`, zone)} as at from unnest(${dates}::date[]) with ordinality c (date, n) order by c.n`,
    )
    expect(rows.length).toBe(dates.length)
    const wrong = rows.filter(({ date, at }) => formatInstant(startOfDay(date, zone)) !== at)
    expect(wrong).toEqual([])
  })
})

test('a field is converted by it in both directions', async () => {
  const zone = 'Africa/Casablanca'
  const account = await app.account({ timezone: zone })
  const instants = instantsOf(zone).filter((at) => at > '1900' && at < '2100')
  const table = await makeTable(app, account, { fields: [{ name: 'Cell', type: 'datetime' }], records: [] })
  const as = app.as(account.owner)
  for (let from = 0; from < instants.length; from += 1000) {
    const records = instants.slice(from, from + 1000).map((cell) => ({ data: { cell } }))
    expect((await as.post(`/api/table/${table.id}/records/create_batch`, { records })).status).toBe(200)
  }
  const cells = async (): Promise<string[]> => {
    const file = await as.get(`/api/table/${table.id}/export.csv`)
    const lines = (file.body as unknown as string).trimEnd().split('\r\n').slice(1)
    return lines.map((line) => line.split(',')[1] ?? '')
  }
  const change = async (type: string) => {
    const { body } = await as.post(`/api/table/${table.id}/field/cell/changeType`, { type })
    await runConversion(systemContext(app.deps), body.job_id)
    expect((await as.get(`/api/job/${body.job_id}`)).body.state).toBe('done')
  }
  const dates = instants.map((at) => localDate(new Date(`${at.replace(' ', 'T')}Z`), zone))
  await change('date')
  expect(await cells()).toEqual(dates)
  await change('datetime')
  expect(await cells()).toEqual(dates.map((date) => formatInstant(startOfDay(date, zone))))
})
