/** Set up for files that share a process, in which whatever a file changes would reach the files after it. */
import { afterAll, expect, vi } from 'vitest'
import { leaveTestDatabase } from './database.ts'
import { stopRunningApps } from './running-apps.ts'

function state() {
  // sharp sets VIPSHOME when it is loaded.
  const { VIPSHOME: _, ...environment } = process.env
  return { environment, folder: process.cwd(), hasFakeTimers: vi.isFakeTimers() }
}
const before = state()

afterAll(async () => {
  await stopRunningApps()
  leaveTestDatabase()
  vi.unstubAllEnvs()
  expect(state(), 'The file changes its process: use vi.stubEnv, or name the file in OWN_PROCESS of vitest.config.ts').toEqual(before)
})
