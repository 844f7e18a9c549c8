import { afterEach, expect, it, vi } from 'vitest'

const OWN_PART = '../../src/platform/processes/own-part.ts'

afterEach(() => {
  vi.doUnmock(OWN_PART)
  vi.resetModules()
})

it.each([
  [2, 128],
  [16, 64],
])('of %i processes each keeps its part of the answers that are not read: %i MB', async (processes, megabytes) => {
  vi.resetModules()
  vi.doMock(OWN_PART, () => ({ ownPart: (whole: number, least: number) => Math.max(least, whole / processes) }))
  const { UNREAD_LIMITS } = await import('../../src/platform/http/unread-answers.ts')
  expect(UNREAD_LIMITS.mostUnreadBytes).toBe(megabytes * 1_048_576)
})
