/** Decides which request bodies are accepted, and decodes them. */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../errors.ts'
import { refuseCostlyJson } from './json-limits.ts'

const NOTHING = '{}'

/**
 * The text of a body of JSON in UTF-8. An empty body counts as `{}`, and `{}` is accepted with any content type, because
 * `curl -d '{}'` sends it as a form.
 * @param mostKeys how many different keys the body may have, if not as many as that of one operation
 * @throws AppError 400 for bytes that are not UTF-8 or would take long to parse, 415
 */
export function jsonText(headers: IncomingHttpHeaders, body: Buffer, mostKeys?: number): string {
  if (body.length === 0 || (body.length === NOTHING.length && body.toString() === NOTHING)) return NOTHING
  if (!isJson(headers)) throw unsupported('application/json in UTF-8', headers)
  refuseCostlyJson(body, mostKeys)
  return utf8(body)
}

/** Whether the headers say that the body is JSON in UTF-8, not compressed. */
export function isJson({ 'content-type': contentType = '', 'content-encoding': encoding }: IncomingHttpHeaders): boolean {
  const type = contentType.toLowerCase()
  const charset = /charset="?([\w-]+)/.exec(type)?.[1] ?? 'utf-8'
  return /^application\/([\w.-]+\+)?json\s*(;|$)/.test(type) && /^utf-?8$/.test(charset) && (!encoding || encoding === 'identity')
}

function utf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid UTF-8', { cause: error })
  }
}

/** 415 that says what is accepted and what was sent. @param accepted such as `application/json in UTF-8` */
export function unsupported(accepted: string, { 'content-type': type, 'content-encoding': encoding }: IncomingHttpHeaders): AppError {
  const sent = type === undefined ? 'a body without a Content-Type' : plain(type)
  const encoded = encoding === undefined || encoding === 'identity' ? '' : ` with the Content-Encoding ${plain(encoding)}`
  return new AppError('UNSUPPORTED_MEDIA_TYPE', `The body must be ${accepted}; ${sent}${encoded} was sent`)
}

/** A header in a message: some clients send bytes that are no text, or a whole file. */
const plain = (value: string) => value.replaceAll(/[^\x20-\x7e]+/g, '?').slice(0, 100)

/** The value of a body. @throws AppError 400, 415 */
export const jsonValue = (headers: IncomingHttpHeaders, body: Buffer): unknown => parsed(jsonText(headers, body))

/** The value of JSON in UTF-8. @throws AppError 400 */
export function parseJson(body: Buffer): unknown {
  refuseCostlyJson(body)
  return parsed(utf8(body))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON', { cause: error })
  }
}
