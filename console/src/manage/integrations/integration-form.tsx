/** A mail server, new or as it is: where it is, who signs in, who may be the sender. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { randomText } from '../../session/drafts/local-copies.ts'
import { type Form, useForm } from '../../session/form.ts'
import { type Space, usePlaces } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { integrationTexts } from '../../texts/manage/integrations.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { AreaField, CheckField, SelectField } from '../../ui/form-fields.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { AllOrSome } from '../all-or-some.tsx'
import { FormEnd } from '../form-end.tsx'
import { inputOf, type Values, valuesOf, withLines } from './integration-values.ts'
import { type Integration, integrationsQuery } from './integrations-query.ts'

interface Props {
  space: Space
  /** Null for a new one. */
  of: Integration | null
  close: () => void
  saved: (integration: Integration) => void
}

export function IntegrationDialog({ space, of, close, saved }: Props) {
  const client = useClient()
  const queries = useQueryClient()
  // What is saved elsewhere must not change what is being typed.
  const [initial] = useState(() => valuesOf(of))
  const [idempotencyKey] = useState(randomText)
  const form = useForm(initial, async (values) => {
    const input = inputOf(values, of)
    const answer = of
      ? client.smtp.update.mutate({ ...input, id: of.id })
      : client.smtp.create.mutate({ ...input, space_id: space.id }, { context: { idempotencyKey } })
    const integration = await answer.catch((error: unknown) => Promise.reject(withLines(error, values)))
    toast(integrationTexts.saved)
    await Promise.all([
      queries.invalidateQueries({ queryKey: integrationsQuery(client, space.id).queryKey }),
      // What a composer offers.
      queries.invalidateQueries({ queryKey: ['mail', 'senders'] }),
    ])
    saved(integration)
  })
  const [isMoreOpen, setMoreOpen] = useState(false)
  const isProblemHidden = !isMoreOpen && IN_MORE.some((name) => form.problems[name] !== undefined)
  // What is refused must be in sight.
  if (isProblemHidden) setMoreOpen(true)
  return (
    <DialogBox title={of ? integrationTexts.editOf(of.label) : integrationTexts.new} close={close} isWide>
      <form className="managing-form integration-form" onSubmit={form.submit} noValidate>
        <Server form={form} hasPassword={of?.has_password ?? false} />
        <AreaField
          {...form.text('senders')}
          label={integrationTexts.senders}
          hint={integrationTexts.sendersHint}
          rows={2}
          spellCheck={false}
        />
        <AreaField
          {...form.text('from_domains')}
          label={integrationTexts.domains}
          hint={integrationTexts.domainsHint}
          rows={2}
          spellCheck={false}
        />
        <details open={isMoreOpen} onToggle={({ currentTarget }) => setMoreOpen(currentTarget.open)}>
          <summary>{integrationTexts.more}</summary>
          <More form={form} space={space} />
        </details>
        <FormEnd form={form} action={integrationTexts.save}>
          <button type="button" className="button" onClick={close}>
            {appTexts.cancel}
          </button>
        </FormEnd>
      </form>
    </DialogBox>
  )
}

const IN_MORE: readonly (keyof Values)[] = ['table_ids', 'max_connections', 'rate_per_minute', 'dkim', 'selector']

type TlsKind = Values['tls']

function Server({ form, hasPassword }: { form: Form<Values>; hasPassword: boolean }) {
  const { values, problems, set } = form
  const encrypt = (tls: TlsKind) => {
    const isUsual = ['', '587', '465', '25'].includes(values.port)
    set({ tls, ...(isUsual && { port: tls === 'tls' ? '465' : tls === 'starttls' ? '587' : '25' }) })
  }
  return (
    <>
      <TextField {...form.text('label')} label={integrationTexts.label} hint={integrationTexts.labelHint} autoComplete="off" autoFocus />
      <div className="beside-each-other">
        <TextField
          {...form.text('host')}
          label={integrationTexts.host}
          hint={integrationTexts.hostHint}
          autoComplete="off"
          spellCheck={false}
        />
        <TextField {...form.text('port')} label={integrationTexts.port} inputMode="numeric" autoComplete="off" />
      </div>
      <SelectField
        label={integrationTexts.tls}
        value={values.tls}
        change={(tls) => encrypt(tls as TlsKind)}
        options={Object.entries(integrationTexts.tlsKinds)}
        hint={values.tls === 'none' ? integrationTexts.noTlsHint : undefined}
        problem={problems.tls}
      />
      <div className="beside-each-other even">
        <TextField
          {...form.text('username')}
          label={integrationTexts.username}
          hint={integrationTexts.usernameHint}
          autoComplete="off"
          spellCheck={false}
        />
        <TextField
          {...form.text('password')}
          label={integrationTexts.password}
          type="password"
          {...(hasPassword && { hint: integrationTexts.passwordKept })}
          autoComplete="new-password"
          reveal={{ show: integrationTexts.showPassword, hide: integrationTexts.hidePassword }}
        />
      </div>
    </>
  )
}

function More({ form, space }: { form: Form<Values>; space: Space }) {
  const { values, problems, set } = form
  const { places } = usePlaces()
  const tables = places.find(({ id }) => id === space.id)?.tables ?? []
  return (
    <div className="managing-form">
      <AllOrSome
        label={integrationTexts.tables}
        texts={{ all: integrationTexts.allTables, some: integrationTexts.someTables }}
        things={tables}
        isAll={values.isEveryTable}
        ids={values.table_ids}
        setAll={(isEveryTable) => set({ isEveryTable })}
        setIds={(table_ids) => set({ table_ids })}
        problem={problems.table_ids}
      />
      <CheckField label={integrationTexts.pixel} checked={values.hasPixel} change={(hasPixel) => set({ hasPixel })} />
      <CheckField
        label={integrationTexts.envelope}
        checked={values.reply_as_envelope}
        change={(reply_as_envelope) => set({ reply_as_envelope })}
      />
      <div className="beside-each-other even">
        <TextField {...form.text('max_connections')} label={integrationTexts.connections} inputMode="numeric" autoComplete="off" />
        <TextField
          {...form.text('rate_per_minute')}
          label={integrationTexts.rate}
          hint={integrationTexts.rateHint}
          inputMode="numeric"
          autoComplete="off"
        />
      </div>
      <div className="beside-each-other even">
        <TextField
          {...form.text('dkim')}
          label={integrationTexts.dkim}
          hint={integrationTexts.dkimHint}
          autoComplete="off"
          spellCheck={false}
        />
        <TextField
          {...form.text('selector')}
          label={integrationTexts.selector}
          hint={integrationTexts.selectorHint}
          autoComplete="off"
          spellCheck={false}
        />
      </div>
    </div>
  )
}
