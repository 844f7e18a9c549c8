/** The comments on a task, the latest last, as people talk, and the field for a new one. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { CommentField } from '../../record/comments/comment-field.tsx'
import { LeftComment } from '../../record/left-comment.tsx'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { taskTexts } from '../../texts/tasks.ts'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { changedTask } from '../marks.ts'
import { commentDraftName, useTaskSubject } from './comment-subject.ts'
import { TaskComment } from './task-comment.tsx'
import type { TaskDetail } from './use-task.ts'

const PAGE = 50

interface Props {
  task: TaskDetail
  place: DatePlace
  isGone: boolean
  mayDeleteAll: boolean
  heading: 'h2' | 'h3'
  /** The id of the comment that is to be seen. */
  entry?: number | undefined
}

export function TaskComments({ task, place, isGone, mayDeleteAll, heading: Heading, entry }: Props) {
  const client = useClient()
  const queries = useQueryClient()
  const subject = useTaskSubject(task.id, task.space_id)
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['task', task.id, 'comments'],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => client.tasks.comments.list.query({ task_id: task.id, limit: PAGE, offset: pageParam }, { signal }),
    getNextPageParam: ({ rows }, pages) => (rows.length < PAGE ? undefined : pages.length * PAGE),
    enabled: !isGone,
  })
  // A comment that came meanwhile moves another one onto the next page.
  const comments = [...new Map((data?.pages ?? []).flatMap(({ rows }) => rows).map((row) => [row.id, row])).values()].toReversed()
  const changed = () => changedTask(queries, task.id)
  return (
    <section className="task-part task-comments-part">
      <Heading>
        {taskTexts.commentsTitle} <span className="count">{task.comment_count || ''}</span>
      </Heading>
      {hasNextPage && !isGone && (
        <button type="button" className="button small" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {taskTexts.earlier}
        </button>
      )}
      {error !== null && !isGone && <p className="problem">{messageOf(error)}</p>}
      {comments.map((row) => (
        <TaskComment key={row.id} {...{ row, place, subject, isGone, mayDeleteAll, changed }} isNamed={row.id === entry} />
      ))}
      {isGone ? (
        <LeftComment draftName={commentDraftName(task.id)} />
      ) : (
        <CommentField subject={subject} locale={place.locale} sent={changed} />
      )}
    </section>
  )
}
