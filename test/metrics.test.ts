/** What operators see: metrics for Prometheus, on the public port and on one of their own. */
import Fastify from 'fastify'
import pino from 'pino'
import { describe, expect, test, vi } from 'vitest'
import { buildOperatorApp } from '../src/app.ts'
import type { Deps } from '../src/platform/context.ts'
import { protectFromOverload } from '../src/platform/http/load/overload.ts'
import { overloadMetrics, showQueue } from '../src/platform/http/load/overload-metrics.ts'
import { counter, duration, gauge, openMetrics } from '../src/platform/metrics/metrics.ts'
import { readSettings } from '../src/settings.ts'
import { testApp } from './support/app.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const TOKEN = 'a-token-for-tests'
const app = await testApp({ METRICS_TOKEN: TOKEN }, { worker: true })
const closed = await testApp()

const scrape = async () => (await app.as(TOKEN).get('/metrics')).body as string
/** The value of a series, written as in the text; undefined if it does not exist. */
const seriesOf = (text: string, series: string) => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

/** How many statements were slow by their durations. On a busy machine they are not only those that a test makes slow. */
const slowerThanASecond = (text: string) =>
  (seriesOf(text, 'gridpost_db_statement_seconds_count') ?? 0) - (seriesOf(text, 'gridpost_db_statement_seconds_bucket{le="1"}') ?? 0)

