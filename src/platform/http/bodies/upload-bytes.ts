/** Decodes the `data` of an upload, and computes the value by which an Idempotency-Key compares uploads. */
import { createHash } from 'node:crypto'
import { decodeBase64 } from '../../bytes/base64.ts'
import { AppError, badInput } from '../../errors.ts'
import type { ReceivedBytes } from '../../stored-files/received-bytes.ts'

const MB = 1_048_576

/** 413 that names the key of the file and its limit. */
export function fileTooLarge(key: string, maxBytes: number): AppError {
  const message = `must have at most ${maxBytes / MB} MB`
  return new AppError('PAYLOAD_TOO_LARGE', `${key}: ${message}`, { issues: [{ path: [key], message }] })
}

export const notBase64 = () => badInput('data', 'must be base64')

/** Decodes `data`. @throws AppError 400, 413 */
export function bytesOfData(data: string, maxBytes: number): Buffer {
  const bytes = decodeBase64(data, notBase64)
  if (bytes.length > maxBytes) throw fileTooLarge('data', maxBytes)
  return bytes
}

/**
 * The value by which uploads are compared, in whatever form their bytes were sent: the SHA-256 of the bytes, and the other keys.
 * @param input with the bytes in `data`, unless they were received before
 */
export function comparableUpload({ data, ...rest }: Record<string, unknown>, received: ReceivedBytes | undefined): object {
  // Null and an empty type mean the same as no type.
  const keys = Object.entries(rest).filter(([key, value]) => value !== null && value !== undefined && !(key === 'type' && value === ''))
  if (!received && typeof data !== 'string') return { ...rest, data }
  const sha256 =
    received?.sha256 ??
    createHash('sha256')
      .update(decodeBase64(data as string, notBase64))
      .digest()
  return { ...Object.fromEntries(keys), sha256: sha256.toString('hex') }
}
