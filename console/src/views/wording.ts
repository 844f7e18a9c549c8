/** What conditions are said with: the fields of other tables, the names of people and the titles of records that they name. */
import { useQueries, useQuery } from '@tanstack/react-query'
import { searchPeople } from '../cells/find-people.ts'
import { recordsWithIds } from '../cells/find-records.ts'
import type { Field, Place } from '../cells/kind.ts'
import type { Table, TableData } from '../grid/table-data.ts'
import { type Client, useClient } from '../session/client.ts'
import { leavesOf, type Wording } from './condition-words.ts'

const KEPT_MS = 60_000
/** Names are said where they are known; without an answer the ids are shown. */
const NAMES = { staleTime: KEPT_MS, retry: false, refetchOnWindowFocus: false }

const linkedTableQuery = (client: Client, tableId: number) => ({
  queryKey: ['views', 'definition', tableId],
  queryFn: () => client.tables.get.query({ table_id: tableId }),
  ...NAMES,
})

/** The fields of other tables that lookups lead to, such as `company.city`, with the names of both. */
function linkedFieldsOf(lookup: Field, { fields }: Pick<Table, 'fields'>): Field[] {
  const linked = lookup.type === 'multi_lookup' ? 'many' : 'one'
  return fields.map((field) => ({ ...field, id: `${lookup.id}.${field.id}`, name: `${lookup.name}: ${field.name}`, linked }))
}

const isLookup = ({ type, table }: Field) => (type === 'lookup' || type === 'multi_lookup') && table !== undefined

/** The fields of the tables that these lookups lead to. */
export function useLinkedFields(lookups: readonly Field[]): Field[] {
  const client = useClient()
  const own = lookups.filter(isLookup)
  return useQueries({
    queries: own.map(({ table = 0 }) => linkedTableQuery(client, table)),
    combine: (answers) => own.flatMap((lookup, at) => (answers[at]?.data ? linkedFieldsOf(lookup, answers[at].data) : [])),
  })
}

type Known = Pick<TableData, 'table' | 'linked' | 'me'>

/** @param trees conditions and orders, of any form, whose names are needed */
export function useWording({ table, linked, me }: Known, place: Place, trees: unknown, orders: readonly string[] = []): Wording {
  const leaves = leavesOf(trees)
  const named = [...new Set([...leaves.map(({ column }) => column), ...orders])].filter((name) => name.includes('.') && !linked.has(name))
  const through = table.fields.filter(({ id }) => named.some((name) => name.startsWith(`${id}.`)))
  const found = useLinkedFields(through)
  const fieldOf = (name: string) =>
    table.fields.find(({ id }) => id === name) ?? linked.get(name) ?? found.find(({ id }) => named.includes(name) && id === name)
  const values = leaves.flatMap(({ column, value }) => {
    const field = fieldOf(column)
    return field ? (Array.isArray(value) ? value : [value]).map((one: unknown) => ({ field, value: one })) : []
  })
  return { fieldOf, place, me, personName: usePeople(table.space_id, values, me), recordTitle: useTitles(values) }
}

interface Named {
  field: Field
  value: unknown
}

/** Members of a space that are listed for their names; the rest keep their ids. */
const MOST_PEOPLE = 1_000

function usePeople(spaceId: number, values: readonly Named[], me: { id: number }) {
  const client = useClient()
  const isNeeded = values.some(
    ({ field: { type }, value }) => type.endsWith('user') && value !== me.id && (typeof value === 'number' || String(value).includes('@')),
  )
  const { data } = useQuery({
    queryKey: ['views', 'people', spaceId],
    queryFn: ({ signal }) => searchPeople({ client, spaceId }, '', MOST_PEOPLE, signal),
    enabled: isNeeded,
    ...NAMES,
  })
  return (wanted: number | string) => data?.find(({ id, email }) => id === wanted || email === wanted)?.name
}

function useTitles(values: readonly Named[]) {
  const client = useClient()
  const wanted = new Map<number, number[]>()
  for (const { field, value } of values) {
    if (!isLookup(field) || field.table === undefined || typeof value !== 'number') continue
    wanted.set(field.table, [...new Set([...(wanted.get(field.table) ?? []), value])])
  }
  const tables = [...wanted]
  const found = useQueries({
    queries: tables.map(([tableId, ids]) => ({
      queryKey: ['views', 'titles', tableId, ids],
      queryFn: () => recordsWithIds(ids, tableId, client),
      ...NAMES,
    })),
    combine: (answers) => new Map(tables.map(([tableId], at) => [tableId, answers[at]?.data])),
  })
  return (tableId: number, wantedId: number) => found.get(tableId)?.find(({ id }) => id === wantedId)?.title ?? undefined
}
