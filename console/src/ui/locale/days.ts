/** Calendar dates as the service writes them, `YYYY-MM-DD`. They have no time zone, so they are counted in UTC, where every day exists. */

const DAY = 86_400_000
const DATE = /^\d{4}-\d{2}-\d{2}$/

/** True if the text is a day that exists, in the years 1 to 9999. */
export function isDay(text: string): boolean {
  if (!DATE.test(text) || text < '0001') return false
  const at = Date.parse(`${text}T00:00:00Z`)
  // A day that does not exist is another one for Date, or none.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text)
}

/** The day of a year, a month from 1 and a day of the month; null if it does not exist. */
export function dayOf(year: number, month: number, day: number): string | null {
  const text = `${String(year).padStart(4, '0')}-${twoDigits(month)}-${twoDigits(day)}`
  return isDay(text) ? text : null
}

/** The day so many days later; null outside of the years 1 to 9999. */
export const addDays = (day: string, days: number): string | null => inYears(midnight(day) + days * DAY)

/** The same day so many months later, or the last one of a shorter month; null outside of the years 1 to 9999. */
export function addMonths(day: string, months: number): string | null {
  const first = new Date(midnight(`${day.slice(0, 8)}01`))
  first.setUTCMonth(first.getUTCMonth() + months)
  const next = new Date(first)
  next.setUTCMonth(next.getUTCMonth() + 1)
  const length = (next.getTime() - first.getTime()) / DAY
  return inYears(first.getTime() + (Math.min(Number(day.slice(8)), length) - 1) * DAY)
}

/** 0 for Sunday to 6 for Saturday. */
export const weekday = (day: string): number => new Date(midnight(day)).getUTCDay()

/** The instant at which the day begins in UTC, for formatters in UTC. */
export const midnight = (day: string): number => Date.parse(`${day}T00:00:00Z`)

export const twoDigits = (number: number): string => String(number).padStart(2, '0')

function inYears(at: number): string | null {
  const date = new Date(at)
  const text = Number.isFinite(at) && !Number.isNaN(date.getTime()) ? date.toISOString() : ''
  return isDay(text.slice(0, 10)) && text.length === 24 ? text.slice(0, 10) : null
}
