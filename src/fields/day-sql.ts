/** Dates and instants in SQL, by the same rules as in `time-zones.ts` and with the zone data of this process. */
import { raw, type Sql, sql } from '../platform/database/database.ts'
import { FIRST_DATE, LAST_DATE, type WeekStart } from '../platform/time/time.ts'
import { dayRange } from '../platform/time/time-zones.ts'
import { CYCLE_DAYS, CYCLE_FROM, changesOfZone } from '../platform/time/zone-changes.ts'
import { timestampText } from './cell-sql.ts'

/** Regular expressions of a date and of a time of day, for the operator `~`. */
export const DATE_PATTERN = '[0-9]{4}-[0-9]{2}-[0-9]{2}'
export const TIME_PATTERN = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?'

const cycleFrom = raw(`'${CYCLE_FROM}'`)
const cycleDays = raw(String(CYCLE_DAYS))

/** Returns the first instant of a local day, as `startOfDay` does. */
export function dayStart(date: Sql, timeZone: string): Sql {
  const { dates, leads } = changesOfZone(timeZone)
  const listed = sql`case when ${date} < ${cycleFrom} then ${date} else ${date} - ${cycleDays} * ${cyclesOf(date)} end`
  const lead = sql`(${leads}::int[])[width_bucket(${listed}, ${dates}::date[]) + 1]`
  return inYears(date, sql`(${date}::timestamp - ${lead} * interval '1 second')`)
}

/** Returns the local date of an instant, as `localDate` does: never one before the first or after the last date. */
export function localDay(instant: Sql, timeZone: string): Sql {
  const { instants, offsets } = changesOfZone(timeZone)
  const listed = sql`case when ${instant} < ${cycleFrom} then ${instant}
    else ${instant} - ${cycleDays} * ${cyclesOf(sql`${instant}::date`)} * interval '1 day' end`
  const offset = sql`(${offsets}::int[])[width_bucket(${listed}, ${instants}::timestamp[]) + 1]`
  return sql`least(greatest((${instant} + ${offset} * interval '1 second')::date, ${date(FIRST_DATE)}), ${date(LAST_DATE)})`
}

const date = (text: string): Sql => raw(`'${text}'::date`)

/**
 * The instants whose local date is this one: from `from`, up to but without `to`. They are those of `dayRange`, except that the first and
 * the last date have no limit (`localDate`).
 */
export function instantsOf(day: string, timeZone: string): { from: string; to: string } {
  const { from, to } = dayRange(day, timeZone)
  return { from: day === FIRST_DATE ? '-infinity' : timestampText(from), to: day === LAST_DATE ? 'infinity' : timestampText(to) }
}

/** The first day of the unit that contains the day, as `startOfWeek` and `startOfMonths` return it. */
export function firstDay(day: Sql, unit: 'day' | 'week' | 'month' | 'quarter' | 'year', weekStart: WeekStart): Sql {
  if (unit === 'day') return day
  if (unit !== 'week' || weekStart === 'monday') return sql`date_trunc(${raw(`'${unit}'`)}, ${day}::timestamp)::date`
  // The first date of all is a Monday.
  return sql`case when ${day} - extract(dow from ${day})::int < ${date(FIRST_DATE)} then ${date(FIRST_DATE)}
    else ${day} - extract(dow from ${day})::int end`
}

/** How many times 400 years have to be subtracted from a date to be in the lists. */
const cyclesOf = (date: Sql): Sql => sql`((${date} - ${cycleFrom}::date) / ${cycleDays} + 1)`

/** Limits the instant to the years 1 to 9999. Only an instant on the first or the last day can lie outside, because of its offset. */
export const inYears = (day: Sql, instant: Sql) => sql`case when ${day} not in ('0001-01-01', '9999-12-31')
  or ${instant} between '0001-01-01' and '9999-12-31 23:59:59' then ${instant} end`
