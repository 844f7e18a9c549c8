/** Adds a user to a space, or invites somebody by mail. */
import { useClient } from '../../session/client.ts'
import { useForm } from '../../session/form.ts'
import type { Space } from '../../session/places.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import { SelectField } from '../../ui/form-fields.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { ROLES, type Role } from './members-query.ts'

export function AddMember({ space, done }: { space: Space; done: () => unknown }) {
  const client = useClient()
  const form = useForm<{ email: string; role: Role }>({ email: '', role: 'member' }, async (values) => {
    const { status, name, email } = await client.spaces.addMember.mutate({ space_id: space.id, ...values })
    toast(status === 'invited' ? spaceTexts.inviteSent(email) : spaceTexts.added(name))
    done()
  })
  const { values, problems, set, isBusy } = form
  return (
    <form className="add-member" aria-label={spaceTexts.invite} onSubmit={form.submit} noValidate>
      <TextField {...form.text('email')} label={spaceTexts.email} hint={spaceTexts.emailHint} type="email" autoComplete="off" />
      <SelectField
        label={spaceTexts.role}
        value={values.role}
        change={(role) => set({ role: role as Role })}
        options={ROLES.map((role) => [role, spaceTexts.roles[role]])}
        hint={spaceTexts.rolesMean[values.role]}
        problem={problems.role}
      />
      <p className="problem" role="alert">
        {problems.form}
      </p>
      <p>
        <button type="submit" className="button primary" aria-disabled={isBusy}>
          {spaceTexts.add}
        </button>
      </p>
    </form>
  )
}
