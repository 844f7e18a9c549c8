/** How often pages are asked for: at most so many requests in a window of time, none of which begins before its turn. */

export interface Pace {
  /** Milliseconds until the next request may begin; 0 if it may begin now. */
  wait(now: number): number
  /** Notes that a request begins now. */
  begin(now: number): void
}

/** @param most the requests that may begin within `windowMs` milliseconds */
export function createPace(most: number, windowMs: number): Pace {
  const begun: number[] = []
  return {
    wait(now) {
      while (begun.length && now - (begun[0] ?? 0) >= windowMs) begun.shift()
      return begun.length < most ? 0 : windowMs - (now - (begun[0] ?? now))
    },
    begin(now) {
      begun.push(now)
    },
  }
}
