/** A separate process that posts large messages to the webhook, so that the process that measures latencies has nothing else to do. */
import { Agent, request } from 'node:http'
import { large } from './messages.ts'

export interface PostOrder {
  url: string
  /** A message is posted to each of them, all at once. */
  addresses: string[]
  bytes: number
}

/** How many messages had each status, and the reason why one had none. */
export interface PostReport {
  statuses: Record<number, number>
  error?: string
}

process.on('message', (order: PostOrder) => {
  postAll(order).then(
    (report) => process.send?.(report),
    (error: Error) => process.send?.({ statuses: {}, error: error.message } satisfies PostReport),
  )
})

async function postAll({ url, addresses, bytes }: PostOrder): Promise<PostReport> {
  const agent = new Agent({ maxSockets: addresses.length })
  const statuses: PostReport['statuses'] = {}
  // What follows the header is the same in all messages, and in memory once.
  const rest = Buffer.from(withoutHeader(large('', bytes)))
  const post = async (address: string) => {
    const status = await posted(agent, url, [Buffer.from(`${large(address, 2_000).split('\r\n\r\n')[0]}\r\n\r\n`), rest])
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  try {
    await Promise.all(addresses.map(post))
    return { statuses }
  } finally {
    agent.destroy()
  }
}

const withoutHeader = (message: string) => message.slice(message.indexOf('\r\n\r\n') + 4)

function posted(agent: Agent, url: string, parts: Buffer[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = parts.reduce((sum, { length }) => sum + length, 0)
    const headers = { 'content-type': 'message/rfc822', 'content-length': length }
    const sent = request(url, { agent, method: 'POST', headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject)
    for (const part of parts) sent.write(part)
    sent.end()
  })
}
