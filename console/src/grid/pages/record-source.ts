/** The records of a view, asked from the service. Each request is one of its own, so that it can be aborted and waits for no other. */
import type { Client } from '../../cells/kind.ts'
import { PAGE, type PageAnswer, type PagePlace } from './pages.ts'
import type { Row } from './row.ts'

type QueryInput = Parameters<Client['records']['query']['query']>[0]
/** Conditions and an order that are tried beside those of the view. */
export type Conditions = Pick<QueryInput, 'filters' | 'filter' | 'where' | 'search' | 'order'> & {
  /** They are tried in place of the conditions and the order of the view. */
  replaces?: true
}

export interface SourceOptions {
  client: Client
  tableId: number
  viewId: number
  conditions: Conditions
  /** The ids of the fields that rows have. */
  fields: readonly string[]
}

export interface RecordSource {
  /** The conditions, for other operations that take those of a query. */
  readonly narrowing: QueryInput
  /** The ids of the fields that rows have. */
  readonly fields: readonly string[]
  /** The same records with more fields. */
  alsoReading(fields: readonly string[]): RecordSource
  page(place: PagePlace, signal: AbortSignal): Promise<PageAnswer>
  count(): Promise<number>
  /** The records with these ids. @param inView true: only those that the view shows */
  byIds(ids: readonly number[], inView: boolean): Promise<Row[]>
  /** A block of rows for the clipboard. */
  block(offset: number, limit: number): Promise<Row[]>
  sums(fields: readonly string[]): Promise<(string | number | null)[]>
  /** The place of the nearest record after (or before) this one whose cell is filled or empty; null if there is none. */
  nextPlace(from: number, field: string, looksFor: 'filled' | 'empty', isBackwards: boolean): Promise<number | null>
}

const ALONE = { alone: true }
/** The most ids that one condition may list. */
const MOST_IDS = 200

export function createSource(options: SourceOptions): RecordSource {
  const { client, tableId, viewId: shownId, fields } = options
  const { replaces, ...conditions } = options.conditions
  const viewId = replaces ? 0 : shownId
  const tried = Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined))
  const narrowing: QueryInput = {
    table_id: tableId,
    ...(viewId > 0 && { view_id: viewId, ...(Object.keys(tried).length && { append_filters: true }) }),
    ...tried,
  }
  const withCondition = (condition: object): QueryInput => {
    const filter = conditions.filter ? { all: [conditions.filter, condition] } : condition
    return { ...narrowing, filter: filter as QueryInput['filter'], ...(viewId > 0 && { append_filters: true }) }
  }
  const rows: Pick<QueryInput, 'fields' | 'include'> = { fields: [...fields], include: ['version'] }
  const conditionsOnly = ({ order: _, ...input }: QueryInput) => input

  return {
    narrowing,
    fields,
    alsoReading: (more) => createSource({ ...options, fields: [...new Set([...fields, ...more])] }),
    async page(place, signal) {
      const answer = await client.records.query.query({ ...narrowing, ...rows, ...place, limit: PAGE }, { signal, context: ALONE })
      return { rows: answer.rows as Row[], next_cursor: answer.next_cursor }
    },
    async count() {
      return (await client.records.count.query(conditionsOnly(narrowing), { context: ALONE })).count
    },
    async byIds(ids, inView) {
      const found: Row[] = []
      for (let from = 0; from < ids.length; from += MOST_IDS) {
        const condition = { column: 'id', compare: '=', value: ids.slice(from, from + MOST_IDS) }
        const input = inView ? withCondition(condition) : { table_id: tableId, filter: condition }
        const answer = await client.records.query.query({ ...input, ...rows, limit: MOST_IDS }, { context: ALONE })
        found.push(...(answer.rows as Row[]))
      }
      return found
    },
    async block(offset, limit) {
      const answer = await client.records.query.query({ ...narrowing, ...rows, offset, limit }, { context: ALONE })
      return answer.rows as Row[]
    },
    async sums(summed) {
      const measures = summed.map((field) => ({ fn: 'sum' as const, field }))
      const answer = await client.records.aggregate.query({ ...conditionsOnly(narrowing), measures }, { context: ALONE })
      return (answer.rows[0]?.values ?? []) as (string | number | null)[]
    },
    async nextPlace(from, field, looksFor, isBackwards) {
      const condition = { column: field, compare: looksFor === 'filled' ? 'is_not_empty' : 'is_empty' }
      const near = await client.records.neighbours.query({ ...withCondition(condition), record_id: from }, { context: ALONE })
      const id = isBackwards ? near.previous : near.next
      if (id === null) return null
      const there = await client.records.neighbours.query({ ...narrowing, record_id: id, position: true }, { context: ALONE })
      return there.position ?? null
    },
  }
}
