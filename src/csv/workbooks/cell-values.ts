/** The values of cells, by the numbers and texts that a sheet has for them. */
import { addDays } from '../../platform/time/time.ts'

/** A day, a time of day, or both, as the API writes them; '' for the part that the cell has not. */
export class Moment {
  readonly day: string
  readonly time: string

  constructor(day: string, time: string) {
    this.day = day
    this.time = time
  }

  get hasTime(): boolean {
    return this.time !== '' && this.time !== MIDNIGHT
  }
}

/** A duration as the sheet shows it, such as `36:00`. */
export class Duration {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A bigint is a whole number that no double holds. */
export type SheetCell = string | number | bigint | boolean | Moment | Duration

const MIDNIGHT = '00:00:00'
const DAY_SECONDS = 86_400
/** The day after the last one of year 9999, in the system of 1900. */
const END_OF_DAYS = 2_958_466
const DAYS_UNTIL_1904 = 1_462
/** The system of 1900 has a 29th of February 1900, on its day 60. */
const NO_DAY = 60

const two = (part: number) => String(part).padStart(2, '0')
const timeText = (seconds: number) => `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`

/** @param days since the beginning of the system of dates @param hasDate false if the cell shows a time of day only */
export function momentOf(days: number, hasDate: boolean, is1904: boolean): SheetCell {
  const total = Math.round(days * DAY_SECONDS)
  // A sheet shows no date for these numbers.
  if (total < 0 || total >= (END_OF_DAYS - (is1904 ? DAYS_UNTIL_1904 : 0)) * DAY_SECONDS) return days
  const [day, time] = [Math.floor(total / DAY_SECONDS), timeText(total % DAY_SECONDS)]
  if (!hasDate || (day === 0 && time !== MIDNIGHT)) return new Moment('', time)
  if (is1904) return new Moment(addDays('1904-01-01', day), time)
  if (day === 0) return '1900-01-00'
  if (day === NO_DAY) return time === MIDNIGHT ? '1900-02-29' : `1900-02-29 ${time}`
  return new Moment(addDays(day < NO_DAY ? '1899-12-31' : '1899-12-30', day), time)
}

const ISO = /^(\d{4}-\d\d-\d\d)?T?(?:(\d\d:\d\d)(?::(\d\d)(?:[.,]\d+)?)?)?Z?$/

/** Reads a date, a time or both in the form of ISO 8601, as strict workbooks have them. */
export function isoMoment(text: string): SheetCell {
  const [, day = '', minutes, seconds = '00'] = ISO.exec(text.trim()) ?? []
  const time = minutes === undefined ? '' : `${minutes}:${seconds}`
  return day || time ? new Moment(day, time) : text
}

/** A spreadsheet shows 15 digits of a number, so that 0.1 + 0.2 is 0.3; a whole number is what is written, whatever its length. */
export function numberOf(text: string): number | bigint | string {
  const number = Number(text)
  if (text === '' || Number.isNaN(number)) return text
  if (Number.isSafeInteger(number)) return number
  if (/^-?\d+$/.test(text)) return BigInt(text)
  return Number.isFinite(number) ? Number(number.toPrecision(15)) : text
}
