/** What is tried is in the address, so that it can be shared and gone back to. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { Conditions } from '../grid/pages/record-source.ts'
import { LONGEST_TRIED, type TableSearch } from '../grid/table-search.ts'
import { viewTexts } from '../texts/views/views.ts'
import { announce } from '../ui/announcer.ts'
import { toast } from '../ui/toasts/toasts.ts'
import { addressOf } from './tried.ts'

/** Puts what is tried into the address of the same view, and says so. False: the address has no room for it, and stays as it is. */
export type TryConditions = (tried: Conditions, said: string) => boolean

export function useTrying(tableId: number, { tried: _, cut: __, ...others }: TableSearch): TryConditions {
  const navigate = useNavigate()
  const { viewId } = useParams({ strict: false })
  return (conditions, said) => {
    const tried = addressOf(conditions)
    if (tried !== undefined && tried.length > LONGEST_TRIED) {
      toast(viewTexts.noRoom)
      return false
    }
    const search = { ...others, ...(tried && { tried }) }
    const params = { tableId: String(tableId) }
    if (viewId === undefined) void navigate({ to: '/table/$tableId', params, search })
    else void navigate({ to: '/table/$tableId/view/$viewId', params: { ...params, viewId }, search })
    announce(said)
    return true
  }
}
