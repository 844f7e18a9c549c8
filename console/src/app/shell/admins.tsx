/** Whom to ask in a space. */
import { useQuery } from '@tanstack/react-query'
import { useClient } from '../../session/client.ts'
import { appTexts } from '../../texts/app.ts'

const MOST_NAMED = 3

export function Admins({ spaceId }: { spaceId: number | undefined }) {
  const client = useClient()
  const { data } = useQuery({
    queryKey: ['members', spaceId],
    queryFn: async () => (await client.spaces.members.query({ space_id: spaceId ?? 0 })).rows,
    enabled: spaceId !== undefined,
  })
  const names = (data ?? []).filter(({ role }) => role === 'admin').map(({ name }) => name)
  if (!names.length) return null
  return appTexts.askAdmins(new Intl.ListFormat('en', { type: 'disjunction' }).format(names.slice(0, MOST_NAMED)))
}
