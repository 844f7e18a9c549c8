import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { callers } from '../src/platform/access/authorize.ts'
import { badInput } from '../src/platform/errors.ts'
import { type JsonText, orWritten, Placeholders, WrittenJson, WrittenList } from '../src/platform/http/answers/written-json.ts'
import type { OperationDocs } from '../src/platform/http/procedures/operation-docs.ts'
import type { RequestContext } from '../src/platform/http/procedures/request-context.ts'
import { mountRest } from '../src/platform/http/procedures/rest.ts'
import { mountRpc } from '../src/platform/http/procedures/rpc.ts'
import { listOf } from '../src/platform/http/procedures/schemas.ts'
import { accountProcedure, rest, router } from '../src/platform/http/procedures/trpc.ts'
import { testApp } from './support/app.ts'

const { deps } = await testApp()

const VALUE = { text: '"quoted" \\ ünï € 😀 \u2028 \u0000 </script> $& $1', none: null, list: [1, -0.5, true], empty: {} }
const ROWS = [
  { id: 1, text: VALUE.text },
  { id: 2, text: '' },
]
const FACTS = { total: 7, next_cursor: 'a "cursor"' }
type Rows = (typeof ROWS)[number]

const docs = { tag: 'Tasks', summary: '', description: '', example: { output: null } } as unknown as OperationDocs
const open = accountProcedure(callers.anyone)
const Value = orWritten(z.object({ text: z.string(), none: z.null(), list: z.array(z.unknown()), empty: z.object({}) }))
const ListOfRows = listOf(z.object({ id: z.int(), text: z.string() }))
let runs = 0

/** The same answers as objects, and written as strings or bytes. */
function answersAs(kind: 'objects' | 'strings' | 'bytes') {
  const json = (value: unknown): JsonText => (kind === 'bytes' ? Buffer.from(JSON.stringify(value)) : JSON.stringify(value))
  const isWritten = kind !== 'objects'
  const value = isWritten ? new WrittenJson<typeof VALUE>(json(VALUE)) : VALUE
  const list = isWritten ? new WrittenList<Rows>(json(ROWS), FACTS) : { rows: ROWS, ...FACTS }
  const bare = isWritten ? new WrittenList<Rows>(json([])) : { rows: [] }
  const later = () => new Promise((resolve) => setImmediate(resolve))
  return router({
    value: open
      .meta(rest('GET', `/${kind}/value`, docs))
      .output(Value)
      .query(async () => {
        await later()
        return value
      }),
    list: open
      .meta(rest('GET', `/${kind}/list`, docs, { isList: true }))
      .output(ListOfRows)
      .query(() => list),
    bare: open
      .meta(rest('GET', `/${kind}/bare`, docs, { isList: true }))
      .output(ListOfRows)
      .query(() => bare),
    change: open
      .meta(rest('POST', `/${kind}/change`, docs, { isList: true, isRepeatable: true }))
      .output(ListOfRows)
      .mutation(() => {
        runs++
        return list
      }),
  })
}

const api = router({
  objects: answersAs('objects'),
  strings: answersAs('strings'),
  bytes: answersAs('bytes'),
  echo: open
    .meta(rest('POST', '/echo', docs))
    .input(z.object({ text: z.string() }))
    .output(z.string())
    .query(({ input }) => input.text),
  fail: open
    .meta(rest('GET', '/fail', docs))
    .output(z.null())
    .query(() => {
      throw badInput('name', 'is "wrong"')
    }),
})

function contextOf(request: FastifyRequest, reply: FastifyReply): RequestContext {
  const key = request.headers['idempotency-key']
  return {
    deps,
    requestId: 'req-1',
    route: request.routeOptions.config,
    log: deps.log as unknown as FastifyBaseLogger,
    ip: '127.0.0.1',
    userAgent: '',
    credentials: { kind: 'none' },
    isCrossSite: false,
    sessionUser: undefined,
    isLocal: false,
    now: deps.clock(),
    idempotencyKeys: typeof key === 'string' ? [key] : [],
    ifMatch: undefined,
    setHeader: (name, value) => void reply.header(name, value),
    signal: () => new AbortController().signal,
    pause: async () => {},
    onUse: () => {},
    cookie: () => undefined,
    setCookie: () => {},
  }
}

const server = Fastify()
const contexts = new WeakMap<FastifyRequest, RequestContext>()
server.addHook('onRequest', async (request, reply) => void contexts.set(request, contextOf(request, reply)))
mountRpc(server, api, (request) => contexts.get(request) as RequestContext)
mountRest(server, api, (request) => contexts.get(request) as RequestContext)
await server.listen({ port: 0, host: '127.0.0.1' })
afterAll(() => server.close())

