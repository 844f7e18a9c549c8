/** Whether one is told of what happens on the record, and how to change that. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useClient } from '../session/client.ts'
import { messageOf } from '../session/errors.ts'
import { recordTexts } from '../texts/record/record.ts'
import { announce } from '../ui/announcer.ts'
import { Icon } from '../ui/icons/icon.tsx'
import { toast } from '../ui/toasts/toasts.ts'

export function FollowButton({ tableId, recordId }: { tableId: number; recordId: number }) {
  const client = useClient()
  const queries = useQueryClient()
  const queryKey = ['record', tableId, recordId, 'following']
  const { data } = useQuery({
    queryKey,
    queryFn: () => client.subscriptions.status.query({ table_id: tableId, record_id: recordId }, { context: { alone: true } }),
    retry: false,
  })
  if (!data) return null
  const isFollowed = data.record === true
  const label = isFollowed ? recordTexts.following : recordTexts.follow
  const know = async (record: boolean | null) => {
    // An answer that is on its way may be older.
    await queries.cancelQueries({ queryKey })
    queries.setQueryData(queryKey, { ...data, record })
  }
  const toggle = async () => {
    const input = { table_id: tableId, record_id: recordId }
    await know(!isFollowed)
    try {
      const { subscribed } = await (isFollowed ? client.subscriptions.unsubscribe : client.subscriptions.subscribe).mutate(input)
      await know(subscribed)
      announce(subscribed ? recordTexts.nowFollowing : recordTexts.notFollowing(data.table))
    } catch (error) {
      await know(data.record)
      toast(messageOf(error))
    }
  }
  return (
    <button
      type="button"
      className="button quiet small"
      aria-pressed={isFollowed}
      title={data.table ? recordTexts.tableFollowed : recordTexts.followWhy}
      onClick={() => void toggle()}
    >
      <Icon name={isFollowed ? 'check' : 'bell'} />
      {label}
    </button>
  )
}
