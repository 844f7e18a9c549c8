/** Asks for another address, which counts once a link in a mail to it was opened. */
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { useForm } from '../../session/form.ts'
import { appTexts } from '../../texts/app.ts'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { TextField } from '../../ui/text-field.tsx'
import { FormEnd } from '../form-end.tsx'

export function AddressChange({ close }: { close: () => void }) {
  const client = useClient()
  const [asked, setAsked] = useState('')
  const form = useForm({ email: '', current_password: '' }, async (values) => {
    await client.auth.email.mutate(values)
    setAsked(values.email)
  })
  if (asked) return <output>{settingsTexts.addressAsked(asked)}</output>
  return (
    <form className="managing-form" onSubmit={form.submit} noValidate>
      <TextField {...form.text('email')} label={settingsTexts.newAddress} type="email" autoComplete="email" autoFocus />
      <TextField
        {...form.text('current_password')}
        label={settingsTexts.currentPassword}
        type="password"
        autoComplete="current-password"
        reveal={{ show: settingsTexts.show, hide: settingsTexts.hide }}
      />
      <FormEnd form={form} action={settingsTexts.sendLink}>
        <button type="button" className="button" onClick={close}>
          {appTexts.cancel}
        </button>
      </FormEnd>
    </form>
  )
}
