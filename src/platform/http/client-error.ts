/** Bytes that are no request of HTTP: no route and no hook sees them, but what they are told has the form of every error. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from './errors.ts'
import { API_VERSION } from './openapi.ts'

const REFUSALS: Record<string, [status: number, code: ErrorBody['code'], message: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'TIMEOUT', 'The request did not come to its end in time'],
  HPE_HEADER_OVERFLOW: [431, 'BAD_REQUEST', 'The path and the headers are too large'],
}

/** Answers what Node's parser gave up on, and closes the connection. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  // Whoever reset the connection hears nothing any more.
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [status, code, message] = REFUSALS[error.code ?? ''] ?? [400, 'BAD_REQUEST', 'Malformed HTTP request']
  const body = JSON.stringify({ message, code, request_id: requestId } satisfies ErrorBody)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `X-API-Version: ${API_VERSION}`,
  ]
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroy(error)
}
