/** Which addresses of a mail are on the list of those to which the account sends no mail, and how they get off it; for admins. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { threadTexts } from '../../texts/mail/thread.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { Action } from '../action.tsx'
import type { OutgoingMail } from '../mail-facts.ts'
import { mayBeSuppressed } from './delivery-words.ts'

const KEY = ['suppressions']
const MOST = 200

interface Suppressions {
  /** Undefined while that is not known, to those who may not see the list, and beyond its first page. */
  isSuppressed(email: string): boolean | undefined
  /** The recipients that may be on the list; of a list that is longer than a page nobody knows. */
  removable: readonly string[]
}

export function useSuppressions({ recipients }: OutgoingMail, isAdmin: boolean): Suppressions {
  const client = useClient()
  const queries = useQueryClient()
  const candidates = isAdmin ? recipients.filter(mayBeSuppressed).map(({ email }) => email) : []
  const { data: list } = useQuery({
    queryKey: KEY,
    queryFn: () => client.suppressions.list.query({ limit: MOST }),
    ...{ enabled: candidates.length > 0, staleTime: 30_000, retry: 1 },
  })
  // A report that comes meanwhile may have put another address onto the list.
  const named = candidates.join(' ')
  const known = useRef(named)
  useEffect(() => {
    if (known.current === named) return
    known.current = named
    void queries.invalidateQueries({ queryKey: KEY })
  }, [named, queries])
  const isSuppressed = (email: string): boolean | undefined => {
    if (list?.rows.some((row) => row.email === email.toLowerCase())) return true
    return list && list.rows.length < MOST ? false : undefined
  }
  return { isSuppressed, removable: list ? candidates.filter((email) => isSuppressed(email) !== false) : [] }
}

export function Unsuppress({ email, isOnly }: { email: string; isOnly: boolean }) {
  const client = useClient()
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => client.suppressions.remove.mutate({ email }),
    onSuccess: () => toast(threadTexts.unsuppressed(email)),
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  })
  return (
    <>
      <Action icon="check" goes label={threadTexts.unsuppressFor(email)} isBusy={remove.isPending} run={() => remove.mutate()}>
        {isOnly ? threadTexts.unsuppress : threadTexts.unsuppressFor(email)}
      </Action>
      {remove.isError && (
        <span className="mail-problem" role="alert">
          {messageOf(remove.error)}
        </span>
      )}
    </>
  )
}
