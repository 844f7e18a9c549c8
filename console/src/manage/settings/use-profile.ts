import { useQueryClient } from '@tanstack/react-query'
import { type Inputs, useClient } from '../../session/client.ts'
import { meQuery } from '../../session/me.ts'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { toast } from '../../ui/toasts/toasts.ts'

/** How the person's profile is changed: what was changed is known on the whole page at once. */
export function useProfile(): (changes: Inputs['auth']['profile']) => Promise<void> {
  const client = useClient()
  const queries = useQueryClient()
  return async (changes) => {
    const me = await client.auth.profile.mutate(changes)
    queries.setQueryData(meQuery(client).queryKey, me)
    toast(settingsTexts.saved)
  }
}
