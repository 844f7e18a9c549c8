/** Recipients that get no mail, as the service says while one writes: their addresses are suppressed. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { inputOf, type MailDraft, NOBODY } from '../draft/mail-draft.ts'
import { EMPTY_BODY } from '../editor/body.ts'
import { addressKey, KINDS, readMailbox } from './addresses.ts'
import { type DayWords, readRefusal } from './refusals.ts'

/** The service is asked once the recipients have rested for so long. */
const REST_MS = 500

/** By the key of the address, why it gets no mail. */
export function useRefused(place: { tableId: number; recordId: number }, mail: MailDraft, dayWords: DayWords): ReadonlyMap<string, string> {
  const client = useClient()
  const valid = KINDS.flatMap((kind) => mail[kind].chosen).filter(readMailbox)
  const keys = useRested(JSON.stringify([...new Set(valid.map(addressKey))]))
  const bare = { ...mail, to: { chosen: JSON.parse(keys) as string[], typed: '' }, cc: NOBODY, bcc: NOBODY, body: EMPTY_BODY, subject: '' }
  const input = inputOf({ ...bare, signature: null, files: [], replyTo: null }, place, null)
  const { data } = useQuery({
    queryKey: ['mail', 'refused', input],
    queryFn: async () => (input ? (await client.email.preview.query(input)).problems : []),
    enabled: input !== null && bare.to.chosen.length > 0 && bare.to.chosen.length <= 50,
    ...{ retry: false, staleTime: 30_000 },
  })
  const refusals = data?.flatMap((problem) => readRefusal(problem, dayWords) ?? []) ?? []
  return new Map(refusals.map(({ address, words }) => [address, words]))
}

/** The text once it has not changed for a while. */
function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}
