/** A text read as a value of one type, as SQL: null when it is none. */
import { type Sql, sql } from '../platform/database/database.ts'

/** In whose zone a date and an instant become each other. */
interface Zone {
  timeZone: string
}

const DATE = '[0-9]{4}-[0-9]{2}-[0-9]{2}'
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?'
const PLAIN_NUMBER = '^-?[0-9]+\\.?[0-9]*$'
const NUMBER = '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)(e[+-]?[0-9]{1,3})?$'
const INSTANT = `^${DATE}[T ]${TIME}(\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?$`

export const dateOf = (text: Sql): Sql =>
  sql`case when ${text} ~ ${`^${DATE}$`} and pg_input_is_valid(${text}, 'date') then ${text}::date end`

export const timeOf = (text: Sql): Sql => sql`case when ${text} ~ ${`^${TIME}$`} then ${text}::time(0) end`

/** Rounded half away from zero, within ±10^15 (contract.md §1). What is short and plain is sure to lie within. */
export function numberOf(text: Sql, decimals: number): Sql {
  const number = sql`round(${text}::numeric, ${decimals}::int)`
  return sql`case when octet_length(${text}) <= 15 and ${text} ~ ${PLAIN_NUMBER} then trim_scale(${number})
    when octet_length(${text}) <= 500 and ${text} ~* ${NUMBER}
    then case when abs(${number}) <= 1000000000000000 then trim_scale(${number}) end end`
}

/** As `parseInstant` of time.ts reads it: UTC unless it has an offset, fractions cut off; or a date, whose day begins then. */
export function instantOf(text: Sql, { timeZone }: Zone): Sql {
  const whole = sql`(case when strpos(${text}, '.') > 0 then regexp_replace(${text}, '\\.[0-9]+', '') else ${text} end)`
  // An offset begins where seconds would, at the earliest.
  const inUtc = sql`(${whole} || case when substr(${text}, 17) ~ '[Zz+-]' then '' else 'Z' end)`
  // A text that Postgres writes as it has read it is in the form of the wire, which costs less to find out than by a pattern.
  return sql`case
    when octet_length(${text}) = 19 and pg_input_is_valid(${text}, 'timestamp') and ${text}::timestamp(0)::text = ${text} then ${text}::timestamp(0)
    when ${text} ~ ${`^${DATE}$`} and pg_input_is_valid(${text}, 'date') then ${dayStart(sql`${text}::date`, { timeZone })}
    when ${text} ~* ${INSTANT} and pg_input_is_valid(${inUtc}, 'timestamptz')
      then ${inYears(sql`left(${text}, 10)`, sql`(${inUtc}::timestamptz at time zone 'UTC')::timestamp(0)`)} end`
}

/** Years 1 to 9999, as everywhere. Only an instant that is written with the first or the last day can lie outside. */
const inYears = (day: Sql, instant: Sql) => sql`case when ${day} not in ('0001-01-01', '9999-12-31')
  or ${instant} between '0001-01-01' and '9999-12-31 23:59:59' then ${instant} end`

/** The first instant of a local day, as `startOfDay` of time.ts has it: where midnight strikes twice, Postgres means the second. */
export function dayStart(date: Sql, { timeZone }: Zone): Sql {
  const midnight = sql`(${date}::timestamp at time zone ${timeZone}::text)`
  return inYears(
    date,
    sql`((case when ((${midnight} - interval '1 hour') at time zone ${timeZone}::text)::date = ${date}
    then ${midnight} - interval '1 hour' else ${midnight} end) at time zone 'UTC')::timestamp(0)`,
  )
}

export const fitting = (words: Sql, max: number): Sql =>
  sql`case when octet_length(${words}) <= ${max} or ${unitsOf(words)} <= ${max} then ${words} end`

/** The length as JavaScript counts it, characters beyond the first 65,536 twice. */
const unitsOf = (words: Sql): Sql => sql`case when octet_length(${words}) = char_length(${words}) then octet_length(${words})
  else 2 * char_length(${words}) - char_length(regexp_replace(${words}, '[\\U00010000-\\U0010FFFF]', '', 'g')) end`
