/** Cursors: the end of a page as a text that continues the walk. They are signed, and bound to the query that they were issued for. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { QueryContext } from '../../fields/field-type.ts'
import { AppError, badInput } from '../../platform/http/errors.ts'
import { sign } from '../../platform/secrets.ts'
import type { Sort } from '../../views/filters/order.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { ResolvedCondition } from '../../views/filters/resolve-conditions.ts'
import type { PageEnd, Selection } from './selection.ts'

const PURPOSE = 'gridpost cursors'
const MAC_BYTES = 16

/** The cursor that continues the query after a page. @param query from `queryFingerprint` */
export function encodeCursor({ key, id }: PageEnd, query: string, secretKey: Buffer): string {
  const position = Buffer.from(JSON.stringify([query, id, key]))
  return Buffer.concat([macOf(position, secretKey), position]).toString('base64url')
}

/**
 * Returns the end of the page before; null for the empty cursor, which starts a walk.
 * @param query from `queryFingerprint`
 * @throws AppError 400 for a cursor that this service did not issue, and for one of another query
 */
export function decodeCursor(cursor: string, query: string, secretKey: Buffer): PageEnd | null {
  if (cursor === '') return null
  const bytes = Buffer.from(cursor, 'base64url')
  const [mac, position] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)]
  // Node also decodes base64 with stray characters in it: only the spelling that was issued is accepted.
  const isOurs = mac.length === MAC_BYTES && timingSafeEqual(mac, macOf(position, secretKey)) && bytes.toString('base64url') === cursor
  if (!isOurs) throw badInput('cursor', 'must be empty, or what came with the page before')
  const [of, id, key] = JSON.parse(position.toString()) as [string, number, string | null]
  if (of !== query)
    throw new AppError('BAD_REQUEST', 'Cursor belongs to another query', {
      issues: [{ path: ['cursor'], message: 'belongs to another query' }],
    })
  return { key, id }
}

const macOf = (bytes: Buffer, secretKey: Buffer) => sign(secretKey, PURPOSE, bytes).subarray(0, MAC_BYTES)

/**
 * Identifies a walk by its table, caller, conditions, search words and order. The fields, the limit and the count may differ from
 * page to page. Date tokens are taken as they were written, so that a walk continues past midnight.
 */
export function queryFingerprint({ table, where, words }: Selection, sort: Sort | undefined, { me, moment }: QueryContext): string {
  const order = sort && [sort.field.id, sort.field.type, sort.isDescending, sort.field.options?.map(({ id }) => id)]
  const asked = JSON.stringify([table.id, me.id, moment.timeZone, moment.weekStart, bare(where), words, order])
  return hash('sha256', asked, 'buffer').subarray(0, 12).toString('base64url')
}

function bare(tree: Tree<ResolvedCondition>): unknown {
  if ('all' in tree) return { all: tree.all.map(bare) }
  if ('any' in tree) return { any: tree.any.map(bare) }
  return [tree.field.id, tree.compare, tree.operand]
}
