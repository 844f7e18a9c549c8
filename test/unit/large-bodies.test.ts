import { EventEmitter } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { admitBody, LARGE_BYTES, openLargeBodies } from '../../src/platform/http/large-bodies.ts'

const LARGE = { 'content-length': String(LARGE_BYTES + 1) }

/** Starts a request that waits for admission; `close` closes its connection. */
function requestWith(bodies: ReturnType<typeof openLargeBodies>, headers: Record<string, string>) {
  const raw = new EventEmitter()
  const request = { isAdmitted: false, close: () => raw.emit('close'), admission: Promise.resolve() }
  request.admission = admitBody(bodies, { headers } as unknown as FastifyRequest, { raw } as unknown as FastifyReply)
  request.admission.then(
    () => {
      request.isAdmitted = true
    },
    () => {},
  )
  return request
}

const admitted = async (requests: { isAdmitted: boolean }[]) => {
  await vi.advanceTimersByTimeAsync(0)
  return requests.map(({ isAdmitted }) => isAdmitted)
}

describe('large bodies', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are read six at a time, and the next one after a response', async () => {
    const bodies = openLargeBodies()
    const requests = Array.from({ length: 8 }, () => requestWith(bodies, LARGE))
    expect(await admitted(requests)).toEqual([true, true, true, true, true, true, false, false])
    requests[2]?.close()
    expect(await admitted(requests)).toEqual([true, true, true, true, true, true, true, false])
  })

  it('do not delay small ones; a chunked body counts as large', async () => {
    const bodies = openLargeBodies()
    for (let index = 0; index < 6; index++) requestWith(bodies, LARGE)
    const [small, empty, chunked] = [
      requestWith(bodies, { 'content-length': String(LARGE_BYTES) }),
      requestWith(bodies, {}),
      requestWith(bodies, { 'transfer-encoding': 'chunked' }),
    ]
    expect(await admitted([small, empty, chunked])).toEqual([true, true, false])
  })

  it('release their permit when the connection closes, also while they wait or just as they are admitted', async () => {
    const bodies = openLargeBodies()
    const reading = Array.from({ length: 6 }, () => requestWith(bodies, LARGE))
    await admitted(reading)
    const [gone, closing, next] = [requestWith(bodies, LARGE), requestWith(bodies, LARGE), requestWith(bodies, LARGE)]
    gone.close()
    await expect(gone.admission).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    reading[0]?.close()
    closing.close()
    expect(await admitted([next])).toEqual([true])
  })

  it('are refused after waiting half a minute', async () => {
    const bodies = openLargeBodies()
    for (let index = 0; index < 6; index++) requestWith(bodies, LARGE)
    const late = expect(requestWith(bodies, LARGE).admission).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 5 })
    await vi.advanceTimersByTimeAsync(30_000)
    await late
  })
})
