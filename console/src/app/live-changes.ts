/** What the page of a table does with what others change. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import type { Changes } from '../grid/model/live.ts'
import { type LiveEvent, useLive } from '../session/live/use-live.ts'

/** Tells the grid of a table which records have changed, and reads the definition and the places again when they have. */
export function useLiveChanges(tableId: number): Changes {
  const queries = useQueryClient()
  const listeners = useRef(new Set<Parameters<Changes['subscribe']>[1]>())
  useLive(
    (event) => {
      if (isOfRecords(event)) for (const listener of listeners.current) listener(recordsOf(event))
      if (isOfDefinition(event)) void readDefinition(queries, tableId, event)
    },
    { tables: [tableId], types: ['record', 'records', 'table', 'view', 'members'] },
  )
  return useMemo(
    () => ({
      subscribe: (_, listener) => {
        listeners.current.add(listener)
        return () => void listeners.current.delete(listener)
      },
    }),
    [],
  )
}

const isOfRecords = ({ type }: LiveEvent) => type.startsWith('record') || type === 'reset'
const isOfDefinition = ({ type }: LiveEvent) => !type.startsWith('record')
const recordsOf = (event: LiveEvent): number[] | null => (event.record_id === undefined ? null : [event.record_id])

/** What is being read already is new enough for a page that has just begun. */
const PATIENT = { cancelRefetch: false }

async function readDefinition(queries: QueryClient, tableId: number, { type }: LiveEvent): Promise<void> {
  const options = type === 'reset' ? PATIENT : {}
  if (!type.startsWith('view.')) {
    // The definition takes the role of the person from the list of spaces.
    await queries.invalidateQueries({ queryKey: ['spaces'] }, options)
    await queries.invalidateQueries({ queryKey: ['tables'] }, options)
  }
  await queries.invalidateQueries({ queryKey: ['grid', tableId] }, options)
}
