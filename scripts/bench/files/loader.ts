/** A separate process that sends and fetches files, so that the process that measures latencies has nothing else to do. */
import { randomBytes } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'

/** How a file is sent: as the body of a PUT, as a part of a form, or as base64 in JSON. */
export type Form = 'PUT' | 'multipart' | 'JSON'

export interface LoadOrder {
  url: string
  headers: Record<string, string>
  /** Uploads files of this many bytes in this form, or downloads the file at the URL. */
  form: Form | 'GET'
  bytes: number
  count: number
  atOnce: number
}

/** The milliseconds for all files, and the answer to the last upload. */
export interface LoadReport {
  ms: number
  answer: unknown
  error?: string
}

process.on('message', (order: LoadOrder) => {
  load(order).then(
    (report) => process.send?.(report),
    (error: Error) => process.send?.({ ms: Number.NaN, answer: null, error: error.message } satisfies LoadReport),
  )
})

async function load(order: LoadOrder): Promise<LoadReport> {
  const agent = new Agent({ keepAlive: true, maxSockets: order.atOnce })
  const body = bodyOf(order)
  const from = performance.now()
  let [left, answer] = [order.count, null as unknown]
  const caller = async () => {
    while (left-- > 0) answer = await send(agent, order, body)
  }
  try {
    await Promise.all(Array.from({ length: order.atOnce }, caller))
    return { ms: performance.now() - from, answer }
  } finally {
    left = 0
    agent.destroy()
  }
}

interface Body {
  method: 'PUT' | 'POST' | 'GET'
  headers: Record<string, string>
  bytes: Buffer
}

function bodyOf({ form, bytes }: LoadOrder): Body {
  if (form === 'GET') return { method: 'GET', headers: {}, bytes: Buffer.alloc(0) }
  const content = randomBytes(bytes)
  if (form === 'PUT')
    return {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="a.bin"' },
      bytes: content,
    }
  if (form === 'JSON') {
    const json = Buffer.from(`{"name":"a.bin","type":"application/octet-stream","data":"${content.toString('base64')}"}`)
    return { method: 'POST', headers: { 'content-type': 'application/json' }, bytes: json }
  }
  const head = 'Content-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: application/octet-stream'
  const parts = [Buffer.from(`--bench\r\n${head}\r\n\r\n`), content, Buffer.from('\r\n--bench--\r\n')]
  return { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=bench' }, bytes: Buffer.concat(parts) }
}

/** @returns the JSON of an upload, null for a download, whose bytes are only counted */
async function send(agent: Agent, { url, headers, form, bytes }: LoadOrder, body: Body): Promise<unknown> {
  const answer = await answerOf(agent, url, { ...headers, ...body.headers }, body)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (form !== 'GET' || answer.statusCode !== 200) chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString()
  if (answer.statusCode !== 200) throw new Error(`${body.method} ${url}: ${answer.statusCode} ${text}`)
  if (form === 'GET' && size !== bytes) throw new Error(`GET ${url}: ${size} bytes instead of ${bytes}`)
  return form === 'GET' ? null : JSON.parse(text)
}

function answerOf(agent: Agent, url: string, headers: Record<string, string>, { method, bytes }: Body): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers: { ...headers, ...(bytes.length && { 'content-length': bytes.length }) } }, resolve)
    sent.on('error', reject)
    sent.end(bytes)
  })
}
