/** Callers who repeat their request while something happens. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Caller {
  url: string
  secret: string
  path: string
  body: object
}

export interface Noticed {
  served: number
  /** Answers that are no success. */
  failed: number
  slowestMs: number
}

/** A caller who is refused waits before the next request. */
const AFTER_REFUSAL_MS = 50

/** @param event what happens; the callers send no new request once it is over */
export async function underLoad(callers: readonly Caller[], event: () => Promise<void>): Promise<Noticed> {
  const noticed: Noticed = { served: 0, failed: 0, slowestMs: 0 }
  let isOver = false
  const repeating = callers.map(async (caller) => {
    while (!isOver) if (!(await ask(caller, noticed))) await sleep(AFTER_REFUSAL_MS)
  })
  try {
    await event()
  } finally {
    isOver = true
    await Promise.all(repeating)
  }
  return noticed
}

async function ask({ url, secret, path, body }: Caller, noticed: Noticed): Promise<boolean> {
  const from = performance.now()
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
  noticed.slowestMs = Math.max(noticed.slowestMs, performance.now() - from)
  if (answer.ok) noticed.served++
  else noticed.failed++
  return answer.ok
}
