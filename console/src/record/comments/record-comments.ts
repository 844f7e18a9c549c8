/** Comments on a record: what the field for a new one needs, and what was left unsaved in others. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Client, useClient } from '../../session/client.ts'
import type { CommentSubject } from './comment-subject.ts'

interface Place {
  table_id: number
  record_id: number
}

export const draftNameOf = ({ table_id, record_id }: Place): `draft.${string}` => `draft.comment.${table_id}.${record_id}`

const MOST_PEOPLE = 8

export const peopleOf =
  (client: Client, spaceId: number): CommentSubject['people'] =>
  async (search, signal) => {
    const words = search.trim()
    const { rows } = await client.spaces.members.query(
      { space_id: spaceId, limit: MOST_PEOPLE, ...(words && { search: words }) },
      { signal },
    )
    return rows.map(({ user_id, name, email }) => ({ id: user_id, name, email }))
  }

export function useRecordSubject(tableId: number, recordId: number, spaceId: number): CommentSubject {
  const client = useClient()
  return useMemo(() => {
    const place = { table_id: tableId, record_id: recordId }
    return {
      draftName: draftNameOf(place),
      people: peopleOf(client, spaceId),
      create: ({ content, attachments }, idempotencyKey) =>
        client.comments.create.mutate(
          { ...place, content, ...(attachments.length && { attachments: attachments.map(({ path }) => ({ path })) }) },
          { context: { idempotencyKey } },
        ),
      upload: (file, onSent, signal) =>
        client.upload('comments.upload', place, file, {
          signal,
          onProgress: ({ sent, total }) => onSent(total ? sent / total : 0),
        }),
    }
  }, [client, tableId, recordId, spaceId])
}

const NONE = new Set<number>()

/**
 * The comments of the record with changes that were typed and not saved before the page was closed. One that was saved or dropped since is
 * taken out.
 */
export function useLeftEdits(tableId: number, recordId: number): Set<number> {
  const client = useClient()
  const prefix = `${draftNameOf({ table_id: tableId, record_id: recordId })}.`
  const { data } = useQuery({
    queryKey: ['left-edits', tableId, recordId],
    queryFn: async () => {
      const { rows } = await client.preferences.list.query({ prefix })
      return new Set(rows.map(({ name }) => Number(name.slice(prefix.length))))
    },
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  })
  return data ?? NONE
}