describe('/metrics on the public port', () => {
  test('does not exist without METRICS_TOKEN', async () => {
    const answer = await closed.as(TOKEN).get('/metrics')
    const unknown = await closed.as(null).get('/no-such-path')
    expect(answer).toMatchObject({ status: 404, body: { ...unknown.body, request_id: answer.body.request_id } })
  })

  test('is refused without the token', async () => {
    const { keys } = await app.account()
    for (const caller of [null, 'another-token', `${TOKEN}x`, TOKEN.slice(1), keys.account]) {
      const answer = await app.as(caller).get('/metrics')
      expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('shows the text format of Prometheus to a caller who has the token', async () => {
    const answer = await app.as(TOKEN).get('/metrics')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(answer.body).toMatch(/^# TYPE gridpost_http_request_seconds histogram$/m)
    expect(answer.body).toMatch(/^process_cpu_seconds_total /m)
  })
})

describe('the port of operators', () => {
  test('answers health and metrics without a token, and nothing else', async () => {
    const operators = buildOperatorApp(app.deps)
    try {
      expect((await operators.inject('/healthz')).json()).toEqual({ ok: true })
      await expect
        .poll(async () => (await operators.inject('/readyz')).json())
        .toEqual({ ok: true, database: true, migrations: true, queue: true, storage: true })
      expect((await operators.inject('/metrics')).body).toContain('gridpost_db_connections_max 10')
      expect((await operators.inject('/api/tasks/list')).statusCode).toBe(404)
    } finally {
      await operators.close()
    }
  })

  test('must not be the public one', () => {
    expect(() => readSettings({ PORT: '4000', METRICS_PORT: '4000' })).toThrow('METRICS_PORT: must differ from PORT')
    expect(() => readSettings({ METRICS_TOKEN: 'two words' })).toThrow('METRICS_TOKEN: must not contain spaces')
  })
})

describe('what is measured', () => {
  test('requests by the pattern of their route, never by an id', async () => {
    const { owner } = await app.account()
    await app.as(owner).get('/api/task/1987654321/get')
    await app.as(null).get('/no/such/path/1987654321')
    const text = await scrape()
    expect(seriesOf(text, 'gridpost_http_request_seconds_count{method="GET",route="/api/task/:task_id/get",status="404"}')).toBe(1)
    expect(seriesOf(text, 'gridpost_http_request_seconds_count{method="GET",route="none",status="404"}')).toBeGreaterThan(0)
    expect(text).not.toContain('1987654321')
  })

  test('requests that have a slot, wait for one, or are refused', async () => {
    const metrics = openMetrics(overloadMetrics)
    const server = Fastify()
    const answers = Promise.withResolvers<void>()
    server.decorateRequest('context')
    server.addHook('onRequest', async (request) => {
      request.context = { credentials: { kind: 'none' }, ip: '192.0.2.1' } as never
    })
    protectFromOverload(server, { metrics, remembered: undefined, callsIn: () => 1 })
    server.get('/', () => answers.promise)
    const all = Array.from({ length: 1_000 }, () => server.inject('/'))
    const deps = { metrics } as Deps
    const value = async (series: string) => seriesOf(await metrics.text(deps), series) ?? 0
    await expect.poll(() => value('gridpost_http_refusals_total'), { interval: 1 }).toBeGreaterThan(0)
    answers.resolve()
    const refused = (await Promise.all(all)).filter(({ statusCode }) => statusCode !== 200)
    expect(await value('gridpost_http_refusals_total')).toBe(refused.length)
    expect([await value('gridpost_http_requests{state="running"}'), await value('gridpost_http_requests{state="waiting"}')]).toEqual([0, 0])
    await server.close()
  })

  test('the use of the limit on concurrent requests', async () => {
    const metrics = openMetrics(overloadMetrics)
    expect(await metrics.text({ metrics } as Deps)).not.toContain('gridpost_http_requests{')
    showQueue(metrics, { taken: 3, waiting: 4 })
    const text = await metrics.text({ metrics } as Deps)
    expect(seriesOf(text, 'gridpost_http_requests{state="running"}')).toBe(3)
    expect(seriesOf(text, 'gridpost_http_requests{state="waiting"}')).toBe(4)
  })

  test('statements, connections and queries', async () => {
    const before = await scrape()
    const { owner } = await app.account()
    await app.as(owner).get('/api/spaces/list')
    const text = await scrape()
    const statements = 'gridpost_db_statement_seconds_count'
    expect(seriesOf(text, statements)).toBeGreaterThan(seriesOf(before, statements) ?? 0)
    expect(seriesOf(text, 'gridpost_db_slow_statements_total')).toBe(slowerThanASecond(text))
    expect(seriesOf(text, 'gridpost_db_connections{state="busy"}')).toBeGreaterThanOrEqual(0)
    expect(seriesOf(text, 'gridpost_db_connection_waiters')).toBe(0)
    expect(seriesOf(text, 'gridpost_db_queries{state="waiting"}')).toBe(0)
  })

  test('rows of the audit log by action', async () => {
    const { owner } = await app.account()
    const series = 'gridpost_audit_entries_total{action="space.created"}'
    const before = seriesOf(await scrape(), series) ?? 0
    expect((await app.as(owner).post('/api/spaces/create', { name: 'Audited' })).status).toBe(200)
    expect(seriesOf(await scrape(), series)).toBe(before + 1)
  })

  test('a statement that takes longer than a second as slow', async () => {
    const before = slowerThanASecond(await scrape())
    await app.db.read({ text: 'select pg_sleep(1.01)', values: [] })
    const text = await scrape()
    expect(slowerThanASecond(text)).toBeGreaterThan(before)
    expect(seriesOf(text, 'gridpost_db_slow_statements_total')).toBe(slowerThanASecond(text))
  })

  test('jobs, emails and uploads', async () => {
    const smtp = await startSmtp()
    try {
      const account = await app.account()
      const { admin, space, keys } = account
      const table = await makeTable(app, account, { records: [{ name: 'Ann' }] })
      const [recordId] = table.records
      const upload = { name: 'a.txt', type: 'text/plain', data: Buffer.from('12345').toString('base64') }
      expect((await app.as(admin).post(`${table.path}/record/${recordId}/comments/upload`, upload)).status).toBe(200)
      const integration = await app.as(admin).post(`/api/space/${space}/smtp/create`, {
        label: 'Test',
        host: '127.0.0.1',
        port: smtp.port,
        tls: 'none',
        from_domains: ['example.com'],
      })
      const sent = await app.as(keys.account).post('/api/email/send', {
        tableId: table.id,
        recordId,
        smtpIntegrationId: integration.body.id,
        fromIdentity: { email: 'sales@example.com' },
        to: ['ann@example.com'],
        subject: 'Hello',
        body: '<p>Hello</p>',
      })
      expect(sent.body).toMatchObject({ status: 'queued' })
      const isCounted = async () => {
        const counted = await scrape()
        expect(seriesOf(counted, 'gridpost_mails_total{state="sent"}')).toBe(1)
        expect(seriesOf(counted, 'gridpost_mail_recipients_total{state="sent"}')).toBe(1)
        expect(seriesOf(counted, 'gridpost_smtp_seconds_count{outcome="accepted"}')).toBe(1)
      }
      await vi.waitFor(isCounted, { timeout: 60_000 })
    } finally {
      await smtp.close()
    }
    const text = await scrape()
    expect(seriesOf(text, 'gridpost_mails_total{state="queued"}')).toBe(1)
    await vi.waitFor(
      async () => expect(seriesOf(await scrape(), 'gridpost_job_seconds_count{queue="email.send",outcome="completed"}')).toBe(1),
      { timeout: 60_000 },
    )
    expect(seriesOf(text, 'gridpost_uploads_total')).toBe(1)
    expect(seriesOf(text, 'gridpost_uploaded_bytes_total')).toBe(5)
    expect(seriesOf(text, 'gridpost_files{state="used"}')).toBeGreaterThanOrEqual(0)
    expect(seriesOf(text, 'gridpost_event_streams')).toBe(0)
    expect(seriesOf(text, 'gridpost_index_builds_running')).toBe(0)
    expect(seriesOf(text, 'gridpost_index_failures')).toBe(0)
  })

  test('the depth and the age of a queue', async () => {
    // No worker reads this queue: its jobs stay.
    await app.db.write({
      text: `insert into pgboss.job (name, data, start_after) select 'dead-letters', '{}', now() - interval '90 seconds' from generate_series(1, 3)`,
      values: [],
    } as never)
    const text = await scrape()
    expect(seriesOf(text, 'gridpost_jobs{queue="dead-letters",state="created"}')).toBe(3)
    expect(seriesOf(text, 'gridpost_job_oldest_seconds{queue="dead-letters"}')).toBeGreaterThanOrEqual(90)
  })
})

describe('a scrape', () => {
  const deps = { log: pino({ level: 'silent' }) } as unknown as Deps

  test('leaves out a gauge that fails or hangs, and reads a hanging one once', async () => {
    let started = 0
    const hangs = gauge({
      name: 'gridpost_test_hangs',
      help: 'x',
      read: () => {
        started++
        return new Promise(() => {})
      },
    })
    const fails = gauge({ name: 'gridpost_test_fails', help: 'x', read: () => Promise.reject(new Error('database is down')) })
    const works = gauge({ name: 'gridpost_test_works', help: 'x', read: () => [{ value: 7 }] })
    const metrics = openMetrics([hangs, fails, works])
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      for (let scrapes = 0; scrapes < 2; scrapes++) {
        const text = metrics.text(deps)
        await vi.advanceTimersByTimeAsync(3_000)
        expect(await text).toMatch(/^gridpost_test_works 7$/m)
        expect(await text).not.toMatch(/^gridpost_test_(hangs|fails) /m)
      }
    } finally {
      vi.useRealTimers()
    }
    expect(started).toBe(1)
    const last = await openMetrics([fails]).text(deps)
    expect(seriesOf(last, 'gridpost_metric_read_failures_total{metric="gridpost_test_fails"}')).toBe(1)
  })

  test('shares its readings with others at the same time, and keeps an expensive one', async () => {
    const reads = { cheap: 0, kept: 0 }
    const cheap = gauge({ name: 'gridpost_test_cheap', help: 'x', read: async () => [{ value: ++reads.cheap }] })
    const kept = gauge({ name: 'gridpost_test_kept', help: 'x', keepSeconds: 60, read: async () => [{ value: ++reads.kept }] })
    const metrics = openMetrics([cheap, kept])
    await Promise.all([metrics.text(deps), metrics.text(deps), metrics.text(deps)])
    await metrics.text(deps)
    expect(reads).toEqual({ cheap: 2, kept: 1 })
  })

  test('forgets the values that no longer exist', async () => {
    let queues = ['a', 'b']
    const depth = gauge({
      name: 'gridpost_test_depth',
      help: 'x',
      labels: ['queue'],
      read: () => queues.map((queue) => ({ labels: { queue }, value: 1 })),
    })
    const metrics = openMetrics([depth])
    expect(await metrics.text(deps)).toContain('gridpost_test_depth{queue="b"} 1')
    queues = ['a']
    expect(await metrics.text(deps)).not.toContain('queue="b"')
  })

  test('shows counters from the start, and sums what was counted', async () => {
    const eaten = counter({ name: 'gridpost_test_eaten_total', help: 'x' })
    const chewed = duration({ name: 'gridpost_test_chewed_seconds', help: 'x', buckets: [1, 2] })
    const metrics = openMetrics([eaten, chewed])
    expect(seriesOf(await metrics.text(deps), 'gridpost_test_eaten_total')).toBe(0)
    metrics.count(eaten)
    metrics.count(eaten, {}, 4)
    metrics.observe(chewed, 1.5)
    const text = await metrics.text(deps)
    expect(seriesOf(text, 'gridpost_test_eaten_total')).toBe(5)
    expect([
      seriesOf(text, 'gridpost_test_chewed_seconds_bucket{le="1"}'),
      seriesOf(text, 'gridpost_test_chewed_seconds_bucket{le="2"}'),
    ]).toEqual([0, 1])
  })
})
