/** The change of a field to another type: what of its values fits, which is counted first, and the job that converts them. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type Client, useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { fieldTexts } from '../../texts/manage/fields.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { ended, type Job } from '../ended-job.ts'
import { plainMessage } from '../refusal.ts'
import type { FieldType } from './field-draft.ts'
import { type Counted, countedOf } from './type-changes.ts'

/** A type with its settings. */
export interface Target {
  type: FieldType
  decimals?: number
  table?: number
}

export type Trial =
  | { step: 'counting'; done: number; total: number }
  | { step: 'counted'; counted: Counted }
  | { step: 'refused'; message: string }

interface Place {
  tableId: number
  fieldId: string
}

/** Counts which values fit, anew for each target. Null: there is no target, or not all of it is said. */
export function useTrial({ tableId, fieldId }: Place, target: Target | null): Trial | null {
  const client = useClient()
  const asked = target && JSON.stringify(target)
  const [trial, setTrial] = useState<{ asked: string; trial: Trial } | null>(null)
  useEffect(() => {
    if (asked === null) return
    const ending = new AbortController()
    const { signal } = ending
    const show = (next: Trial) => {
      if (!signal.aborted) setTrial({ asked, trial: next })
    }
    show({ step: 'counting', done: 0, total: 0 })
    countFitting(client, { table_id: tableId, field_id: fieldId, ...(JSON.parse(asked) as Target) }, signal, show).catch((error: unknown) =>
      show({ step: 'refused', message: messageOf(error) }),
    )
    return () => ending.abort()
  }, [client, tableId, fieldId, asked])
  return trial && trial.asked === asked ? trial.trial : null
}

type Change = Parameters<Client['fields']['changeType']['mutate']>[0]

async function countFitting(client: Client, change: Change, signal: AbortSignal, show: (trial: Trial) => void): Promise<void> {
  const { job_id } = await client.fields.changeType.mutate({ ...change, dry_run: true })
  try {
    const job = await ended(client, job_id, ({ done, total }) => show({ step: 'counting', done, total }), signal)
    show(job.state === 'done' ? { step: 'counted', counted: countedOf(job) } : { step: 'refused', message: reasonOf(job) })
  } catch (error) {
    // Nobody waits for what was chosen before; a field has few dry runs at once.
    if (signal.aborted) await client.jobs.cancel.mutate({ job_id })
    throw error
  }
}

const reasonOf = ({ error }: Job): string => plainMessage(error ?? fieldTexts.typeNotChanged)

/** What is said of a change that nobody looks at any more is read later. */
const LASTS_MS = 30_000

interface Started extends Place {
  fieldName: string
  target: Target
  dropFailing: boolean
  force: boolean
}

/**
 * Converts the values, and says how that ended: the job goes on if the dialog is closed meanwhile.
 * @throws the client's error if the change cannot begin; Error with the reason if it was refused later
 */
export function useTypeChange() {
  const client = useClient()
  const queries = useQueryClient()
  return async ({ tableId, fieldId, fieldName, target, dropFailing, force }: Started, tell: (job: Job) => void): Promise<void> => {
    const { job_id } = await client.fields.changeType.mutate({
      ...{ table_id: tableId, field_id: fieldId, ...target },
      ...(dropFailing && { drop_failing: true }),
      ...(force && { force: true }),
    })
    const job = await ended(client, job_id, tell)
    await queries.invalidateQueries({ queryKey: ['grid', tableId] })
    if (job.state !== 'done') throw new TypeNotChanged(reasonOf(job))
    const lost = (job.deleted_views ?? []).map(({ name }) => name)
    toast(fieldTexts.typeChanged(fieldName, fieldTexts.types[target.type] ?? target.type, lost), { lastsMs: LASTS_MS })
  }
}

export class TypeNotChanged extends Error {}
