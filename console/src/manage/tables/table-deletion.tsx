/** Deletes a table with all that is in it, once its name was typed. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import type { Table } from '../../session/places.ts'
import { tableTexts } from '../../texts/manage/fields.ts'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { DeletionDialog } from '../deletion-dialog.tsx'

export function TableDeletion({ table, close }: { table: { id: number; name: string; space_id: number }; close(): void }) {
  const client = useClient()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const listed = ['tables', table.space_id]
  return (
    <DeletionDialog
      title={tableTexts.deleteQuestion(table.name)}
      warning={tableTexts.deleteWarning}
      texts={tableTexts}
      isReady={typed.trim() === table.name.trim()}
      close={close}
      remove={async (force) => {
        await client.tables.delete.mutate({ table_id: table.id, ...(force && { force }) })
        // `/` leads to the table that was open last, as long as it is listed.
        await queries.cancelQueries({ queryKey: listed })
        queries.setQueryData<readonly Table[]>(listed, (tables) => tables?.filter(({ id }) => id !== table.id))
        close()
        await navigate({ to: '/' })
        await queries.invalidateQueries({ queryKey: listed })
        toast(tableTexts.deleted(table.name))
      }}
    >
      <TextField label={tableTexts.typeName(table.name)} value={typed} change={setTyped} autoFocus autoComplete="off" />
    </DeletionDialog>
  )
}
