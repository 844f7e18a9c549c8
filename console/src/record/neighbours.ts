/** The records before and after the one that is open, in the order of the view. */
import { useQuery } from '@tanstack/react-query'
import type { GridModel } from '../grid/model/grid-model.ts'
import { rowOfRecord, storedRow } from '../grid/model/grid-model.ts'
import type { RecordSource } from '../grid/pages/record-source.ts'
import { useClient } from '../session/client.ts'

export interface Neighbours {
  previous: number | null
  next: number | null
  /** False if the view does not have the record; undefined as long as that is not known. */
  matches: boolean | undefined
  /** True once the service has said what stands beside the record, or that it cannot say it. */
  isKnown: boolean
}

/** @param grid the grid of the view, if it is shown: it knows at once what stands beside a row */
export function useNeighbours(narrowing: RecordSource['narrowing'] | undefined, recordId: number, grid: GridModel | undefined): Neighbours {
  const client = useClient()
  const { data, isPending } = useQuery({
    queryKey: ['record', narrowing?.table_id, recordId, 'neighbours', narrowing],
    queryFn: ({ signal }) =>
      client.records.neighbours.query({ ...(narrowing ?? { table_id: 0 }), record_id: recordId }, { signal, context: { alone: true } }),
    enabled: narrowing !== undefined,
    retry: false,
  })
  const beside = grid && besideInGrid(grid, recordId)
  return {
    previous: beside?.previous ?? data?.previous ?? null,
    next: beside?.next ?? data?.next ?? null,
    matches: data?.matches,
    isKnown: !isPending || narrowing === undefined,
  }
}

function besideInGrid(grid: GridModel, recordId: number) {
  const index = rowOfRecord(grid, recordId)
  if (index === undefined) return undefined
  const idAt = (row: number) => {
    const id = row < 0 ? undefined : storedRow(grid, row)?.id
    return id !== undefined && id > 0 ? id : undefined
  }
  return { previous: idAt(index - 1), next: idAt(index + 1) }
}
