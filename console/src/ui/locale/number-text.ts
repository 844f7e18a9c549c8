/**
 * Reads and writes numbers as the language does, in decimal notation throughout, because a binary fraction could change their digits. A
 * number that JavaScript would change is decimal text: everywhere a number is a `number` or such a text.
 */
import { numberTexts } from '../../texts/numbers.ts'

export type Decimal = number | string

/** Numbers of the service lie within ±10^15, with at most 8 digits after the point (contract.md §1). */
const MOST_DECIMALS = 8
const LIMIT = 10n ** 15n

/** The number as the language writes it, with as many decimals as the field has, or those that there are. */
export function numberText(number: Decimal, locale: string, decimals?: number): string {
  return formatOf(locale, true, decimals).format(number as Intl.StringNumericLiteral)
}

/** The number to be edited or copied: without groups, with the decimals that there are. */
export function plainNumberText(number: Decimal, locale: string): string {
  return formatOf(locale, false).format(number as Intl.StringNumericLiteral)
}

/** Reads a number of the language, rounded to the decimals as the service rounds it: half away from zero. */
export function readNumber(text: string, locale: string, decimals?: number): { value: Decimal } | { problem: string } {
  const plain = plainDecimal(text, locale)
  if (plain === null) return { problem: numberTexts.noNumber(text.length > 60 ? `${text.slice(0, 60)}…` : text) }
  const rounded = round(plain, decimals ?? MOST_DECIMALS)
  return rounded === null ? { problem: numberTexts.outOfRange } : { value: asDecimal(rounded) }
}

/** A number if JavaScript keeps all its digits, else the text. */
function asDecimal(text: string): Decimal {
  const number = Number(text)
  return (text.length <= 15 && Number.isFinite(number)) || String(number) === text ? number : text
}

// ── reading ─────────────────────────────────────────────────────────────────

const NUMERIC = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i

/** The number as `-1234.5`; null for a text that is none. */
function plainDecimal(given: string, locale: string): string | null {
  if (given.length > 200) return null
  const text = tidy(given, locale)
  const negative = /^\((.*)\)$/.exec(text)
  const digits = negative ? `-${negative[1]}` : text
  const { decimal } = signsOf(locale)
  const own = withPoint(digits, decimal, decimal === ',' ? '.' : ',')
  const plain = own ?? withPoint(digits, decimal === ',' ? '.' : ',', decimal === ',' ? ',' : '.')
  return plain !== null && NUMERIC.test(plain) && /\d/.test(plain) ? plain : null
}

/** Without blanks, apostrophes and signs of a currency, with ASCII digits and signs. */
function tidy(text: string, locale: string): string {
  const { zero, group } = signsOf(locale)
  const ascii = [...text.normalize('NFKC')].map((char) => {
    const digit = (char.codePointAt(0) ?? 0) - zero
    return digit >= 0 && digit <= 9 ? String(digit) : char === group && !/[.,]/.test(group) ? '' : char
  })
  return ascii
    .join('')
    .replaceAll(/[\s\p{Sc}'’`\u200e\u200f\u061c_]/gu, '')
    .replaceAll(/[−–]/gu, '-')
    .replaceAll('٫', '.')
    .replaceAll('٬', '')
}

/** The number with a point for its decimal sign, if its groups are where groups are; null otherwise. */
function withPoint(text: string, decimal: string, group: string): string | null {
  const at = text.lastIndexOf(decimal)
  const [whole, fraction] = at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)]
  if (fraction?.includes(group) || whole.includes(decimal)) return null
  const rest = fraction === null ? '' : `.${fraction}`
  if (!whole.includes(group)) return whole + rest
  const groups = whole.split(group)
  const isGrouped =
    /^[+-]?\d{1,3}$/.test(groups[0] ?? '') && groups.at(-1)?.length === 3 && groups.slice(1).every((part) => /^\d{2,3}$/.test(part))
  return isGrouped ? groups.join('') + rest : null
}

/** @param places digits to keep @returns null beyond ±10^15 */
function round(text: string, places: number): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMERIC.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+(?=\d)/, '')
  if (digits === '0' || digits === '') return '0'
  const shift = Number(exponent) - fraction.length + places
  if (digits.length + shift > 16 + places) return null
  const units = shift >= 0 ? BigInt(digits) * 10n ** BigInt(shift) : shifted(digits, -shift)
  return units > LIMIT * 10n ** BigInt(places) ? null : plain(units, places, sign === '-')
}

function shifted(digits: string, drop: number): bigint {
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

// ── languages ───────────────────────────────────────────────────────────────

const formats = new Map<string, Intl.NumberFormat>()

function formatOf(locale: string, isGrouped: boolean, decimals?: number): Intl.NumberFormat {
  const key = `${locale} ${isGrouped} ${decimals}`
  let format = formats.get(key)
  if (!format) {
    format = new Intl.NumberFormat(locale, {
      useGrouping: isGrouped,
      minimumFractionDigits: decimals ?? 0,
      maximumFractionDigits: decimals ?? MOST_DECIMALS,
    })
    formats.set(key, format)
  }
  return format
}

interface Signs {
  decimal: string
  group: string
  /** The code point of the digit zero. */
  zero: number
}
const signs = new Map<string, Signs>()

function signsOf(locale: string): Signs {
  let own = signs.get(locale)
  if (!own) {
    const parts = new Intl.NumberFormat(locale).formatToParts(12_345_678.5)
    const sign = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? ''
    const zero = new Intl.NumberFormat(locale).format(0).codePointAt(0) ?? 48
    own = { decimal: sign('decimal') === ',' ? ',' : '.', group: sign('group'), zero }
    signs.set(locale, own)
  }
  return own
}
