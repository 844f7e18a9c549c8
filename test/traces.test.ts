/** Traces as a collector receives them: from the request through SQL to the job and the SMTP dialogue. */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import pino from 'pino'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Deps } from '../src/platform/context.ts'
import { openTracer } from '../src/platform/tracing/opentelemetry.ts'
import { readTracing } from '../src/platform/tracing/settings.ts'
import { useTracer } from '../src/platform/tracing/tracing.ts'
import { testApp } from './support/app.ts'
import { importsOfService } from './support/imports.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: { key: string; value: Record<string, unknown> }[]
  status: { code?: number }
}

/** A small collector: OTLP over HTTP. */
const received: { path: string | undefined; type: string | undefined; body: Buffer }[] = []
const spans: Span[] = []
const services = new Set<unknown>()
const collector = createServer((request, response) => {
  take(request).then(
    () =>
      response
        .writeHead(200, { 'content-type': request.headers['content-type'] })
        .end(request.headers['content-type'] === 'application/json' ? '{}' : ''),
    (error) => response.writeHead(500).end(String(error)),
  )
})
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`

async function take(request: IncomingMessage): Promise<void> {
  const body = await buffer(request)
  const type = request.headers['content-type']
  received.push({ path: request.url, type, body })
  if (type !== 'application/json') return
  const { resourceSpans } = JSON.parse(body.toString()) as {
    resourceSpans: { resource: { attributes: Span['attributes'] }; scopeSpans: { spans: Span[] }[] }[]
  }
  for (const { resource, scopeSpans } of resourceSpans) {
    services.add(resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue)
    for (const scope of scopeSpans) spans.push(...scope.spans)
  }
}

const log = pino({ level: 'silent' }) as unknown as Deps['log']
const environment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_SERVICE_NAME: 'gridpost-under-test',
  OTEL_BSP_SCHEDULE_DELAY: '20',
}
for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)

/** Opens a tracer as the service does with these variables. */
function tracerOf(variables: Record<string, string>) {
  const settings = readTracing(variables)
  if (!settings) throw new Error('The variables ask for no traces')
  return openTracer(settings, log)
}

const tracer = tracerOf(environment)
useTracer(tracer)
const app = await testApp({}, { worker: true })
const smtp = await startSmtp()
afterAll(async () => {
  useTracer(undefined)
  await tracer.close()
  await smtp.close()
  collector.close()
})

const attribute = (span: Span | undefined, name: string) => Object.values(span?.attributes.find(({ key }) => key === name)?.value ?? {})[0]
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const inTrace = (traceId = TRACE) => spans.filter((span) => span.traceId === traceId)
const childrenOf = (span: Span | undefined) => spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId)
const named = (name: string, among = inTrace()) => among.find((span) => span.name === name)

beforeEach(() => {
  spans.length = 0
})

test('a trace leads from the request of a caller through SQL to the job and the SMTP dialogue', async () => {
  const account = await app.account()
  const table = await makeTable(app, account, { records: [{ name: 'Secret Name' }] })
  const integration = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
    label: 'Test',
    host: '127.0.0.1',
    port: smtp.port,
    tls: 'none',
    from_domains: ['example.com'],
  })
  const sent = await app.as(account.keys.account).post(
    '/api/email/send',
    {
      tableId: table.id,
      recordId: table.records[0],
      smtpIntegrationId: integration.body.id,
      fromIdentity: { email: 'private@example.com' },
      to: ['ann.private@example.com'],
      subject: 'Confidential subject',
      body: '<p>Confidential body</p>',
    },
    { traceparent: `00-${TRACE}-${CALLER}-01` },
  )
  expect(sent.body).toMatchObject({ status: 'queued' })
  // Spans are exported in batches, which may arrive in another order.
  const whole = ['POST /api/email/send', 'send email.send', 'process email.send', 'queue email', 'deliver email']
  await expect.poll(() => whole.map((name) => named(name))).not.toContain(undefined)

  const request = named('POST /api/email/send')
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, kind: 2 })
  expect(attribute(request, 'http.response.status_code')).toBe(sent.status)
  expect(attribute(request, 'gridpost.request_id')).toBe(sent.headers.get('x-request-id'))
  const statements = () => childrenOf(request).filter(({ attributes }) => attributes.some(({ key }) => key === 'db.system.name'))
  await expect.poll(() => statements().map(({ name }) => name)).toEqual(expect.arrayContaining(['BEGIN', 'COMMIT']))

  const enqueued = named('send email.send')
  expect(enqueued).toMatchObject({ parentSpanId: request?.spanId, kind: 4 })
  const job = named('process email.send')
  expect(job).toMatchObject({ parentSpanId: enqueued?.spanId, kind: 5 })
  const queued = named('queue email')
  expect(queued).toMatchObject({ parentSpanId: request?.spanId, kind: 4 })
  const attempt = named('deliver email')
  expect(attempt).toMatchObject({ parentSpanId: queued?.spanId, kind: 5 })
  await expect.poll(() => named('SMTP deliver', childrenOf(attempt))).toBeDefined()
  const dialogue = named('SMTP deliver', childrenOf(attempt))
  expect(dialogue).toMatchObject({ kind: 3 })
  expect(attribute(dialogue, 'gridpost.smtp.accepted')).toBe(1)
  expect(attribute(dialogue, 'server.port')).toBe(smtp.port)
  // The outcome is recorded together with those of other mails, so its statements may follow the end of the attempt.
  await expect.poll(() => childrenOf(attempt).some(({ name }) => name.startsWith('SELECT '))).toBe(true)

  expect([...services]).toEqual(['gridpost-under-test'])
  expect(received.every(({ path }) => path === '/v1/traces')).toBe(true)
  const everything = JSON.stringify(spans)
  for (const secret of ['private', 'Confidential', 'Secret Name', account.keys.account, account.owner.email])
    expect(everything).not.toContain(secret)
  expect(new Set(spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)))).toEqual(
    new Set([
      'http.request.method',
      'http.route',
      'http.response.status_code',
      'gridpost.request_id',
      'db.system.name',
      'db.operation.name',
      'db.collection.name',
      'messaging.system',
      'messaging.destination.name',
      'server.address',
      'server.port',
      'gridpost.smtp.accepted',
      'gridpost.smtp.refused',
    ]),
  )
})

test('each request has its own trace, and its statements stay in it while others run', async () => {
  const { keys } = await app.account()
  spans.length = 0
  const ids = Array.from({ length: 40 }, (_, index) => (index + 1).toString(16).padStart(32, 'a'))
  const create = (id: string) => app.as(keys.account).post('/api/spaces/create', { name: id }, { traceparent: `00-${id}-${CALLER}-01` })
  // No more at once than a process serves of one account.
  for (let from = 0; from < ids.length; from += 8) await Promise.all(ids.slice(from, from + 8).map(create))
  const counts = (name: string) => ids.map((id) => inTrace(id).filter((span) => span.name === name).length)
  const once = ids.map(() => 1)
  // Spans are exported in batches, which may arrive in another order.
  const isWhole = () => expect([counts('POST /api/spaces/create'), counts('COMMIT')]).toEqual([once, once])
  await vi.waitFor(isWhole, { timeout: 60_000 })
})

test('a malformed traceparent counts as absent, and a fault marks the span', async () => {
  await app.as(null).get('/api/spaces/list', { traceparent: 'nonsense' })
  await expect.poll(() => spans.find(({ name }) => name === 'GET /api/spaces/list')).toBeDefined()
  const request = spans.find(({ name }) => name === 'GET /api/spaces/list')
  expect(request?.traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(request?.parentSpanId ?? '').toBe('')
  expect([attribute(request, 'http.response.status_code'), request?.status.code ?? 0]).toEqual([401, 0])
  await tracer.open('broken', { kind: 'server' })?.run(async () => {
    const statement = app.db.read({ text: 'select * from no_such_table where name = $1', values: ['private'] })
    await expect(statement).rejects.toThrow()
  })
  await expect.poll(() => spans.find(({ name }) => name === 'SELECT no_such_table')).toBeDefined()
  const failed = spans.find(({ name }) => name === 'SELECT no_such_table')
  expect([failed?.status.code, attribute(failed, 'error.type')]).toEqual([2, '42P01'])
})

test('a caller who does not sample is followed', async () => {
  const { keys } = await app.account()
  const unsampled = 'b'.repeat(32)
  await app.as(keys.account).get('/api/spaces/list', { traceparent: `00-${unsampled}-${CALLER}-00` })
  await app.as(keys.account).get('/api/spaces/list', { traceparent: `00-${TRACE}-${CALLER}-01` })
  await expect.poll(() => named('GET /api/spaces/list')).toBeDefined()
  expect(inTrace(unsampled)).toEqual([])
})

test('protobuf is the default, and a collector that is gone holds up nobody', async () => {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: _, ...byDefault } = environment
  const second = tracerOf(byDefault)
  second.open('over protobuf', { kind: 'server' })?.end()
  await second.close()
  const last = received.findLast(({ type }) => type === 'application/x-protobuf')
  expect(last?.body.includes('over protobuf')).toBe(true)
  expect(last?.body.includes('gridpost-under-test')).toBe(true)
})

describe('a process of the service', () => {
  const importedWith = async (variables: Record<string, string>) =>
    (await importsOfService(variables)).filter((name) => name.startsWith('@opentelemetry/'))

  test('imports nothing of OpenTelemetry unless the OTEL_* variables ask for traces', async () => {
    expect(await importedWith({ OTEL_SERVICE_NAME: 'not enough' })).toEqual([])
    expect(await importedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })).toContain('@opentelemetry/sdk-trace')
  })
})

describe('the OTEL_* variables', () => {
  test.each([
    ['nothing', {}],
    ['OTEL_SDK_DISABLED', { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'true' }],
    ['OTEL_TRACES_EXPORTER=none', { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_EXPORTER: 'none' }],
    ['only a name', { OTEL_SERVICE_NAME: 'x' }],
  ])('%s: no traces', (_, variables) => expect(readTracing(variables)).toBeUndefined())

  test('ask for traces by an endpoint or an exporter', () => {
    expect(readTracing({ OTEL_TRACES_EXPORTER: 'otlp' })).toEqual({
      protocol: 'http/protobuf',
      sampler: 'parentbased_always_on',
      samplerArgument: 1,
      batch: {},
    })
    const more = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25', OTEL_BSP_MAX_QUEUE_SIZE: '100' }
    expect(readTracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint, ...more })).toMatchObject({
      sampler: 'traceidratio',
      samplerArgument: 0.25,
      batch: { maxQueueSize: 100 },
    })
  })

  test.each([
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'must be otlp or none'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be http/protobuf or http/json'],
    ['OTEL_TRACES_SAMPLER', 'sometimes', 'must be one of always_on, '],
    ['OTEL_TRACES_SAMPLER_ARG', '2', 'must be a number from 0 to 1'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon', 'must be a number that is not negative'],
  ])('%s=%s is refused', (name, value, reason) => {
    expect(() => readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, [name]: value })).toThrow(`${name}: ${reason}`)
  })
})
