/** A separate process that holds streams open and records when events arrive, so that reading them costs the load generator nothing. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

export type Order = { open: { url: string; cookies: string[] } } | { close: true } | { report: true }
/** Each task with the times, in milliseconds, at which the streams received its event. */
export type Report = [taskId: number, heardAt: number[]][]

/** A chunk of a stream, and its time of arrival. */
interface Chunk {
  at: number
  bytes: Buffer
}

const open: { response: IncomingMessage; heard: Chunk[] }[] = []

async function follow(url: string, cookie: string): Promise<void> {
  const request = get(`${url}/api/events`, { agent: false, headers: { cookie } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`A stream was answered with ${response.statusCode}`)
  const heard: Chunk[] = []
  open.push({ response, heard })
  // The bytes are parsed later: on one machine, parsing now would take CPU time from the service.
  response.on('data', (bytes: Buffer) => heard.push({ at: Date.now(), bytes }))
  // This process destroys the response itself, which Node reports as an error.
  response.on('error', () => {})
}

/** Returns when each stream received each task's event, since the last report. */
function report(): Report {
  const times = new Map<number, number[]>()
  const events = open.flatMap(({ heard }) => [...eventsIn(heard.splice(0))])
  for (const { at, text } of events) {
    if (!text.startsWith('event: task.created')) continue
    const task = Number(/"task_id":(\d+)/.exec(text)?.[1])
    times.set(task, [...(times.get(task) ?? []), at])
  }
  return [...times]
}

/** Parses the events in the chunks. An event that is split over two chunks has arrived with its end. */
function* eventsIn(chunks: readonly Chunk[]): Generator<{ at: number; text: string }> {
  let rest = ''
  for (const { at, bytes } of chunks) {
    const texts = (rest + bytes.toString('latin1')).split('\n\n')
    rest = texts.pop() ?? ''
    for (const text of texts) yield { at, text }
  }
}

const AT_ONCE = 20

process.on('message', async (order: Order) => {
  if ('open' in order) {
    const { url, cookies } = order.open
    for (let from = 0; from < cookies.length; from += AT_ONCE)
      await Promise.all(cookies.slice(from, from + AT_ONCE).map((cookie) => follow(url, cookie)))
    process.send?.('opened')
  } else if ('close' in order) {
    for (const { response } of open.splice(0)) response.destroy()
    process.send?.('closed')
  } else {
    process.send?.(report())
  }
})
process.on('disconnect', () => process.exit())
