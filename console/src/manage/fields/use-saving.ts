/** Stores a field: a new one, changes of one, or another type of it. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Field } from '../../cells/kind.ts'
import { type Client, useClient } from '../../session/client.ts'
import { errorData } from '../../session/errors.ts'
import { fieldTexts } from '../../texts/manage/fields.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import type { Job } from '../ended-job.ts'
import { type Refusal, refusalOf } from '../refusal.ts'
import { changesOf, draftOf, type FieldDraft, newFieldOf } from './field-draft.ts'
import { type Target, TypeNotChanged, useTypeChange } from './use-type-change.ts'

interface Options {
  tableId: number
  opened: Field | null
  close(): void
  created?: ((id: string) => void) | undefined
}

interface Stale extends Refusal {
  /** The version of the field after another's change, with which it can be saved again. */
  version?: number | undefined
}

/** What is stored besides what was typed. */
interface Saved {
  /** The type that was chosen, if it is another one, and whether it empties values. */
  target: Target | null
  dropFailing: boolean
  force: boolean
}

export function useSaving({ tableId, opened, close, created }: Options) {
  const client = useClient()
  const queries = useQueryClient()
  const changeType = useTypeChange()
  // What differs from the field as it was, not as somebody else changes it meanwhile, is what the person changed.
  const [field, setField] = useState(opened)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Stale | null>(null)
  const [converting, setConverting] = useState<Pick<Job, 'done' | 'total'> | null>(null)
  const isShown = useIsShown()

  async function shown(said: string) {
    await queries.invalidateQueries({ queryKey: ['grid', tableId] })
    toast(said)
  }

  async function create(draft: FieldDraft) {
    const { id } = await client.fields.create.mutate({ table_id: tableId, ...newFieldOf(draft) })
    await shown(fieldTexts.created(draft.name))
    if (!draft.always_hidden) created?.(id)
  }

  async function change(before: Field, draft: FieldDraft, { target, dropFailing, force }: Saved) {
    // The settings of a type that the field does not have yet are set with the type.
    const changes = changesOf(before, target ? { ...draftOf(before), ...commonOf(draft) } : draft)
    if (changes) setField(await update(client, { tableId, field: before, changes, force, version: refusal?.version ?? before.version }))
    if (!target) return shown(fieldTexts.saved(draft.name))
    setConverting(NOTHING_DONE)
    await changeType({ tableId, fieldId: before.id, fieldName: draft.name, target, dropFailing, force }, (job) =>
      setConverting(job.state === 'running' ? job : NOTHING_DONE),
    )
  }

  async function save(draft: FieldDraft, saved: Saved) {
    if (isBusy) return
    setBusy(true)
    try {
      await (field ? change(field, draft, saved) : create(draft))
      if (isShown()) close()
    } catch (error) {
      const refused = staleOrRefusal(error)
      if (!isShown()) toast(refused.message)
      setRefusal(refused)
      setConverting(null)
      setBusy(false)
    }
  }
  return { field, isBusy, refusal, converting, save, forgive: () => setRefusal(null) }
}

const NOTHING_DONE = { done: 0, total: 0 }

/** Whether the dialog is still there. */
function useIsShown(): () => boolean {
  const shown = useRef(true)
  useEffect(() => {
    shown.current = true
    return () => {
      shown.current = false
    }
  }, [])
  return () => shown.current
}

/** What a field of every type has. */
const commonOf = ({ name, required, always_hidden, admin_only }: FieldDraft) => ({ name, required, always_hidden, admin_only })

interface Sent {
  tableId: number
  field: Field
  changes: NonNullable<ReturnType<typeof changesOf>>
  force: boolean
  version: number | undefined
}

async function update(client: Client, { tableId, field, changes, force, version }: Sent): Promise<Field> {
  const input = { table_id: tableId, field_id: field.id, ...changes, ...(force && { force }) }
  return { ...field, ...(await client.fields.update.mutate(input, version === undefined ? {} : { context: { ifMatch: version } })) }
}

/** A conflict is another's change, which the answer has, or values and views that would be lost. */
function staleOrRefusal(error: unknown): Stale {
  if (error instanceof TypeNotChanged) return { message: error.message, canForce: false }
  const current = (errorData(error) as { current?: { version?: number } } | undefined)?.current
  if (current?.version !== undefined) return { message: fieldTexts.stale, canForce: false, version: current.version }
  return refusalOf(error)
}
