import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { SmallAnswers } from '../../src/platform/http/small-answers.ts'

/** Every byte that there is, so also such as are no UTF-8. */
const bytesOf = (length: number) => Buffer.from(Array.from({ length }, (_, index) => index % 256))

const ended = Promise.withResolvers<void>()
const server = createServer({ ServerResponse: SmallAnswers }, ({ url }, response) => {
  const [, kind, length] = (url ?? '').split('/')
  const bytes = bytesOf(Number(length))
  if (kind === 'stated') response.writeHead(200, { 'content-length': bytes.length })
  if (kind === 'begun') response.write('begun ')
  if (kind === 'noted') response.end(bytes, () => ended.resolve())
  else response.end(bytes)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => server.close())
const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method })

test.each([1, 256, 8_192, 8_193, 100_000])('%d bytes arrive as they are, with their length', async (length) => {
  for (const kind of ['stated', 'unstated']) {
    const answer = await get(`/${kind}/${length}`)
    expect(answer.headers.get('content-length')).toBe(String(length))
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytesOf(length))).toBe(true)
  }
})

test('an answer that has begun ends with the same bytes', async () => {
  const answer = await get('/begun/256')
  expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.concat([Buffer.from('begun '), bytesOf(256)]))).toBe(true)
})

test('an answer without bytes, and one to HEAD, has no body', async () => {
  const empty = await get('/stated/0')
  expect([empty.headers.get('content-length'), await empty.text()]).toEqual(['0', ''])
  const head = await get('/stated/256', 'HEAD')
  expect([head.headers.get('content-length'), await head.text()]).toEqual(['256', ''])
})

test('a function in place of the encoding is called when the answer has ended', async () => {
  const answer = await get('/noted/256')
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytesOf(256))).toBe(true)
  await ended.promise
})
