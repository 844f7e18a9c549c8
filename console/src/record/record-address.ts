/** The addresses of records: linked ones that were opened one after the other beside a grid, and the page of a record. */
import type { Conditions } from '../grid/pages/record-source.ts'
import { composeSearch, conditionsOf, type TableSearch, tableSearch } from '../grid/table-search.ts'
import type { LinkedRecord } from './fields/links.tsx'

/** What the address of a record's page says: the view that one has come from, and what is open. */
export interface RecordSearch extends Pick<TableSearch, 'tried' | 'compose' | 'entry'> {
  view?: number | undefined
}

export function recordSearch(raw: Record<string, unknown>): RecordSearch {
  const { tried } = tableSearch(raw)
  const view = Number(raw.view ?? -1)
  return { view: Number.isSafeInteger(view) && view >= 0 ? view : undefined, tried, ...composeSearch(raw) }
}

export const triedIn = ({ tried }: RecordSearch): Conditions => conditionsOf(tried === undefined ? {} : { tried })

/** The linked records of an address, the last of which is shown. */
export function linkedIn({ linked }: TableSearch): LinkedRecord[] {
  return (linked ?? '').split(',').flatMap((part) => {
    const [tableId, recordId] = part.split('-').map(Number)
    return tableId && recordId ? [{ tableId, recordId }] : []
  })
}

/** More are not kept: the first ones are left out. */
const MOST_LINKED = 12

/** @returns undefined for no linked record */
export const linkedText = (chain: readonly LinkedRecord[]): string | undefined =>
  chain
    .slice(-MOST_LINKED)
    .map(({ tableId, recordId }) => `${tableId}-${recordId}`)
    .join(',') || undefined

export const recordAddress = ({ tableId, recordId }: LinkedRecord): string => `/table/${tableId}/record/${recordId}`
