/** The response to bytes that Node cannot parse as HTTP. No route or hook sees them, but the response has the form of every error. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from './error-answer.ts'

const REFUSALS: Record<string, [status: number, code: ErrorBody['code'], message: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'TIMEOUT', 'The request was not received in time'],
  HPE_HEADER_OVERFLOW: [431, 'BAD_REQUEST', 'The path and the headers are too large'],
}

/**
 * Responds to a request that Node's parser refused, and closes the connection.
 * @param headers those of every answer, and the id of the request
 */
export function respondToClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  headers: Record<string, string> & { 'x-request-id': string },
): void {
  // A client that has reset the connection receives nothing.
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [status, code, message] = REFUSALS[error.code ?? ''] ?? [400, 'BAD_REQUEST', 'Malformed HTTP request']
  const body = JSON.stringify({ message, code, request_id: headers['x-request-id'] } satisfies ErrorBody)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroy(error)
}
