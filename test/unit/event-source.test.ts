import { describe, expect, test } from 'vitest'
import { FetchEventSource } from '../../src/events/event-source.ts'

const encoder = new TextEncoder()

/** Answers each connection with the next response: a status, or parts of a stream that then ends. The last one is repeated. */
function server(...answers: (number | string[])[]) {
  const asked: (string | null)[] = []
  const fetch = async (_: string, init: RequestInit) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(new Headers(init.headers).get('last-event-id'))
    if (typeof answer === 'number') return new Response('', { status: answer })
    const parts = [...answer]
    return new Response(
      new ReadableStream({
        pull(controller) {
          const part = parts.shift()
          if (part === undefined) controller.close()
          else controller.enqueue(encoder.encode(part))
        },
      }),
    )
  }
  return { asked, fetch }
}

/** Listens until the given number of connections have ended, or the event source is closed for good. */
async function listen({ fetch }: ReturnType<typeof server>, connections: number) {
  const heard: [type: string, data: string, id: string][] = []
  const source = new FetchEventSource('http://localhost', { fetch })
  for (const type of ['message', 'task.done'])
    source.addEventListener(type, (event) => {
      const { data, lastEventId } = event as MessageEvent
      heard.push([type, data, lastEventId])
    })
  await new Promise<void>((resolve) => {
    let ended = 0
    source.addEventListener('error', () => {
      ended++
      if (ended === connections || source.readyState === source.CLOSED) resolve()
    })
  })
  const { readyState } = source
  source.close()
  return { heard, readyState }
}

const AT_ONCE = 'retry: 0\n\n'

describe('the event source of the client', () => {
  test.each([
    ['a plain event', ['data: one\n\n'], [['message', 'one', '']]],
    ['its type and id', ['event: task.done\ndata: {"id":7}\nid: 7\n\n'], [['task.done', '{"id":7}', '7']]],
    ['several lines', ['data: one\ndata:two\n\n'], [['message', 'one\ntwo', '']]],
    ['comments, and unknown fields', [': still here\nfoo: bar\ndata: one\n\n'], [['message', 'one', '']]],
    [
      'every line end',
      ['data: one\r\n\r\ndata: two\n\ndata: three\r\rdata: four\n\n'],
      ['one', 'two', 'three', 'four'].map((data) => ['message', data, '']),
    ],
    ['parts that are cut anywhere', [...'id: 3\r\nevent: task.done\r\ndata: ä\r\n\r\n'], [['task.done', 'ä', '3']]],
    ['an id without data, which is not an event but is remembered', ['id: 9\n\n', 'data: one\n\n'], [['message', 'one', '9']]],
    ['no unfinished event', ['data: one\nid: 4\n'], []],
  ])('reads %s', async (_, parts, expected) => {
    expect((await listen(server(parts), 1)).heard).toEqual(expected)
  })

  test('resumes after the last complete event', async () => {
    const backend = server([AT_ONCE, 'data: one\nid: 1\n\ndata: two\nid: 2\n'], ['data: two\nid: 2\n\n'], [])
    const { heard } = await listen(backend, 3)
    expect(heard.map(([, data]) => data)).toEqual(['one', 'two'])
    expect(backend.asked).toEqual([null, '1', '2'])
  })

  test('retries while the service is down or busy, but not after a refusal', async () => {
    const backend = server([AT_ONCE], 503, 429, ['data: one\n\n'], 401)
    const { heard, readyState } = await listen(backend, 10)
    expect([heard.length, backend.asked.length, readyState]).toEqual([1, 5, 2])
  })
})
