/** What is said of a record that is not there: deleted meanwhile, or never here, or not for this person. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useClient } from '../../session/client.ts'
import { useMe } from '../../session/me.ts'
import { recordTexts } from '../../texts/record/record.ts'
import '../../ui/button.css'
import { instantShown } from '../../ui/locale/date-format.ts'
import { verdictOn } from '../../views/why-not-here.tsx'
import { bringBack } from './deleting.ts'

interface Props {
  tableId: number
  recordId: number
  title: string
  mayWrite: boolean
  /** True if what was known of the record is shown below. */
  isShown: boolean
}

export function GoneNotice({ tableId, recordId, title, mayWrite, isShown }: Props) {
  const client = useClient()
  const queries = useQueryClient()
  const { timezone } = useMe()
  const { data: verdict } = useQuery({
    queryKey: ['record', tableId, recordId, 'gone'],
    queryFn: () => verdictOn(client, { tableId, recordId }),
    retry: false,
    staleTime: 0,
  })
  const place = { zone: timezone, locale: navigator.language, now: new Date() }
  const text =
    verdict?.kind === 'deleted'
      ? recordTexts.wasDeleted(verdict.title ?? title, verdict.by, instantShown(verdict.at, place), instantShown(verdict.until, place))
      : recordTexts.notHereWhy
  return (
    <div className="notice-bar" role="alert">
      <p>{text}</p>
      {isShown && <p>{recordTexts.shownAsBefore}</p>}
      {verdict?.kind === 'deleted' && mayWrite && (
        <button
          type="button"
          className="button small"
          onClick={() => void bringBack(client, queries, { tableId, recordId, title: verdict.title ?? title })}
        >
          {recordTexts.bringBack}
        </button>
      )}
    </div>
  )
}
