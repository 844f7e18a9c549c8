/** The name of a space, and its end. Both are the owner's. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { useForm } from '../../session/form.ts'
import { type Space, spacesQuery } from '../../session/places.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { DeletionDialog } from '../deletion-dialog.tsx'
import { FormEnd } from '../form-end.tsx'

export function GeneralSection({ space }: { space: Space }) {
  const client = useClient()
  const queries = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const form = useForm({ name: space.name }, async ({ name }) => {
    await client.spaces.update.mutate({ space_id: space.id, name })
    await queries.invalidateQueries({ queryKey: spacesQuery(client).queryKey })
    toast(spaceTexts.saved)
  })
  return (
    <>
      <form className="managing-form" onSubmit={form.submit} noValidate>
        <TextField {...form.text('name')} label={spaceTexts.name} autoComplete="off" />
        <FormEnd form={form} action={spaceTexts.save} />
      </form>
      <section className="managing-part">
        <h2>{spaceTexts.deletion}</h2>
        <p className="hint">{spaceTexts.deletionWhy}</p>
        <p>
          <button type="button" className="button" onClick={() => setDeleting(true)}>
            {spaceTexts.deleteSpace}
          </button>
        </p>
      </section>
      {isDeleting && <Deletion space={space} close={() => setDeleting(false)} />}
    </>
  )
}

function Deletion({ space: { id, name }, close }: { space: Space; close: () => void }) {
  const client = useClient()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  return (
    <DeletionDialog
      title={spaceTexts.deleteAsk(name)}
      warning={spaceTexts.deletionWhy}
      isReady={typed.trim() === name}
      texts={{ deletion: spaceTexts.deleteSpace, deleteAnyway: spaceTexts.deleteSpace }}
      remove={async () => {
        await client.spaces.delete.mutate({ space_id: id })
        toast(spaceTexts.spaceDeleted(name))
        await navigate({ to: '/' })
        await queries.invalidateQueries({ queryKey: spacesQuery(client).queryKey })
      }}
      close={close}
    >
      <TextField label={spaceTexts.typeName(name)} value={typed} change={setTyped} autoComplete="off" spellCheck={false} />
    </DeletionDialog>
  )
}
