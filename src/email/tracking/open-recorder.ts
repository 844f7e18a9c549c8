/** Records the opens of mails after their requests were answered, so that the time of an answer says nothing about its token. */
import type { Deps } from '../../platform/context.ts'
import { perProcess } from '../../platform/processes/per-process.ts'
import { lostOpens } from '../metrics.ts'
import { isToken, type PixelRequest, recordOpens, type SeenOpen } from './opens.ts'

export interface OpenRecorder {
  /** Takes the request, and returns at once. */
  add(request: PixelRequest): void
  /** Records what was taken so far, and ends. */
  close(): Promise<void>
}

/** Anyone may request the image, so a process keeps no more than this; further opens are lost and counted. */
const MOST_WAITING = perProcess(5_000)
/** How many are looked up in one statement. */
const AT_ONCE = 100
/** While the database is away, opens wait for about half a minute. */
const MOST_FAILURES = 30
const RETRY_MS = 1_000

export function startOpenRecorder(deps: Pick<Deps, 'db' | 'clock' | 'metrics' | 'log'>): OpenRecorder {
  const { clock, metrics, log } = deps
  const waiting: SeenOpen[] = []
  let running: Promise<void> | undefined
  let isClosing = false

  async function record(): Promise<void> {
    let failures = 0
    while (waiting.length) {
      const batch = waiting.slice(0, AT_ONCE)
      try {
        await recordOpens(deps, batch)
        failures = 0
      } catch (error) {
        failures += 1
        log.error({ err: error, count: batch.length }, 'email opens not recorded')
        if (!isClosing && failures < MOST_FAILURES) {
          await pause(RETRY_MS)
          continue
        }
        metrics.count(lostOpens, {}, batch.length)
      }
      waiting.splice(0, batch.length)
    }
    running = undefined
  }

  return {
    add(request) {
      if (!isToken(request.token)) return
      if (waiting.length >= MOST_WAITING) return metrics.count(lostOpens)
      waiting.push({ ...request, at: clock() })
      running ??= afterAnswers().then(record)
    },
    async close() {
      isClosing = true
      await running
    },
  }
}

const afterAnswers = () => new Promise((resolve) => setImmediate(resolve))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
