/** Name, zone and address of the person. */
import { useState } from 'react'
import { Refused, useForm } from '../../session/form.ts'
import { useMe } from '../../session/me.ts'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { SuggestedField } from '../../ui/form-fields.tsx'
import { useNow } from '../../ui/now.ts'
import { TextField } from '../../ui/text-field.tsx'
import { FormEnd } from '../form-end.tsx'
import { AddressChange } from './address-change.tsx'
import { useProfile } from './use-profile.ts'

export function ProfileSection() {
  const { name, timezone, email } = useMe()
  const save = useProfile()
  const [isAddressOpen, setAddressOpen] = useState(false)
  const form = useForm({ name, timezone }, async (values) => {
    if (!timeIn(values.timezone, new Date())) throw new Refused({ timezone: settingsTexts.noZone })
    await save(values)
  })
  const now = timeIn(form.values.timezone, useNow())
  const ofDevice = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <>
      <form className="managing-form" onSubmit={form.submit} noValidate>
        <TextField {...form.text('name')} label={settingsTexts.name} hint={settingsTexts.nameHint} autoComplete="name" maxLength={200} />
        <SuggestedField
          {...form.text('timezone')}
          label={settingsTexts.zone}
          hint={now ? `${settingsTexts.zoneHint} ${settingsTexts.timeThere(now)}` : settingsTexts.zoneHint}
          suggestions={ZONES}
          autoComplete="off"
          spellCheck={false}
        />
        {ofDevice !== form.values.timezone && (
          <p>
            <button type="button" className="button small" onClick={() => form.set({ timezone: ofDevice })}>
              {settingsTexts.takeZone(ofDevice)}
            </button>
          </p>
        )}
        <FormEnd form={form} action={settingsTexts.save} />
      </form>
      <section className="managing-part">
        <h2>{settingsTexts.email}</h2>
        <p>
          <b>{email}</b>
        </p>
        <p className="hint">{settingsTexts.emailWhy}</p>
        {isAddressOpen ? (
          <AddressChange close={() => setAddressOpen(false)} />
        ) : (
          <p>
            <button type="button" className="button" onClick={() => setAddressOpen(true)}>
              {settingsTexts.changeAddress}
            </button>
          </p>
        )}
      </section>
    </>
  )
}

const ZONES: readonly string[] = [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])]

/** What clocks show there; undefined if there is no such zone. */
function timeIn(timeZone: string, now: Date): string | undefined {
  try {
    return new Intl.DateTimeFormat(navigator.language, { timeZone, hour: 'numeric', minute: '2-digit' }).format(now)
  } catch {
    return undefined
  }
}
