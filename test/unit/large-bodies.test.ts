import { EventEmitter } from 'node:events'
import type { FastifyReply } from 'fastify'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { admitBody, bodyBytes, openLargeBodies } from '../../src/platform/http/load/large-bodies.ts'

/** Starts a request that waits for admission; `close` closes its connection. */
function requestOf(bodies: ReturnType<typeof openLargeBodies>, account: string) {
  const raw = new EventEmitter()
  const request = { isAdmitted: false, close: () => raw.emit('close'), admission: Promise.resolve() }
  request.admission = admitBody(bodies, account, { raw } as unknown as FastifyReply)
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

  test('are read six at a time, and the next one after a response', async () => {
    const bodies = openLargeBodies()
    const requests = Array.from({ length: 8 }, (_, index) => requestOf(bodies, `account ${index % 2}`))
    expect(await admitted(requests)).toEqual([true, true, true, true, true, true, false, false])
    requests[2]?.close()
    expect(await admitted(requests)).toEqual([true, true, true, true, true, true, true, false])
  })

  test('of one account are read four at a time, so that others never wait for its slow ones', async () => {
    const bodies = openLargeBodies()
    const requests = Array.from({ length: 5 }, () => requestOf(bodies, 'account 1'))
    expect(await admitted(requests)).toEqual([true, true, true, true, false])
    expect(await admitted([requestOf(bodies, 'account 2')])).toEqual([true])
  })

  test('are known by their stated size; a chunked body may have any', () => {
    expect(bodyBytes({ headers: { 'content-length': '5000000' } })).toBe(5_000_000)
    expect(bodyBytes({ headers: {} })).toBe(0)
    expect(bodyBytes({ headers: { 'transfer-encoding': 'chunked' } })).toBe(Number.POSITIVE_INFINITY)
  })

  test('give their place back when the connection closes, also while they wait or just as they are admitted', async () => {
    const bodies = openLargeBodies()
    const reading = Array.from({ length: 4 }, () => requestOf(bodies, 'account 1'))
    await admitted(reading)
    const [gone, closing, next] = [requestOf(bodies, 'account 1'), requestOf(bodies, 'account 1'), requestOf(bodies, 'account 1')]
    gone.close()
    await expect(gone.admission).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    reading[0]?.close()
    closing.close()
    expect(await admitted([next])).toEqual([true])
  })

  test('are refused after waiting half a minute', async () => {
    const bodies = openLargeBodies()
    for (let index = 0; index < 4; index++) requestOf(bodies, 'account 1')
    const late = expect(requestOf(bodies, 'account 1').admission).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      retryAfterSeconds: 5,
    })
    await vi.advanceTimersByTimeAsync(30_100)
    await late
  })
})
