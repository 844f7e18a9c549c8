/** Cursors: the end of a page as a text that continues the walk. They are signed, and bound to the query that they were issued for. */
import type { SecretKeys } from '../../../settings.ts'
import { AppError, badInput } from '../../errors.ts'
import { isSigned, sign } from '../../secrets/secrets.ts'

/** The last row of a page. */
export interface PageEnd {
  /** The values of the sort keys before the id as texts, null for an empty one; none in the order of ids. */
  keys: readonly (string | null)[]
  id: number
}

const PURPOSE = 'gridpost cursors'
const MAC_BYTES = 16

/** The cursor that continues the query after a page. @param query identifies the query */
export function encodeCursor({ keys, id }: PageEnd, query: string, secretKeys: SecretKeys): string {
  const position = Buffer.from(JSON.stringify([query, id, ...keys]))
  return Buffer.concat([sign(secretKeys, PURPOSE, position).subarray(0, MAC_BYTES), position]).toString('base64url')
}

/**
 * Returns the end of the page before; null for the empty cursor, which starts a walk.
 * @param query identifies the query
 * @throws AppError 400 for a cursor that this service did not issue, and for one of another query
 */
export function decodeCursor(cursor: string, query: string, secretKeys: SecretKeys): PageEnd | null {
  if (cursor === '') return null
  const bytes = Buffer.from(cursor, 'base64url')
  const [mac, position] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)]
  // Node also decodes base64 with stray characters in it: only the spelling that was issued is accepted.
  const isOurs = isSigned(secretKeys, PURPOSE, position, mac, MAC_BYTES) && bytes.toString('base64url') === cursor
  if (!isOurs) throw badInput('cursor', 'must be empty, or what came with the page before')
  const [of, id, ...keys] = JSON.parse(position.toString()) as [string, number, ...(string | null)[]]
  if (of !== query)
    throw new AppError('BAD_REQUEST', 'Cursor belongs to another query', {
      issues: [{ path: ['cursor'], message: 'belongs to another query' }],
    })
  return { keys, id }
}

/** @throws AppError 400 for an offset, even 0, beside a cursor */
export function refuseOffset({ cursor, offset }: { cursor?: string | null | undefined; offset?: number | null | undefined }): void {
  if (cursor != null && offset != null) throw badInput('offset', 'does not go with a cursor')
}
