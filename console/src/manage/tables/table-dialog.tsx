/** A new table of a space, or another name for one. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { tableTexts } from '../../texts/manage/fields.ts'
import { importTexts } from '../../texts/manage/import.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { Icon } from '../../ui/icons/icon.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { ImportDialog } from '../import/import-dialog.tsx'
import '../manage.css'

/** What a table begins with, so that a first record can be written at once. */
const FIRST_FIELDS = [
  { name: tableTexts.firstField, type: 'text' as const },
  { name: tableTexts.notesField, type: 'long_text' as const },
]

export function NewTableDialog({ space, close }: { space: { id: number; name: string }; close(): void }) {
  const [isImport, setImport] = useState(false)
  if (isImport) return <ImportDialog space={space} close={close} />
  return <EmptyTableDialog space={space} close={close} importFile={() => setImport(true)} />
}

interface EmptyTableProps {
  space: { id: number; name: string }
  close(): void
  importFile(): void
}

function EmptyTableDialog({ space, close, importFile }: EmptyTableProps) {
  const client = useClient()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return (
    <NameDialog
      title={tableTexts.newTableIn(space.name)}
      save={tableTexts.create}
      close={close}
      submit={async (name) => {
        const { id } = await client.tables.create.mutate({ space_id: space.id, name, fields: FIRST_FIELDS })
        await queries.invalidateQueries({ queryKey: ['tables', space.id] })
        await navigate({ to: '/table/$tableId', params: { tableId: String(id) }, search: {} })
      }}
      besides={
        <button type="button" className="button quiet" onClick={importFile}>
          <Icon name="upload" /> {importTexts.open}
        </button>
      }
    />
  )
}

export function RenamedTableDialog({ table, close }: { table: { id: number; name: string; space_id: number }; close(): void }) {
  const client = useClient()
  const queries = useQueryClient()
  return (
    <NameDialog
      title={tableTexts.rename}
      was={table.name}
      save={tableTexts.save}
      close={close}
      submit={async (name) => {
        await client.tables.update.mutate({ table_id: table.id, name })
        void queries.invalidateQueries({ queryKey: ['tables', table.space_id] })
        await queries.invalidateQueries({ queryKey: ['grid', table.id] })
      }}
    />
  )
}

interface NameDialogProps {
  title: string
  was?: string
  save: string
  close(): void
  submit(name: string): Promise<void>
  /** Another way to what the dialog is for. */
  besides?: ReactNode
}

function NameDialog({ title, was = '', save, close, submit, besides }: NameDialogProps) {
  const [name, setName] = useState(was)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  async function run() {
    if (isBusy) return
    if (!name.trim()) return setProblem(tableTexts.nameMissing)
    setBusy(true)
    try {
      await submit(name.trim())
      close()
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <DialogBox title={title} close={close}>
      <form
        className="manage-form"
        noValidate
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          void run()
        }}
      >
        <TextField label={tableTexts.name} value={name} change={setName} problem={problem} autoFocus dir="auto" />
        <div className="manage-actions">
          {besides}
          <button type="button" className="button" onClick={close}>
            {tableTexts.cancel}
          </button>
          <button type="submit" className="button primary" disabled={isBusy}>
            {save}
          </button>
        </div>
      </form>
    </DialogBox>
  )
}
