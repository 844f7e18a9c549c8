import { expect, it } from 'vitest'
import { CrowdedPlaces } from '../../src/platform/http/crowded-places.ts'

/** The places after each of the samples. */
function placesAfter(...utilizations: number[]): number[] {
  const crowd = new CrowdedPlaces()
  return utilizations.map((utilization) => {
    crowd.adapt(utilization)
    return crowd.places
  })
}

it('a full event loop leaves the fewest places after four samples', () => {
  expect(placesAfter(0.95, 0.95, 0.95, 0.95, 0.95)).toEqual([32, 16, 8, 4, 4])
})

it('a loop with a little room gets places one by one', () => {
  expect(placesAfter(1, 1, 1, 1, 0.85, 0.85, 0.95)).toEqual([32, 16, 8, 4, 5, 6, 4])
})

it('a loop that mostly waits gets all of them soon, and never more', () => {
  expect(placesAfter(1, 1, 1, 1, 0.3, 0.3, 0.3, 0.3, 0.3)).toEqual([32, 16, 8, 4, 8, 16, 32, 64, 64])
})
