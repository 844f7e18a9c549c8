/** Answers whose numbers keep their digits. The file runs in browsers and in Node, so it imports nothing of the server. */

type Fetch = typeof globalThis.fetch

/** JavaScript keeps 15 digits of every decimal number. */
const MAY_LOSE_DIGITS = /[\d.]{16}/

/**
 * A `fetch` whose answers have decimal text in place of each number that JavaScript would change, as 0.1 beside many digits before the
 * point. Where JSON.parse does not show the digits (browsers of before 2025), a number is what JavaScript makes of it.
 */
export const withExactNumbers =
  (fetch: Fetch): Fetch =>
  async (to, init) => {
    const answer = await fetch(to, init)
    const json = async () => parsed(await answer.text())
    return Object.assign(answer, { json })
  }

const parsed = (text: string): unknown => (MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text))

function keepDigits(_: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || !MAY_LOSE_DIGITS.test(source)) return value
  return JSON.stringify(value) === source ? value : source
}
