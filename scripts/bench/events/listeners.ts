/** A process of its own that holds streams open and notes when events come, so that reading them costs the load generator nothing. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

export type Order = { open: { url: string; cookies: string[] } } | { close: true } | { report: true }
/** Task → when the streams heard of it, in milliseconds. */
export type Report = [taskId: number, heardAt: number[]][]

const open: IncomingMessage[] = []
let heard = new Map<number, number[]>()

async function follow(url: string, cookie: string): Promise<void> {
  const request = get(`${url}/api/events`, { agent: false, headers: { cookie } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`A stream was answered with ${response.statusCode}`)
  open.push(response)
  let rest = ''
  response.setEncoding('latin1').on('data', (text: string) => {
    const now = Date.now()
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      if (!block.startsWith('event: task.created')) continue
      const task = Number(/"task_id":(\d+)/.exec(block)?.[1])
      const times = heard.get(task)
      if (times) times.push(now)
      else heard.set(task, [now])
    }
  })
  // Cut by ourselves.
  response.on('error', () => {})
}

const AT_ONCE = 20

process.on('message', async (order: Order) => {
  if ('open' in order) {
    const { url, cookies } = order.open
    for (let from = 0; from < cookies.length; from += AT_ONCE)
      await Promise.all(cookies.slice(from, from + AT_ONCE).map((cookie) => follow(url, cookie)))
    process.send?.('opened')
  } else if ('close' in order) {
    for (const response of open.splice(0)) response.destroy()
    process.send?.('closed')
  } else {
    process.send?.([...heard] satisfies Report)
    heard = new Map()
  }
})
process.on('disconnect', () => process.exit())