async function send(path: string, init?: RequestInit) {
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}${path}`
  const { status, headers, ...response } = await fetch(url, init).then(async (answer) => ({
    status: answer.status,
    headers: answer.headers,
    bytes: Buffer.from(await answer.arrayBuffer()),
  }))
  return { status, headers, text: response.bytes.toString(), length: response.bytes.length }
}

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  send(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })

const WRITTEN = ['strings', 'bytes'] as const

test.each(WRITTEN)('sends %s over REST byte for byte as it sends objects', async (kind) => {
  for (const path of ['value', 'list', 'bare']) {
    const [object, written] = [await send(`/objects/${path}`), await send(`/${kind}/${path}`)]
    expect([written.text, written.status], path).toEqual([object.text, 200])
    for (const header of ['content-type', 'content-length', 'x-total-count', 'x-next-cursor'])
      expect([header, written.headers.get(header)], path).toEqual([header, object.headers.get(header)])
  }
  expect((await send(`/${kind}/list`)).text).toBe(JSON.stringify(ROWS))
  expect((await send(`/${kind}/list`)).headers.get('x-total-count')).toBe('7')
})

test.each(WRITTEN)('puts %s into the envelope of a single RPC call, with the length of the bytes', async (kind) => {
  for (const path of ['value', 'list', 'bare']) {
    const [object, written] = [await send(`/trpc/objects.${path}`), await send(`/trpc/${kind}.${path}`)]
    expect([written.text, written.status, written.headers.get('content-type')], path).toEqual([object.text, 200, 'application/json'])
    expect(written.headers.get('content-length'), path).toBe(String(written.length))
  }
})

/** A batch in which the answers end in another order than they are written, with an error and a value of the caller between them. */
const batch = (kind: string, text = 'said') => {
  const paths = [`${kind}.value`, 'fail', `${kind}.list`, 'echo', `${kind}.bare`, `${kind}.value`]
  return [`/trpc/${paths.join(',')}?batch=1`, Object.fromEntries(paths.map((_, index) => [index, { text }]))] as const
}

test.each(WRITTEN)('puts %s into the envelope of a batch, between errors and other answers', async (kind) => {
  const get = ([path, input]: ReturnType<typeof batch>) => send(`${path}&input=${encodeURIComponent(JSON.stringify(input))}`)
  const [object, written] = [await get(batch('objects')), await get(batch(kind))]
  expect([written.status, written.text.replaceAll(`${kind}.`, 'objects.')]).toEqual([object.status, object.text])
  expect(written.headers.get('content-length')).toBe(String(written.length))
  expect(JSON.parse(written.text)[5]).toEqual({ result: { data: VALUE } })
})

test.each(WRITTEN)('sends %s in a streamed batch', async (kind) => {
  const get = ([path, input]: ReturnType<typeof batch>) =>
    send(`${path}&input=${encodeURIComponent(JSON.stringify(input))}`, { headers: { 'trpc-accept': 'application/jsonl' } })
  const lines = (text: string) => text.trim().split('\n').sort()
  const [object, written] = [await get(batch('objects')), await get(batch(kind))]
  expect(lines(written.text)).toEqual(lines(object.text))
  expect(written.text).toContain(JSON.stringify(ROWS))
})

test('takes no text of a caller for the place of a written answer', async () => {
  const guesses = ['written ', 'written 0', `written ${crypto.randomUUID()} 0`, `"written ${crypto.randomUUID()} 0"`, '"', '$&']
  for (const text of guesses) {
    const [, , , echoed] = JSON.parse(
      (await send(`${batch('strings')[0]}&input=${encodeURIComponent(JSON.stringify(batch('strings', text)[1]))}`)).text,
    )
    expect(echoed).toEqual({ result: { data: text } })
  }
  // Each request has its own placeholders, and a text that happens to hold one is not changed.
  const [one, other] = [new Placeholders(), new Placeholders()]
  const [mark, otherMark] = [one.for(new WrittenJson('1')), other.for(new WrittenJson('1'))]
  expect(one.filledIn(JSON.stringify([otherMark, mark]))).toBe(JSON.stringify([otherMark, 1]))
  const hostile = one.for(new WrittenJson(JSON.stringify(mark)))
  expect(one.filledIn(JSON.stringify([hostile]))).toBe(JSON.stringify([mark]))
})

test.each(WRITTEN)('replays %s for an Idempotency-Key, over REST and RPC', async (kind) => {
  runs = 0
  for (const [path, key] of [
    [`/${kind}/change`, `rest-${kind}`],
    [`/trpc/${kind}.change`, `rpc-${kind}`],
  ] as const) {
    const [first, again] = [await post(path, {}, { 'idempotency-key': key }), await post(path, {}, { 'idempotency-key': key })]
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect([again.text, again.status]).toEqual([first.text, 200])
    expect(first.text).toContain(JSON.stringify(ROWS))
    expect(again.headers.get('x-total-count')).toBe(first.headers.get('x-total-count'))
  }
  expect(runs).toBe(2)
})

test('is stringified as its value', () => {
  expect(JSON.stringify({ value: new WrittenJson(JSON.stringify(VALUE)) })).toBe(JSON.stringify({ value: VALUE }))
  expect(JSON.stringify(new WrittenList(Buffer.from(JSON.stringify(ROWS)), FACTS))).toBe(JSON.stringify({ rows: ROWS, ...FACTS }))
})
