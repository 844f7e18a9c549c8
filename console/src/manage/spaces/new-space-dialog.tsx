/** Another space, which the owner of the account makes. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { randomText } from '../../session/drafts/local-copies.ts'
import { useForm } from '../../session/form.ts'
import { spacesQuery } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { FormEnd } from '../form-end.tsx'
import '../sections.css'

export function NewSpaceDialog({ close }: { close: () => void }) {
  const client = useClient()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [idempotencyKey] = useState(randomText)
  const form = useForm({ name: '' }, async (values) => {
    const { id } = await client.spaces.create.mutate(values, { context: { idempotencyKey } })
    await queries.invalidateQueries({ queryKey: spacesQuery(client).queryKey })
    close()
    // What a new space needs first is people.
    await navigate({ to: '/spaces/$spaceId/$', params: { spaceId: String(id), _splat: 'members' } })
  })
  return (
    <DialogBox title={spaceTexts.newSpace} close={close}>
      <form className="managing-form" onSubmit={form.submit} noValidate>
        <p>{spaceTexts.newSpaceWhy}</p>
        <TextField {...form.text('name')} label={spaceTexts.name} autoComplete="off" autoFocus />
        <FormEnd form={form} action={spaceTexts.createSpace}>
          <button type="button" className="button" onClick={close}>
            {appTexts.cancel}
          </button>
        </FormEnd>
      </form>
    </DialogBox>
  )
}
