import { Writable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import pino from 'pino'
import { expect, test } from 'vitest'
import { logOnDemand } from '../../src/platform/http/request-log.ts'

/** A log of an application, and the lines that were written. */
function openLog() {
  const lines: object[] = []
  const out = new Writable({
    write: (chunk, _, done) => {
      const { time: _time, pid: _pid, hostname: _hostname, ...line } = JSON.parse(String(chunk))
      lines.push(line)
      done()
    },
  })
  const log = pino({ level: 'info' }, out) as unknown as FastifyBaseLogger
  let made = 0
  const { child } = log
  log.child = function (this: FastifyBaseLogger, ...args: Parameters<typeof child>) {
    made++
    return child.apply(this, args)
  } as typeof child
  logOnDemand(log)
  return { log, lines, made: () => made }
}

test('the lines of a request have what binds them to it, and so have those of its children', () => {
  const { log, lines } = openLog()
  const request = log.child({ request_id: 'req-1' })
  request.info({ table: 7 }, 'read')
  request.child({ part: 'page' }).warn('slow')
  request.debug('not shown')
  log.child({ request_id: 'req-2' }).error('failed')
  log.info('of no request')
  expect(lines).toEqual([
    { level: 30, request_id: 'req-1', table: 7, msg: 'read' },
    { level: 40, request_id: 'req-1', part: 'page', msg: 'slow' },
    { level: 50, request_id: 'req-2', msg: 'failed' },
    { level: 30, msg: 'of no request' },
  ])
})

test('a request that logs nothing makes no log, and another makes one', () => {
  const { log, made } = openLog()
  const request = log.child({ request_id: 'req-1' })
  expect(made()).toBe(0)
  request.info('first')
  request.info('second')
  expect(made()).toBe(1)
  expect(request.level).toBe('info')
})
