/** What becomes of calls while nobody is signed in, or somebody else (console/src/session). */
import { TRPCClientError } from '@trpc/client'
import { beforeEach, describe, expect, test } from 'vitest'
import { noteSomebodyElse, openSession, sessionHeaders, sessionState } from '../../console/src/session/session.ts'
import { waitingForSession } from '../../console/src/session/waiting-calls.ts'

const refusal = (data: object) =>
  TRPCClientError.from({ error: { message: 'Refused', code: -32_001, data: { code: 'UNAUTHORIZED', httpStatus: 401, ...data } } } as never)
const ended = refusal({})
const somebodyElse = refusal({ issues: [{ path: ['X-Session-User'], message: 'is not the user of the session' }] })

/** A client whose only procedure answers as the test says, each time. */
function clientOf(...answers: (() => unknown)[]) {
  const calls: object[] = []
  const query = async (input: object) => {
    calls.push(input)
    const answer = answers[calls.length - 1]
    if (!answer) throw new Error('There was one call too many')
    return answer()
  }
  const client = waitingForSession({ tables: { get: { query } } } as unknown as Parameters<typeof waitingForSession>[0])
  const settled: unknown[] = []
  const call = () => client.tables.get.query({ table_id: 1 }).then((table) => void settled.push(table))
  return { calls, settled, call }
}

const refuse = (error: unknown) => () => {
  throw error
}
/** Long enough for every promise that is settled by now. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve))

describe('a call of a page', () => {
  beforeEach(() => openSession(7))

  test('names the person', () => {
    expect(sessionHeaders()).toEqual({ 'x-session-user': '7' })
  })

  test.each([
    ['the session has ended', ended],
    ['the cookie is somebody else’s', somebodyElse],
  ])('waits once %s, and is made again when the person is back', async (_, error) => {
    const { calls, settled, call } = clientOf(refuse(error), () => 'Deals')
    const answered = call()
    await turn()
    expect([calls.length, settled]).toEqual([1, []])
    openSession(7)
    await answered
    expect([calls.length, settled]).toEqual([2, ['Deals']])
  })

  test('whose session has ended is made again at once if the person has signed in again before the answer came', async () => {
    const late = Promise.withResolvers<unknown>()
    const { calls, settled, call } = clientOf(
      () => late.promise,
      () => 'Deals',
    )
    const answered = call()
    await turn()
    openSession(7)
    late.reject(ended)
    await answered
    expect([calls.length, settled, sessionState()]).toEqual([2, ['Deals'], 'open'])
  })

  test('is not made while somebody else has signed in', async () => {
    const { calls, call } = clientOf(() => 'Deals')
    noteSomebodyElse()
    const answered = call()
    await turn()
    expect(calls).toEqual([])
    openSession(7)
    await answered
    expect(calls).toHaveLength(1)
  })

  test('that is answered while somebody else has signed in is answered to nobody but the person, and not made again', async () => {
    const service = Promise.withResolvers<unknown>()
    const { calls, settled, call } = clientOf(() => service.promise)
    const answered = call()
    await turn()
    noteSomebodyElse()
    service.resolve('Deals')
    await turn()
    expect(settled).toEqual([])
    openSession(7)
    await answered
    expect([calls.length, settled]).toEqual([1, ['Deals']])
  })
})
