/** Where a person may go: their spaces with the tables. */
import { queryOptions, useQueries, useQuery } from '@tanstack/react-query'
import { type Client, type Outputs, useClient } from './client.ts'

export type Space = Outputs['spaces']['list']['rows'][number]
export type Table = Outputs['tables']['list']['rows'][number]
export interface SpaceWithTables extends Space {
  tables: readonly Table[]
}

export const spacesQuery = (client: Client) =>
  queryOptions({ queryKey: ['spaces'], queryFn: async () => (await client.spaces.list.query()).rows, staleTime: 30_000 })

const tablesQuery = (client: Client, spaceId: number) =>
  queryOptions({
    queryKey: ['tables', spaceId],
    queryFn: async () => (await client.tables.list.query({ space_id: spaceId })).rows,
    staleTime: 30_000,
  })

/** The spaces with their tables, once all of them are there. */
export function usePlaces() {
  const client = useClient()
  const spaces = useQuery(spacesQuery(client))
  return useQueries({
    queries: (spaces.data ?? []).map(({ id }) => tablesQuery(client, id)),
    combine: (lists) => {
      const failed = spaces.error ? spaces : lists.find(({ error }) => error)
      const isPending = spaces.isPending || lists.some((list) => list.isPending)
      const places = (spaces.data ?? []).map((space, at): SpaceWithTables => ({ ...space, tables: lists[at]?.data ?? [] }))
      return { places, isPending: isPending && !failed, error: failed?.error ?? null, refetch: () => void failed?.refetch() }
    },
  })
}
