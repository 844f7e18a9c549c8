/** The clock of the service, which decides when a mail goes. That of this machine may be minutes off. */

/** By how many milliseconds the clock of the service is ahead. */
let ahead = 0
let asked: Promise<void> | undefined

/** The header has whole seconds, and the answer takes its time: less than this is no difference. */
const UNSURE_MS = 2_500

/** Asks the service for its time, once for the page. */
export function askServiceClock(): Promise<void> {
  asked ??= ask()
  return asked
}

async function ask(): Promise<void> {
  const sent = Date.now()
  try {
    const response = await fetch('/healthz', { method: 'HEAD', cache: 'no-store' })
    const there = Date.parse(response.headers.get('date') ?? '')
    const difference = there - (sent + Date.now()) / 2
    ahead = Math.abs(difference) > UNSURE_MS ? difference : 0
  } catch {
    // It is asked again with the next mail.
    asked = undefined
  }
}

export const serviceNow = (): number => Date.now() + ahead

/** An instant as the API takes it, `2026-03-31T09:30:00Z`. */
export const apiInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`
