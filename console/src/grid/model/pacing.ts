/** What is asked for again and again while others change many records. */

/**
 * Runs for an object at once. While it runs and rests, what is asked for is done once, afterwards, so that the last change is never missed
 * and a slow service is not kept busy.
 * @param run must not fail
 * @param rest how many times as long as it ran it rests
 */
export function paced<Of extends WeakKey>(run: (of: Of) => Promise<void>, rest: number): (of: Of) => void {
  const running = new WeakMap<Of, { again: boolean }>()
  const start = (of: Of): void => {
    const known = running.get(of)
    if (known) {
      known.again = true
      return
    }
    const state = { again: false }
    running.set(of, state)
    const began = performance.now()
    void run(of).finally(() => {
      setTimeout(
        () => {
          running.delete(of)
          if (state.again) start(of)
        },
        rest * (performance.now() - began),
      )
    })
  }
  return start
}
