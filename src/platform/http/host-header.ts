/**
 * Refuses requests with several Host headers, or one that names no host: a proxy in front and this service could understand different ones
 * (RFC 9112, 3.2).
 */
import { isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { errorAnswer } from './answers/error-answer.ts'

/** Adds the hook, which answers before routes and their checks of access. */
export function refuseWrongHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const problem = problemOf(request)
    if (!problem) return done()
    const { status, headers, body } = errorAnswer(new AppError('BAD_REQUEST', problem), request.id)
    // What follows on the connection may have been meant for somebody else.
    reply.code(status).headers(headers).header('connection', 'close').send(body)
  })
}

/** HTTP/1.0 knows no Host. */
function problemOf({ raw: { rawHeaders, httpVersion }, headers: { host } }: FastifyRequest): string | undefined {
  if (host === undefined) return httpVersion === '1.0' ? undefined : 'The header Host is missing'
  // Node keeps the first of several.
  return countOf(rawHeaders) > 1 ? 'There are several headers Host' : isHost(host) ? undefined : 'The header Host names no host'
}

function countOf(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/** A name of labels, which may have underscores, or an address, with or without a port. */
const HOST = /^(?:\[([\da-f:.]+)\]|[\w~-]+(?:\.[\w~-]+)*\.?)(?::(\d{0,5}))?$/i

function isHost(text: string): boolean {
  const match = HOST.exec(text)
  if (!match) return false
  const [, address, port] = match
  return (address === undefined || isIPv6(address)) && Number(port ?? 0) <= 65_535
}
