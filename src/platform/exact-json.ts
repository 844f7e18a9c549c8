/** JSON whose numbers keep all their digits, also those that a JavaScript number would lose. */

declare global {
  // TypeScript does not describe these yet (ECMAScript, JSON.parse source text access).
  interface JSON {
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
    rawJSON(text: string): ExactNumber
    isRawJSON(value: unknown): value is ExactNumber
  }
}

/** A number with more digits than a JavaScript number has, as the text that JSON.stringify writes. */
export interface ExactNumber {
  readonly rawJSON: string
}

/** JavaScript keeps 15 digits of every decimal number. */
export const EXACT_LENGTH = 15
const MAY_LOSE_DIGITS = new RegExp(`[\\d.]{${EXACT_LENGTH + 1}}`)

/** Parses JSON. A number that JavaScript would change becomes an `ExactNumber`. */
export function parseExact(text: string): unknown {
  return MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

function keepDigits(_: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && JSON.stringify(value) !== source ? JSON.rawJSON(source) : value
}

/** The digits of a number that `parseExact` returned. */
export const numberText = (value: unknown): string => (JSON.isRawJSON(value) ? value.rawJSON : String(value))
