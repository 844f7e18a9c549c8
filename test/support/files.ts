/** Shared by tests of files. */
import { removeAll, sweep, sweepStorage } from '../../src/files/sweep.ts'
import { systemContext } from '../../src/platform/context.ts'
import type { TestApp } from './app.ts'

export const fileSupport = (app: TestApp) => ({
  async isStored(path: string, on: TestApp = app): Promise<boolean> {
    const stream = await on.deps.storage.read(path)
    stream?.destroy()
    return stream !== null
  },

  /** Runs the clean-up as if the given hours had passed, and deletes the bytes that it enqueues. */
  async sweepAfter(hours: number): Promise<void> {
    const paths: string[] = []
    const context = { ...systemContext(app.deps), now: new Date(Date.now() + hours * 3_600_000) }
    const jobs = { ...context.jobs, send: async (_: unknown, job: object) => void paths.push(...(job as { paths: string[] }).paths) }
    await sweep({ ...context, jobs: jobs as typeof context.jobs })
    await removeAll(context, { paths })
  },

  /** Deletes what killed processes have left in storage, as if the given hours had passed. */
  sweepLeftoversAfter: (hours: number) => sweepStorage({ ...systemContext(app.deps), now: new Date(Date.now() + hours * 3_600_000) }),
})
