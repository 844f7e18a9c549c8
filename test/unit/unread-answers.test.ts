import { expect, test } from 'vitest'
import { mostUnreadBytes } from '../../src/platform/http/load/unread-answers.ts'

test.each([
  [1, 256],
  [2, 128],
  [16, 64],
])('of %i processes each keeps its part of the answers that are not read: %i MB', (count, megabytes) => {
  expect(mostUnreadBytes({ number: 1, count })).toBe(megabytes * 1_048_576)
})
