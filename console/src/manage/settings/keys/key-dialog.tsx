/** A new key, or what an existing one may do. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Client, useClient } from '../../../session/client.ts'
import { useDatePlace } from '../../../session/date-place.ts'
import { randomText } from '../../../session/drafts/local-copies.ts'
import { errorData } from '../../../session/errors.ts'
import { Refused, useForm } from '../../../session/form.ts'
import { useMe } from '../../../session/me.ts'
import { spacesQuery } from '../../../session/places.ts'
import { appTexts } from '../../../texts/app.ts'
import { settingsTexts } from '../../../texts/manage/settings.ts'
import { DialogBox } from '../../../ui/dialog-box.tsx'
import { AreaField, CheckField, ChoiceField, SelectField } from '../../../ui/form-fields.tsx'
import { instantMeant, instantShown } from '../../../ui/locale/date-format.ts'
import { type DatePlace, readInstant } from '../../../ui/locale/date-text.ts'
import { TextField } from '../../../ui/text-field.tsx'
import { AllOrSome } from '../../all-or-some.tsx'
import { FormEnd } from '../../form-end.tsx'
import type { Key, KeyWithSecret } from './keys-query.ts'

interface Props {
  /** Null for a new one. */
  of: Key | null
  close: () => void
  /** @param key the new one, with its secret; null for one that was changed */
  saved: (key: KeyWithSecret | null) => void
}

type Kind = Key['kind']
type Expiry = keyof typeof settingsTexts.expiries
type Values = {
  name: string
  kind: Kind
  read_only: boolean
  isEverySpace: boolean
  space_ids: readonly number[]
  ip_allowlist: string
  expiry: Expiry
  expires_at: string
}

const NEW: Values = {
  ...{ name: '', kind: 'personal', read_only: false, isEverySpace: true, space_ids: [], ip_allowlist: '' },
  ...{ expiry: 'never', expires_at: '' },
}

export function KeyDialog({ of, close, saved }: Props) {
  const client = useClient()
  const place = useDatePlace()
  const { is_owner } = useMe()
  const { data: spaces = [] } = useQuery(spacesQuery(client))
  // An answer that was lost is answered again, so that no second key is made.
  const [idempotencyKey] = useState(randomText)
  const form = useForm(of ? valuesOf(of, place) : NEW, async (values) => {
    saved(await send(client, of, inputOf(values, place), values.kind, idempotencyKey))
  })
  const { values, problems, set } = form
  return (
    <DialogBox title={of ? settingsTexts.editKey(of.name) : settingsTexts.newKey} close={close}>
      <form className="managing-form" onSubmit={form.submit} noValidate>
        <TextField {...form.text('name')} label={settingsTexts.keyName} hint={settingsTexts.keyNameHint} autoComplete="off" autoFocus />
        {!of && is_owner && (
          <ChoiceField<Kind>
            label={settingsTexts.kind}
            choices={(['personal', 'account'] as const).map((kind) => [kind, ...settingsTexts.kinds[kind]])}
            value={values.kind}
            change={(kind) => set({ kind })}
            problem={problems.kind}
          />
        )}
        <CheckField
          label={settingsTexts.readOnly}
          checked={values.read_only}
          change={(read_only) => set({ read_only })}
          problem={problems.read_only}
        />
        {values.kind === 'account' && (
          <AllOrSome
            label={settingsTexts.spaces}
            texts={{ all: settingsTexts.allSpaces, some: settingsTexts.someSpaces }}
            things={spaces}
            isAll={values.isEverySpace}
            ids={values.space_ids}
            setAll={(isEverySpace) => set({ isEverySpace })}
            setIds={(space_ids) => set({ space_ids })}
            problem={problems.space_ids}
          />
        )}
        <SelectField
          label={settingsTexts.expires}
          value={values.expiry}
          change={(expiry) => set({ expiry: expiry as Expiry })}
          options={Object.entries(settingsTexts.expiries)}
          problem={values.expiry === 'other' ? undefined : problems.expires_at}
        />
        {values.expiry === 'other' && (
          <TextField
            {...form.text('expires_at')}
            label={settingsTexts.expiresAt}
            hint={meant(values.expires_at, place)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        <AreaField
          {...form.text('ip_allowlist')}
          label={settingsTexts.addresses}
          hint={settingsTexts.addressesHint}
          rows={2}
          spellCheck={false}
        />
        <FormEnd form={form} action={of ? settingsTexts.save : settingsTexts.create}>
          <button type="button" className="button" onClick={close}>
            {appTexts.cancel}
          </button>
        </FormEnd>
      </form>
    </DialogBox>
  )
}

const valuesOf = ({ name, kind, read_only, space_ids, ip_allowlist, expires_at }: Key, place: DatePlace): Values => ({
  ...{ name, kind, read_only, isEverySpace: space_ids === null, space_ids: space_ids ?? [] },
  ip_allowlist: ip_allowlist.join('\n'),
  expiry: expires_at ? 'other' : 'never',
  expires_at: expires_at ? instantShown(expires_at, place) : '',
})

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean)

/** What the service is asked. @throws Refused for what it need not be asked */
function inputOf(values: Values, place: DatePlace) {
  const { name, kind, read_only, isEverySpace, space_ids, ip_allowlist } = values
  if (kind === 'account' && !isEverySpace && !space_ids.length) throw new Refused({ space_ids: settingsTexts.chooseSpace })
  return {
    ...{ name, read_only, ip_allowlist: linesOf(ip_allowlist), expires_at: expiryOf(values, place) },
    ...(kind === 'account' && { space_ids: isEverySpace ? null : [...space_ids] }),
  }
}

const DAY = 86_400_000

function expiryOf({ expiry, expires_at }: Values, place: DatePlace): string | null {
  if (expiry === 'never') return null
  if (expiry !== 'other') return new Date(Date.now() + Number(expiry) * DAY).toISOString().slice(0, 19).replace('T', ' ')
  const read = readInstant(expires_at, place)
  if ('problem' in read) throw new Refused({ expires_at: read.problem })
  return read.value
}

/** What a typed instant means, with the day of the week. */
function meant(text: string, place: DatePlace): string {
  const read = text.trim() ? readInstant(text, place) : null
  if (!read || 'problem' in read) return settingsTexts.expiresAtHint
  return [settingsTexts.expiresMeant(instantMeant(read.value, place)), read.note].filter(Boolean).join(' ')
}

type Input = ReturnType<typeof inputOf>

async function send(client: Client, of: Key | null, input: Input, kind: Kind, idempotencyKey: string): Promise<KeyWithSecret | null> {
  try {
    if (!of) return await client.keys.create.mutate({ ...input, kind }, { context: { idempotencyKey } })
    await client.keys.update.mutate({ ...input, key_id: of.id })
    return null
  } catch (error) {
    throw withLine(error, input.ip_allowlist)
  }
}

/** Which of the addresses is refused is said by its number. */
function withLine(error: unknown, lines: readonly string[]): unknown {
  const issues = (errorData(error)?.issues ?? []) as { path?: unknown[]; message: string }[]
  const at = issues.find(({ path }) => path?.[0] === 'ip_allowlist')
  const index = at?.path?.[1]
  if (!at || typeof index !== 'number' || lines.length < 2) return error
  return new Refused({ ip_allowlist: settingsTexts.inLine(index + 1, at.message) })
}
