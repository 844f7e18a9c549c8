/** A signature as it is written: as lines of text, or as HTML. */
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { HtmlFrame } from '../../../mail/composer/html-frame.tsx'
import { signaturesQuery } from '../../../mail/draft/beginning.ts'
import { type Outputs, useClient } from '../../../session/client.ts'
import { randomText } from '../../../session/drafts/local-copies.ts'
import { errorData } from '../../../session/errors.ts'
import { useForm } from '../../../session/form.ts'
import { appTexts } from '../../../texts/app.ts'
import { settingsTexts } from '../../../texts/manage/settings.ts'
import { AreaField, CheckField, ChoiceField } from '../../../ui/form-fields.tsx'
import { TextField } from '../../../ui/text-field.tsx'
import { toast } from '../../../ui/toasts/toasts.ts'
import { FormEnd } from '../../form-end.tsx'
import { htmlOf, textOf } from './signature-text.ts'

export type Signature = Outputs['signatures']['list']['rows'][number]

interface Props {
  /** Null for a new one. */
  of: Signature | null
  /** Whether it is the only one, which is then offered first. */
  isFirst?: boolean
  close: () => void
}

interface Values {
  name: string
  /** The text, or the HTML. */
  html: string
  as: 'text' | 'html'
  is_default: boolean
}

export function SignatureForm({ of, isFirst = false, close }: Props) {
  // What is saved elsewhere meanwhile must not change what is being typed, and is asked about.
  const [base, setBase] = useState(of)
  const [theirs, setTheirs] = useState<Signature | null>(null)
  const element = useRef<HTMLFormElement>(null)
  const version = useRef(of?.version)
  const save = useSave(of)
  const form = useForm(valuesOf(base, isFirst), async (values) => {
    try {
      await save(values, version.current)
    } catch (error) {
      if (errorData(error)?.code === 'CONFLICT') setTheirs((errorData(error)?.current as Signature | undefined) ?? null)
      throw error
    }
    close()
  })
  const { values, problems, set } = form
  const change = (as: Values['as']) => {
    if (as === 'html') return set({ as, html: htmlOf(values.html) })
    const text = textOf(values.html)
    if (text === null) form.refuse({ as: settingsTexts.htmlOnly })
    else set({ as, html: text })
  }
  return (
    <form
      ref={element}
      className="managing-form"
      aria-label={of ? settingsTexts.editSignature(of.name) : settingsTexts.newSignature}
      onSubmit={form.submit}
      noValidate
    >
      <TextField {...form.text('name')} label={settingsTexts.name} autoComplete="off" autoFocus />
      <AreaField
        {...form.text('html')}
        label={settingsTexts.signature}
        hint={values.as === 'text' ? settingsTexts.textHint : settingsTexts.htmlHint}
        rows={6}
        className={values.as === 'html' ? 'code' : undefined}
        spellCheck={values.as === 'text'}
      />
      {values.as === 'html' && values.html.trim() !== '' && (
        <HtmlFrame html={values.html} title={settingsTexts.preview} className="signature-preview" />
      )}
      <ChoiceField
        label={settingsTexts.writtenAs}
        choices={[
          ['text', settingsTexts.signatureText],
          ['html', settingsTexts.signatureHtml],
        ]}
        value={values.as}
        change={change}
        problem={problems.as}
      />
      <CheckField label={settingsTexts.isDefault} checked={values.is_default} change={(is_default) => set({ is_default })} />
      {theirs ? (
        <Conflict
          theirs={theirs}
          keep={() => {
            version.current = theirs.version
            setTheirs(null)
            element.current?.requestSubmit()
          }}
          take={() => {
            version.current = theirs.version
            setBase(theirs)
            setTheirs(null)
            form.reset()
          }}
        />
      ) : (
        <FormEnd form={form} action={settingsTexts.save}>
          <button type="button" className="button" onClick={close}>
            {appTexts.cancel}
          </button>
        </FormEnd>
      )}
    </form>
  )
}

/** Saves the signature over the version that was opened, or makes it if it is new, or was deleted meanwhile. */
function useSave(of: Signature | null) {
  const client = useClient()
  const queries = useQueryClient()
  const [idempotencyKey] = useState(randomText)
  return async ({ name, is_default, html, as }: Values, version: number | undefined) => {
    const content = { name, is_default, html: as === 'text' ? htmlOf(html) : html }
    const create = () => client.signatures.create.mutate(content, { context: { idempotencyKey } })
    const update = (id: number) =>
      client.signatures.update.mutate({ ...content, id }, { context: { ...(version !== undefined && { ifMatch: version }) } })
    await (of ? update(of.id).catch((error: unknown) => (isGone(error) ? create() : Promise.reject(error))) : create())
    toast(settingsTexts.saved)
    await queries.invalidateQueries({ queryKey: signaturesQuery(client).queryKey })
  }
}

const isGone = (error: unknown): boolean => errorData(error)?.code === 'NOT_FOUND'

function valuesOf(signature: Signature | null, isFirst: boolean): Values {
  if (!signature) return { name: '', html: '', as: 'text', is_default: isFirst }
  const { name, html, is_default } = signature
  const text = textOf(html)
  return { name, is_default, ...(text === null ? { html, as: 'html' } : { html: text, as: 'text' }) }
}

/** Both versions, of which one is to count. */
function Conflict({ theirs, keep, take }: { theirs: Signature; keep: () => void; take: () => void }) {
  return (
    <section className="conflict" role="alert" aria-label={settingsTexts.conflict}>
      <h2>{settingsTexts.conflict}</h2>
      <p>{settingsTexts.conflictWhy}</p>
      <h3>{settingsTexts.theirs}</h3>
      <p dir="auto">
        <b>{theirs.name}</b>
      </p>
      <pre dir="auto">{textOf(theirs.html) ?? theirs.html}</pre>
      <p className="form-end">
        <button type="button" className="button primary" onClick={keep}>
          {settingsTexts.keepMine}
        </button>
        <button type="button" className="button" onClick={take}>
          {settingsTexts.takeTheirs}
        </button>
      </p>
    </section>
  )
}
