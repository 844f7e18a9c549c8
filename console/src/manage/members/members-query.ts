import { queryOptions } from '@tanstack/react-query'
import type { Client, Outputs } from '../../session/client.ts'

export type Member = Outputs['spaces']['members']['rows'][number]
export type Role = Member['role']

export const ROLES = ['viewer', 'member', 'admin'] as const satisfies readonly Role[]

/** An invitation is accepted without an event. */
const ASKED_AGAIN_MS = 30_000

export const membersQuery = (client: Client, spaceId: number) =>
  queryOptions({
    queryKey: ['members', spaceId],
    queryFn: async () => (await client.spaces.members.query({ space_id: spaceId })).rows,
    refetchInterval: ASKED_AGAIN_MS,
  })
