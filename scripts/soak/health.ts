/** Asks for the health of the service all the time. */
import { setTimeout as sleep } from 'node:timers/promises'

const EVERY_MS = 250

export interface Health {
  asked: number
  /** Probes without a good answer in time. */
  failed: number
  slowestMs: number
}

/** @param patienceMs a probe that takes longer has failed */
export function watchHealth(url: string, patienceMs: number): { stop(): Promise<Health> } {
  const health: Health = { asked: 0, failed: 0, slowestMs: 0 }
  let isStopped = false

  async function ask(path: string): Promise<void> {
    const from = performance.now()
    const status = await fetch(url + path, { signal: AbortSignal.timeout(patienceMs) }).then(
      async (answer) => {
        await answer.text()
        return answer.status
      },
      () => 0,
    )
    health.asked++
    if (status !== 200) health.failed++
    health.slowestMs = Math.max(health.slowestMs, performance.now() - from)
  }

  const asking = (async () => {
    while (!isStopped) {
      await ask('/healthz')
      await ask('/readyz')
      await sleep(EVERY_MS)
    }
  })()
  return {
    async stop() {
      isStopped = true
      await asking
      return health
    },
  }
}
