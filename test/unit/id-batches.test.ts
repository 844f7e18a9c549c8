import { expect, test } from 'vitest'
import { FIRST_STEP, nextStep } from '../../src/tables/cells/id-batches.ts'

test.each([
  ['quick: doubled', 200, 10, 400],
  ['too quick to measure', 200, 0, 400],
  ['just right', 200, 100, 200],
  ['slow: as many ids as would have fitted', 400, 250, 160],
  ['very slow: the smallest step', 1_000, 60_000, 50],
  ['quick: no more than 1,000', 800, 20, 1_000],
])('%s', (_, step, tookMs, next) => expect(nextStep(step, tookMs)).toBe(next))

test('the first step is small enough for a slow machine, and reaches the largest in a few batches', () => {
  let step = FIRST_STEP
  for (let n = 0; n < 3; n++) step = nextStep(step, 5)
  expect(step).toBe(1_000)
})
