/** Dates in the forms of a country, such as `15.01.2018` in the form `dd.MM.yyyy` (contract.md §9, Formats). */
import { isCalendarDate } from '../../platform/time/time.ts'

const FORM = /^(dd?|MM?|yyyy)([./ -]{0,2})(dd?|MM?|yyyy)([./ -]{0,2})(dd?|MM?|yyyy)( HH?:mm(:ss)?)?$/
/** A part without a separator beside it needs all of its digits. */
const FIXED: Readonly<Record<string, string>> = { dd: String.raw`(\d\d)`, MM: String.raw`(\d\d)`, yyyy: String.raw`(\d{4})` }

export class DateForm {
  readonly form: string
  readonly #pattern: RegExp
  /** The places of year, month and day in the form. */
  readonly #order: readonly [number, number, number]

  private constructor(form: string, pattern: RegExp, order: readonly [number, number, number]) {
    this.form = form
    this.#pattern = pattern
    this.#order = order
  }

  /** @returns undefined for a text that is no form of a date */
  static of(form: string): DateForm | undefined {
    const [, a = '', first = '', b = '', second = '', c = '', time, seconds] = FORM.exec(form) ?? []
    const parts = [a, b, c]
    const places = ['y', 'M', 'd'].map((letter) => parts.findIndex((part) => part.startsWith(letter)))
    if (places.includes(-1)) return undefined
    const isApart = first !== '' && second !== ''
    const digits = parts.map((part) => (isApart && part !== 'yyyy' ? String.raw`(\d\d?)` : FIXED[part]))
    if (digits.includes(undefined)) return undefined
    const literal = (text: string) => text.replaceAll(/[.-]/g, String.raw`\$&`)
    const clock = time === undefined ? '' : String.raw` (\d\d?):(\d\d)${seconds === undefined ? '' : String.raw`:(\d\d)`}`
    const [year = 0, month = 0, day = 0] = places
    const pattern = new RegExp(`^${digits[0]}${literal(first)}${digits[1]}${literal(second)}${digits[2]}${clock}$`)
    return new DateForm(form, pattern, [year, month, day])
  }

  /**
   * The text in the form of the API.
   * @returns null for a text of this form that is no date, which no other form may read; undefined for one of another form
   */
  read(text: string): string | null | undefined {
    const match = this.#pattern.exec(text.trim())
    if (!match) return undefined
    const [, ...parts] = match
    const [year, month, day] = this.#order.map((place) => (parts[place] ?? '').padStart(2, '0'))
    const date = `${year}-${month}-${day}`
    if (!isCalendarDate(date)) return null
    const [hours, minutes, seconds = '00'] = parts.slice(3)
    return hours === undefined ? date : `${date} ${hours.padStart(2, '0')}:${minutes}:${seconds}`
  }
}

const DATE = /^(\d{1,2}|\d{4})(\. |[./ -])(\d{1,2})\2(\d{1,2}|\d{4})(?: (\d{1,2}):\d\d(:\d\d)?)?$/
/** What all dates of a form have in common. */
interface Shape {
  separator: string
  isYearFirst: boolean
  time: '' | ' H:mm' | ' HH:mm:ss'
}

/**
 * Finds the form of the dates of a column, if they can mean one thing only: all have one form, and one of them has a day over 12. Without
 * such a day nobody can say which of two numbers is the day.
 */
export class DateFormFinder {
  #shape: Shape | undefined
  #isDate = true
  #isDayFirst = true
  #isMonthFirst = true
  /** Whether the first and the second of the two numbers always have two digits. */
  #hasTwo: [boolean, boolean] = [true, true]

  add(text: string): void {
    if (!this.#isDate) return
    const match = DATE.exec(text)
    const [, a = '', separator = '', b = '', c = '', hours, seconds] = match ?? []
    const isYearFirst = a.length === 4
    if (!match || isYearFirst === (c.length === 4)) {
      this.#isDate = false
      return
    }
    const shape: Shape = { separator, isYearFirst, time: hours === undefined ? '' : seconds === undefined ? ' H:mm' : ' HH:mm:ss' }
    this.#shape ??= shape
    this.#isDate = this.#shape.separator === separator && this.#shape.isYearFirst === isYearFirst && this.#shape.time === shape.time
    const [year, first, second] = isYearFirst ? [a, b, c] : [c, a, b]
    this.#isDayFirst &&= isDate(year, second, first)
    this.#isMonthFirst &&= isDate(year, first, second)
    this.#hasTwo = [this.#hasTwo[0] && first.length === 2, this.#hasTwo[1] && second.length === 2]
  }

  /** @returns undefined for a column that is empty, has no dates, or dates that could mean another day */
  form(): string | undefined {
    if (!this.#isDate || !this.#shape || this.#isDayFirst === this.#isMonthFirst) return undefined
    const { separator, isYearFirst, time } = this.#shape
    const [first, second] = this.#isDayFirst ? ['d', 'M'] : ['M', 'd']
    const parts = [this.#hasTwo[0] ? first + first : first, this.#hasTwo[1] ? second + second : second]
    return `${(isYearFirst ? ['yyyy', ...parts] : [...parts, 'yyyy']).join(separator)}${time}`
  }
}

const isDate = (year: string, month: string, day: string) => isCalendarDate(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`)
