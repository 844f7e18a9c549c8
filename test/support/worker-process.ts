/** A worker of the service in a process of its own, for tests that kill it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { startArguments } from '../../scripts/bench/process.ts'
import type { TestApp } from './app.ts'
import { testDatabase } from './database.ts'

/**
 * @param app the worker uses its database, its folder and its secret key
 * @param environment further variables of the worker
 */
export function workerProcess({ settings }: TestApp, environment: Record<string, string> = {}) {
  let worker: ChildProcess | undefined
  return {
    /** Resolves when the worker has written its first line. */
    async start(): Promise<void> {
      const { url } = await testDatabase()
      worker = spawn(process.execPath, startArguments(), {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          PATH: process.env.PATH,
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
          DATABASE_URL: url,
          DATA_DIR: settings.dataDir,
          SECRET_KEY: settings.secretKeys.current.toString(),
          ROLE: 'worker',
          LOG_LEVEL: 'silent',
          ...environment,
        },
      })
      await once(worker.stdout as NodeJS.ReadableStream, 'data')
    },

    /** Kills the worker that runs, if any, and waits for its end. */
    async kill(): Promise<void> {
      if (!worker) return
      const ended = once(worker, 'exit')
      worker.kill('SIGKILL')
      worker = undefined
      await ended
    },
  }
}
