/** Another password. All other sessions end with it. */
import { useQueryClient } from '@tanstack/react-query'
import { useClient } from '../../session/client.ts'
import { useForm } from '../../session/form.ts'
import { useMe } from '../../session/me.ts'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { FormEnd } from '../form-end.tsx'

export function PasswordSection() {
  const client = useClient()
  const queries = useQueryClient()
  const { email } = useMe()
  const form = useForm({ current_password: '', new_password: '' }, async (values) => {
    await client.auth.password.mutate(values)
    toast(settingsTexts.passwordChanged)
    await queries.invalidateQueries({ queryKey: ['sessions'] })
  })
  const reveal = { show: settingsTexts.show, hide: settingsTexts.hide }
  return (
    <form className="managing-form" onSubmit={form.submit} noValidate>
      <p>{settingsTexts.passwordWhy}</p>
      {/* Programs that keep passwords read here whose it is. */}
      <input type="email" name="email" autoComplete="username" value={email} readOnly hidden />
      <TextField
        {...form.text('current_password')}
        label={settingsTexts.currentPassword}
        type="password"
        autoComplete="current-password"
        reveal={reveal}
      />
      <TextField
        {...form.text('new_password')}
        label={settingsTexts.newPassword}
        type="password"
        autoComplete="new-password"
        hint={settingsTexts.passwordHint}
        reveal={reveal}
      />
      <FormEnd form={form} action={settingsTexts.changePassword} />
    </form>
  )
}
