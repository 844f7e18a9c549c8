/** Where a page ended, as the text that continues it. It is signed, and bound to the query that it was given for. */
import { hash, timingSafeEqual } from 'node:crypto'
import { AppError, badInput } from '../../platform/http/errors.ts'
import { sign } from '../../platform/secrets.ts'
import type { Tree } from '../../views/filters/parse.ts'
import type { Checked } from '../../views/filters/resolve.ts'
import type { Sort } from '../../views/filters/sort.ts'
import type { QueryContext } from './condition-sql.ts'
import type { Position } from './order-sql.ts'
import type { Selection } from './print.ts'

const PURPOSE = 'gridpost cursors'
const MAC_BYTES = 16

/** The cursor that continues the query after the position. */
export function cursorAt({ key, id }: Position, query: string, secretKey: Buffer): string {
  const position = Buffer.from(JSON.stringify([query, id, key]))
  return Buffer.concat([macOf(position, secretKey), position]).toString('base64url')
}

/**
 * Reads a cursor; null for `''`, which starts.
 * @param query from `fingerprint`
 * @throws AppError 400 for what is no cursor of ours, and for one of another query
 */
export function positionOf(cursor: string, query: string, secretKey: Buffer): Position | null {
  if (cursor === '') return null
  const bytes = Buffer.from(cursor, 'base64url')
  const [mac, position] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)]
  // Node reads base64 with stray characters in it, too: only the spelling that we gave counts.
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
 * What makes two queries the same walk: the table, who asks, the conditions and words, and the order. Which fields, how many rows
 * and whether they are counted may differ from page to page. Tokens count as they were written: a walk goes on past midnight.
 */
export function fingerprint({ table, where, words }: Selection, sort: Sort | undefined, { me, moment }: QueryContext): string {
  const order = sort && [sort.field.id, sort.field.type, sort.isDescending, sort.field.options?.map(({ id }) => id)]
  const asked = JSON.stringify([table.id, me.id, moment.timeZone, moment.weekStart, bare(where), words, order])
  return hash('sha256', asked, 'buffer').subarray(0, 12).toString('base64url')
}

function bare(tree: Tree<Checked>): unknown {
  if ('all' in tree) return { all: tree.all.map(bare) }
  if ('any' in tree) return { any: tree.any.map(bare) }
  return [tree.field.id, tree.compare, tree.operand]
}
