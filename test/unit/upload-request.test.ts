/** The uploads of the typed client, against a server that tells what it received. test/upload-client.test.ts has them against the service. */
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { TRPCClientError } from '@trpc/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client.ts'

/** Answers with what it received; `/api/task/{status}/upload` with an error of that status. */
const server = createServer((request, response) => {
  answer(request).then(
    ([status, text]) => response.writeHead(status).end(text),
    () => response.destroy(),
  )
})

async function answer(request: IncomingMessage): Promise<[status: number, text: string]> {
  const { method, url = '', headers } = request
  const [, status] = /^\/api\/task\/(\d+)\/upload$/.exec(url) ?? []
  const bytes = await buffer(request)
  if (status === '502') return [502, '<h1>Bad gateway</h1>']
  if (status === '201') return [200, '<h1>Sign in</h1>']
  if (status) return [Number(status), JSON.stringify({ message: 'No', code: 'NOT_SO', request_id: 'req-1' })]
  return [200, JSON.stringify({ method, url, headers, body: bytes.length > 100 ? bytes.length : bytes.toString() })]
}

let folder: string
let client: ReturnType<typeof createClient>
interface Seen {
  method: string
  url: string
  headers: Record<string, string>
  body: string | number
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gridpost-upload-'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = createClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    apiKey: 'gp_secret',
    headers: { 'x-a': 'b' },
  })
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await rm(folder, { recursive: true, force: true })
})

const seen = async (answer: Promise<unknown>) => (await answer) as unknown as Seen

describe('an upload', () => {
  test.each([
    ['files.create', { table_id: 1, record_id: 2, field_id: 'a b&c' }, '/api/table/1/record/2/files/create?field_id=a+b%26c'],
    ['comments.upload', { table_id: 1, record_id: 2 }, '/api/table/1/record/2/comments/upload'],
    ['tasks.comments.upload', { task_id: 3 }, '/api/task/3/comments/upload'],
    ['tasks.stage', {}, '/api/tasks/upload'],
    ['tasks.stageOnRecord', { table_id: 1, record_id: 2 }, '/api/tasks/onRecord/1/2/upload'],
  ] as const)('of %s is a PUT of its path', async (name, input, url) => {
    const { body, ...sent } = await seen(client.upload(name, input as never, { name: 'a.txt', content: Buffer.from('hello') }))
    expect(sent).toMatchObject({ method: 'PUT', url, headers: { authorization: 'Bearer gp_secret', 'x-a': 'b', 'content-length': '5' } })
    expect(body).toBe('hello')
  })

  test('names the file in every script, and has its type', async () => {
    const headersOf = async (file: Parameters<typeof client.upload>[2], options = {}) => {
      const { headers } = await seen(client.upload('tasks.stage', {}, file, options))
      return [headers['content-disposition'], headers['content-type'], headers['idempotency-key']]
    }
    expect(await headersOf(new File(['x'], `Angebot "ä" (1)'*.txt`, { type: 'text/plain; charset=utf-8' }))).toEqual([
      `attachment; filename*=UTF-8''Angebot%20%22%C3%A4%22%20%281%29%27%2A.txt`,
      'text/plain; charset=utf-8',
      undefined,
    ])
    const blob = new Blob(['x'], { type: 'image/png' })
    expect(await headersOf({ name: 'a', content: blob }, { idempotencyKey: 'once' })).toEqual([
      "attachment; filename*=UTF-8''a",
      'image/png',
      'once',
    ])
    expect((await headersOf({ name: 'a', type: 'text/csv', content: blob }))[1]).toBe('text/csv')
    expect((await headersOf({ name: 'a', content: new ArrayBuffer(1) }))[1]).toBe('application/octet-stream')
  })

  test('takes bytes, blobs and streams, of known and of unknown size', async () => {
    const path = join(folder, 'a.txt')
    await writeFile(path, 'hello')
    async function* chunks() {
      yield new TextEncoder().encode('hel')
      yield new TextEncoder().encode('lo')
    }
    const contents = {
      'a File': new File(['hello'], 'a'),
      'a Blob': { name: 'a', content: new Blob(['hel', 'lo']) },
      bytes: { name: 'a', content: new TextEncoder().encode('hello') },
      'a buffer': { name: 'a', content: Buffer.from('hello') },
      'an ArrayBuffer': { name: 'a', content: new TextEncoder().encode('hello').buffer },
      'a file on disk': { name: 'a', content: createReadStream(path), size: 5 },
      'a web stream': { name: 'a', content: new Blob(['hello']).stream() },
      'an iterable': { name: 'a', content: chunks() },
    }
    for (const [what, file] of Object.entries(contents))
      expect((await seen(client.upload('tasks.stage', {}, file))).body, what).toBe('hello')
    const ofSize = { name: 'a', content: createReadStream(path), size: 5 }
    expect((await seen(client.upload('tasks.stage', {}, ofSize))).headers).toMatchObject({ 'content-length': '5' })
    expect((await seen(client.upload('tasks.stage', {}, { name: 'a', content: chunks() }))).headers).toMatchObject({
      'transfer-encoding': 'chunked',
    })
    expect((await seen(client.upload('tasks.stage', {}, { name: 'a', content: Buffer.alloc(0) }))).body).toBe('')
  })

  test('reports how much has been sent', async () => {
    const size = 1_000_000
    const contents = [Buffer.alloc(size), new Blob([Buffer.alloc(size)]), new Blob([Buffer.alloc(size)]).stream()]
    for (const content of contents) {
      const steps: { sent: number; total: number | null }[] = []
      const { body } = await seen(client.upload('tasks.stage', {}, { name: 'a', content }, { onProgress: (step) => steps.push(step) }))
      expect(body).toBe(size)
      const total = content instanceof ReadableStream ? null : size
      expect(steps.length).toBeGreaterThan(1)
      expect(steps.at(-1)).toEqual({ sent: size, total })
      expect(steps).toEqual(steps.toSorted((a, b) => a.sent - b.sent))
      expect(new Set(steps.map((step) => step.total))).toEqual(new Set([total]))
    }
  })
})

