import { queryOptions } from '@tanstack/react-query'
import type { Client, Outputs } from '../../../session/client.ts'

export type Key = Outputs['keys']['list']['rows'][number]
export type KeyWithSecret = Outputs['keys']['create']

/** Keys are used elsewhere, and no event tells it. */
const ASKED_AGAIN_MS = 30_000

export const keysQuery = (client: Client) =>
  queryOptions({
    queryKey: ['keys'],
    queryFn: async () => (await client.keys.list.query()).rows,
    refetchInterval: ASKED_AGAIN_MS,
  })
