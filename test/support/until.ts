/** Waits for what nobody announces. A test waits for a value that it expects with `expect.poll`, and for anything else with `until`. */
import { setTimeout as sleep } from 'node:timers/promises'

interface Patience {
  withinMs?: number
  everyMs?: number
}

/**
 * Asks again and again until the answer is truthy, and returns the answer. An error of `ask` is thrown at once.
 * @param what what is waited for, as words after "waited in vain": `for the index`; a function, if the words depend on what was seen
 * @throws Error with these words if the answer is not truthy in time
 */
export async function until<Answer>(
  ask: () => Answer | Promise<Answer>,
  what: string | (() => string),
  { withinMs = 60_000, everyMs = 20 }: Patience = {},
): Promise<NonNullable<Awaited<Answer>>> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer) return answer
    if (performance.now() > giveUpAt) throw new Error(`Waited ${withinMs / 1_000} s in vain ${typeof what === 'string' ? what : what()}`)
    await sleep(everyMs)
  }
}
