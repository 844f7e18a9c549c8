/** A process of its own that holds streams open and notes when events come, so that reading them costs the load generator nothing. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

export type Order = { open: { url: string; cookies: string[] } } | { close: true } | { report: true }
/** Task → when the streams heard of it, in milliseconds. */
export type Report = [taskId: number, heardAt: number[]][]

const open: { response: IncomingMessage; heard: { at: number; bytes: Buffer }[] }[] = []

async function follow(url: string, cookie: string): Promise<void> {
  const request = get(`${url}/api/events`, { agent: false, headers: { cookie } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`A stream was answered with ${response.statusCode}`)
  const heard: { at: number; bytes: Buffer }[] = []
  open.push({ response, heard })
  // Read later: on one machine it would take its time from the service.
  response.on('data', (bytes: Buffer) => heard.push({ at: Date.now(), bytes }))
  // Cut by ourselves.
  response.on('error', () => {})
}

/** When each task was heard of since the last report. An event that came in two parts counts when its end came. */
function report(): Report {
  const times = new Map<number, number[]>()
  for (const { heard } of open) {
    let rest = ''
    for (const { at, bytes } of heard.splice(0)) {
      const blocks = (rest + bytes.toString('latin1')).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        if (!block.startsWith('event: task.created')) continue
        const task = Number(/"task_id":(\d+)/.exec(block)?.[1])
        const known = times.get(task)
        if (known) known.push(at)
        else times.set(task, [at])
      }
    }
  }
  return [...times]
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
