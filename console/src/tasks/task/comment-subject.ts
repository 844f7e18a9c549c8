/** Comments on a task, as the field for a new one needs them. */

import { useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { CommentSubject } from '../../record/comments/comment-subject.ts'
import { type Client, useClient } from '../../session/client.ts'
import { spacesQuery } from '../../session/places.ts'
import { peopleNamed } from '../people.ts'

const MOST_OFFERED = 8

export const commentDraftName = (taskId: number) => `draft.comment.task.${taskId}` as const

export function useTaskSubject(taskId: number, spaceId: number | null): CommentSubject {
  const client = useClient()
  const queries = useQueryClient()
  return useMemo(() => {
    const task = { task_id: taskId }
    return {
      draftName: commentDraftName(taskId),
      create: ({ content, attachments }, idempotencyKey) =>
        client.tasks.comments.create.mutate(
          { ...task, content, ...(attachments.length && { attachments: attachments.map(({ path }) => ({ path })) }) },
          { context: { idempotencyKey } },
        ),
      upload: (file, onSent, signal) =>
        client.upload('tasks.comments.upload', task, file, {
          signal,
          onProgress: ({ sent, total }) => onSent(total ? sent / total : 0),
        }),
      people: async (search, signal) => {
        const spaceIds = spaceId === null ? (await queries.ensureQueryData(spacesQuery(client))).map(({ id }) => id) : [spaceId]
        const found = await Promise.all(spaceIds.map((id) => membersOf(client, id, search, signal)))
        const unique = new Map(found.flat().map((person) => [person.id, person]))
        return peopleNamed([...unique.values()], search).slice(0, MOST_OFFERED)
      },
    }
  }, [client, queries, taskId, spaceId])
}

async function membersOf(client: Client, spaceId: number, search: string, signal: AbortSignal) {
  const words = search.trim()
  const { rows } = await client.spaces.members.query(
    { space_id: spaceId, limit: MOST_OFFERED, ...(words && { search: words }) },
    { signal },
  )
  return rows.map(({ user_id, name, email }) => ({ id: user_id, name, email }))
}
