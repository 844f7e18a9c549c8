/** Rounds numbers as decimal text, because a binary fraction would give a wrong result: 1.005 rounded to two digits is 1.01. */

const NUMERIC = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i
/** Numbers lie within ±10^15, with at most 8 digits after the point (contract.md §1). */
const LIMIT = 10n ** 15n
export const MAX_DECIMALS = 8

/**
 * Rounds half away from zero, as PostgreSQL does.
 * @param text such as `12`, `-0.5`, `.5` or `1e3`, which includes everything that JavaScript prints for a finite number
 * @param decimals digits after the point; null stands for 8
 * @returns plain decimal text without leading or trailing zeros; 'malformed' or 'out of range' for an invalid number
 */
export function roundedDecimal(text: string, decimals: number | null): { text: string } | 'malformed' | 'out of range' {
  if (isPlain(text, decimals ?? MAX_DECIMALS)) return { text }
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMERIC.exec(text.trim()) ?? []
  if (sign === undefined || whole.length + fraction.length === 0) return 'malformed'
  const places = decimals ?? MAX_DECIMALS
  const digits = withoutLeadingZeros(whole + fraction)
  // The value is digits × 10^shift, in units of the last decimal place that is kept.
  const shift = Number(exponent) - fraction.length + places
  if (digits !== '0' && digits.length + shift > 16 + places) return 'out of range'
  const units = shift >= 0 ? BigInt(digits) * 10n ** BigInt(digits === '0' ? 0 : shift) : roundedShift(digits, -shift)
  if (units > LIMIT * 10n ** BigInt(places)) return 'out of range'
  return { text: plain(units, places, sign === '-') }
}

/** Of megabytes of zeros, too, which `/^0+/` may not get through (text-of-megabytes.test.ts). */
function withoutLeadingZeros(digits: string): string {
  const first = digits.search(/[1-9]/)
  return first < 0 ? '0' : digits.slice(first)
}

/** The number as a cell of a text field would hold it; null for a text that is no number of a cell. */
export function decimalText(decimal: string): string | null {
  const rounded = roundedDecimal(decimal, null)
  return typeof rounded === 'string' ? null : rounded.text
}

/** A sum of binary fractions, such as 0.1 + 0.2, differs from the decimal one only behind so many digits after the point. */
const TOLERATED_PLACES = 9

/**
 * The number as an operand of `=`: its rounding to the decimals if the two differ by less than 10^-9, and otherwise the number itself.
 * @param text as for `roundedDecimal` @param decimals of the field
 */
export function equalOperand(text: string, decimals: number | null): string {
  const rounded = roundedDecimal(text, decimals)
  if (typeof rounded === 'string' || rounded.text === text) return text
  const [given, near] = [scaled(text), scaled(rounded.text)]
  const places = Math.max(given.places, near.places, TOLERATED_PLACES)
  const [one, other] = [given, near].map(({ units, places: own }) => units * 10n ** BigInt(places - own))
  const difference = (one ?? 0n) - (other ?? 0n)
  const tolerance = 10n ** BigInt(places - TOLERATED_PLACES)
  return difference < tolerance && difference > -tolerance ? rounded.text : text
}

/** A number as units / 10^places. */
function scaled(text: string): { units: bigint; places: number } {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMERIC.exec(text.trim()) ?? []
  const units = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n)
  const places = fraction.length - Number(exponent)
  return places >= 0 ? { units, places } : { units: units * 10n ** BigInt(-places), places: 0 }
}

/** True if rounding would not change the text, as for most numbers: it is in range, short enough, and has no leading or trailing zeros. */
function isPlain(text: string, places: number): boolean {
  if (!PLAIN.test(text)) return false
  const point = text.indexOf('.')
  return point < 0 || text.length - point - 1 <= places
}
const PLAIN = /^(?:0|-?[1-9]\d{0,14}|-?(?:0|[1-9]\d{0,14})\.\d{0,7}[1-9])$/

/** Returns digits / 10^drop, rounded by the first digit that is dropped. */
function roundedShift(digits: string, drop: number): bigint {
  if (drop > digits.length) return 0n
  const kept = BigInt(digits.slice(0, digits.length - drop) || '0')
  return Number(digits[digits.length - drop]) >= 5 ? kept + 1n : kept
}

function plain(units: bigint, places: number, isNegative: boolean): string {
  const digits = units.toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return `${isNegative && units > 0n ? '-' : ''}${whole}${fraction && places ? `.${fraction}` : ''}`
}
