/** The dialogs in which an admin changes the table that is open. */
import type { Field } from '../cells/kind.ts'
import { FieldDeletion } from './fields/field-deletion.tsx'
import { FieldDialog } from './fields/field-dialog.tsx'
import { TableDeletion } from './tables/table-deletion.tsx'
import { RenamedTableDialog } from './tables/table-dialog.tsx'

/** What is asked about: a table, one of its fields by id, or a new field. */
export type Managed = 'rename' | 'delete' | 'new field' | { edit: string } | { remove: string }

interface Props {
  table: { id: number; name: string; space_id: number; fields: readonly Field[] }
  managed: Managed
  close(): void
  /** Called with the id of a new field. */
  created(id: string): void
}

export function TableManaging({ table, managed, close, created }: Props) {
  if (managed === 'rename') return <RenamedTableDialog table={table} close={close} />
  if (managed === 'delete') return <TableDeletion table={table} close={close} />
  if (managed === 'new field') return <FieldDialog table={table} field={null} close={close} created={created} />
  const id = 'edit' in managed ? managed.edit : managed.remove
  const field = table.fields.find((each) => each.id === id)
  if (!field) return null
  if ('edit' in managed) return <FieldDialog table={table} field={field} close={close} />
  return <FieldDeletion tableId={table.id} field={field} close={close} />
}
