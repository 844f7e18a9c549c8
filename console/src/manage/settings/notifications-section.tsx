/** When notifications come by mail. */
import { useForm } from '../../session/form.ts'
import { useMe } from '../../session/me.ts'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { ChoiceField } from '../../ui/form-fields.tsx'
import { FormEnd } from '../form-end.tsx'
import { useProfile } from './use-profile.ts'

export function NotificationsSection() {
  const { mail_preference, email } = useMe()
  const save = useProfile()
  const form = useForm({ mail_preference }, save)
  return (
    <form className="managing-form" onSubmit={form.submit} noValidate>
      <ChoiceField
        label={settingsTexts.mails}
        hint={settingsTexts.mailsTo(email)}
        choices={settingsTexts.mailChoices}
        value={form.values.mail_preference}
        change={(mail_preference) => form.set({ mail_preference })}
        problem={form.problems.mail_preference}
      />
      <FormEnd form={form} action={settingsTexts.save} />
    </form>
  )
}
