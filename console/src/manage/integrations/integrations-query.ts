import { queryOptions } from '@tanstack/react-query'
import type { Client, Outputs } from '../../session/client.ts'

export type Integration = Outputs['smtp']['list']['rows'][number]
export type TestResult = Outputs['smtp']['test']

/** Whether a server can be used changes without an event. */
const ASKED_AGAIN_MS = 30_000

export const integrationsQuery = (client: Client, spaceId: number) =>
  queryOptions({
    queryKey: ['integrations', spaceId],
    queryFn: async () => (await client.smtp.list.query({ space_id: spaceId })).rows,
    refetchInterval: ASKED_AGAIN_MS,
  })
