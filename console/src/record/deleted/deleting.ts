/** A record is deleted, and brought back. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { editsOfTable } from '../../grid/edits/table-edits.ts'
import { type Client, useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import { recordTexts } from '../../texts/record/record.ts'
import { toast } from '../../ui/toasts/toasts.ts'

interface Named {
  tableId: number
  recordId: number
  title: string
}

/** @returns true if it was brought back */
export async function bringBack(client: Client, queries: QueryClient, { tableId, recordId, title }: Named): Promise<boolean> {
  try {
    const { change_id } = await client.records.restore.mutate({ table_id: tableId, record_id: recordId })
    if (change_id !== null) editsOfTable(client, tableId).undo.push({ label: recordTexts.restoring, changeIds: [change_id] })
    await queries.invalidateQueries({ queryKey: ['record', tableId, recordId] })
    toast(recordTexts.restored(title))
    return true
  } catch (error) {
    toast(messageOf(error))
    return false
  }
}

/** @param done called once the record is deleted @param back called once it was brought back from the message */
export function useDelete(named: Named, done: () => void, back: () => void): () => Promise<void> {
  const client = useClient()
  const queries = useQueryClient()
  const { tableId, recordId, title } = named
  return async () => {
    try {
      const { change_id } = await client.records.delete.mutate({ table_id: tableId, record_id: recordId })
      if (change_id !== null) editsOfTable(client, tableId).undo.push({ label: gridTexts.deletion, changeIds: [change_id] })
    } catch (error) {
      toast(messageOf(error))
      return
    }
    done()
    const undo = async () => (await bringBack(client, queries, named)) && back()
    toast(recordTexts.deleted(title), { action: { label: recordTexts.undo, run: () => void undo() } })
  }
}
