/** A task on the timeline of its record, where it was created. */
import { Avatar } from '../../cells/shown.tsx'
import type { ShownKind, ShownProps } from '../../record/timeline/entry.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { When } from '../../ui/locale/when.tsx'
import { usePeople } from '../people.ts'
import { TaskLine } from './task-line.tsx'

export const taskKind: ShownKind<'task'> = {
  kind: 'task',
  label: ({ row }) => taskTexts.entry(row.title),
  Shown: TaskEntry,
}

function TaskEntry({ entry: { row }, place }: ShownProps<'task'>) {
  const { people } = usePeople(place.spaceId)
  const nameOf = (id: number) => people.find((person) => person.id === id)?.name
  const creator = nameOf(row.creator_user_id) ?? taskTexts.somebody(row.creator_user_id)
  return (
    <div className="task-entry">
      <p className="entry-head">
        <Avatar id={row.creator_user_id} name={creator} />
        <bdi className="entry-who">{creator}</bdi> {taskTexts.hasAdded}
        <When instant={row.created_at} place={place.reader} />
      </p>
      <TaskLine task={row} place={place.reader} assignee={nameOf(row.assignee_user_id)} />
    </div>
  )
}
