/** Dates and instants in SQL, by the same rules as in `time.ts`. */
import { type Sql, sql } from '../platform/database/database.ts'

/** Regular expressions of a date and of a time of day, for the operator `~`. */
export const DATE_PATTERN = '[0-9]{4}-[0-9]{2}-[0-9]{2}'
export const TIME_PATTERN = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?'

/** Returns the first instant of a local day, as `startOfDay` does. Where midnight occurs twice, Postgres alone would take the second. */
export function dayStart(date: Sql, timeZone: string): Sql {
  const midnight = sql`(${date}::timestamp at time zone ${timeZone}::text)`
  return inYears(
    date,
    sql`((case when ((${midnight} - interval '1 hour') at time zone ${timeZone}::text)::date = ${date}
    then ${midnight} - interval '1 hour' else ${midnight} end) at time zone 'UTC')::timestamp(0)`,
  )
}

/** Limits the instant to the years 1 to 9999. Only an instant on the first or the last day can lie outside, because of its offset. */
export const inYears = (day: Sql, instant: Sql) => sql`case when ${day} not in ('0001-01-01', '9999-12-31')
  or ${instant} between '0001-01-01' and '9999-12-31 23:59:59' then ${instant} end`