describe('a failed upload', () => {
  const failure = async (file: Parameters<typeof client.upload>[2], options = {}, status = 0) => {
    const call = status
      ? client.upload('tasks.upload', { task_id: status }, file, options)
      : client.upload('tasks.stage', {}, file, options)
    const error = await call.then(
      () => 'no error',
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(TRPCClientError)
    return error as TRPCClientError<never> & { data?: unknown; shape?: { code: number } }
  }
  const small = { name: 'a', content: Buffer.from('x') }

  test.each([
    [400, -32_600],
    [401, -32_001],
    [403, -32_003],
    [404, -32_004],
    [408, -32_008],
    [409, -32_009],
    [413, -32_013],
    [415, -32_015],
    [429, -32_029],
    [503, -32_603],
    [507, -32_603],
  ])('has the body of an error of status %i in data', async (status, code) => {
    const error = await failure(small, {}, status)
    expect(error).toMatchObject({ message: 'No', shape: { code } })
    expect(error.data).toEqual({ message: 'No', code: 'NOT_SO', request_id: 'req-1', httpStatus: status })
  })

  test('has no data if the answer does not come from the service', async () => {
    for (const [status, shown] of [
      [502, 502],
      [201, 200],
    ] as const) {
      const error = await failure(small, {}, status)
      expect([error.message, error.data]).toEqual([`The upload was answered with status ${shown}`, undefined])
    }
    const nowhere = createClient({ baseUrl: 'http://127.0.0.1:1' })
    await expect(nowhere.upload('tasks.stage', {}, small)).rejects.toBeInstanceOf(TRPCClientError)
  })

  test('is aborted before and while it is sent, and closes its stream', async () => {
    const early = await failure(small, { signal: AbortSignal.abort() })
    expect((early.cause as Error).name).toBe('AbortError')
    const ending = new AbortController()
    let isClosed = false
    async function* endless() {
      try {
        for (;;) {
          yield Buffer.alloc(100_000)
          await new Promise(setImmediate)
        }
      } finally {
        isClosed = true
      }
    }
    const options = { signal: ending.signal, onProgress: ({ sent }: { sent: number }) => void (sent > 500_000 && ending.abort()) }
    const late = await failure({ name: 'a', content: endless() }, options)
    expect((late.cause as Error).name).toBe('AbortError')
    await expect.poll(() => isClosed).toBe(true)
  })

  test('tells why its stream failed', async () => {
    const missing = await failure({ name: 'a', content: createReadStream(join(folder, 'missing')), size: 5 })
    expect(String((missing.cause as Error).cause ?? missing.cause)).toContain('ENOENT')
    await failure({ name: 'a', content: new Blob(['hello']).stream(), size: 4 })
    await failure({ name: 'a\ud800', content: new Blob([]) })
    const broken = (async function* () {
      yield Buffer.from('x')
      throw new Error('The disk is gone')
    })()
    const error = await failure({ name: 'a', content: broken })
    expect(String((error.cause as Error).cause ?? error.cause)).toContain('The disk is gone')
  })
})
