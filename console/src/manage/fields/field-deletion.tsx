/** Deletes a field with all its values, after asking. */
import { useQueryClient } from '@tanstack/react-query'
import type { Field } from '../../cells/kind.ts'
import { useClient } from '../../session/client.ts'
import { fieldTexts } from '../../texts/manage/fields.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { DeletionDialog } from '../deletion-dialog.tsx'

export function FieldDeletion({ tableId, field, close }: { tableId: number; field: Field; close(): void }) {
  const client = useClient()
  const queries = useQueryClient()
  return (
    <DeletionDialog
      title={fieldTexts.deleteQuestion(field.name)}
      warning={fieldTexts.deleteWarning}
      texts={fieldTexts}
      close={close}
      remove={async (force) => {
        const { deleted_views } = await client.fields.delete.mutate({ table_id: tableId, field_id: field.id, ...(force && { force }) })
        close()
        await queries.invalidateQueries({ queryKey: ['grid', tableId] })
        const views = deleted_views.map(({ name }) => name)
        toast(fieldTexts.deleted(field.name, views))
      }}
    />
  )
}
