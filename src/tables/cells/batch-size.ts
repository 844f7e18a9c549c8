/** How many records a job changes in one statement: others may have to wait for one of them that long. */

const GOAL_MS = 100
const MIN_STEP = 50
const MAX_STEP = 1_000

/** Before it is known how long a record takes: each also goes into every index. */
export const FIRST_STEP = 200

/** The size of the next step, after one of that size that took so long. It never more than doubles: records differ. */
export function nextStep(step: number, tookMs: number): number {
  const fits = Math.floor((step * GOAL_MS) / Math.max(1, tookMs))
  return Math.max(MIN_STEP, Math.min(fits, 2 * step, MAX_STEP))
}
