import type { FastifyReply } from 'fastify'
import { unavailable } from '../../errors.ts'

/** Aborts when the caller hangs up before the answer is sent. Fastify's own `request.signal` does not abort once the body has been read. */
export function hangUpSignal({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(unavailable('The caller has hung up'))
  })
  return controller.signal
}
