/** A task as a whole, edited in place: on a page of its own, beside a list, or in a dialog over a record. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { LeftComment } from '../../record/left-comment.tsx'
import { isNotHere, messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { usePlaces } from '../../session/places.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { announce } from '../../ui/announcer.ts'
import '../../ui/button.css'
import { Icon } from '../../ui/icons/icon.tsx'
import { When } from '../../ui/locale/when.tsx'
import { AssigneeEdit } from '../editing/assignee-edit.tsx'
import { BothShown } from '../editing/both-shown.tsx'
import { DueEdit } from '../editing/due-edit.tsx'
import { dueText } from '../editing/due-of.ts'
import { ReminderEdit } from '../editing/reminder-edit.tsx'
import { useMarking, useMarks } from '../marks.ts'
import { usePeople } from '../people.ts'
import type { Person } from '../quick-add/found-people.ts'
import { useReader } from '../reader.ts'
import { changeWords } from './change-words.ts'
import { commentDraftName } from './comment-subject.ts'
import { DeleteButton } from './delete-button.tsx'
import { Files, useTaskFiles } from './files.tsx'
import { Followers } from './followers.tsx'
import { LeftTexts } from './left-drafts.tsx'
import { TaskComments } from './task-comments.tsx'
import '../task-check.css'
import './task.css'
import { type TextDrafts, useTextDrafts } from '../editing/text-drafts.ts'
import { TextEdit } from '../editing/text-edit.tsx'
import { type Editing, useEditing } from '../editing/use-editing.ts'
import { type OpenTask, type TaskDetail, useTask } from './use-task.ts'

export interface TaskViewProps {
  taskId: number
  /** Of the title: a page has the first heading. */
  heading: 'h1' | 'h2'
  /** What the head of the frame has, such as a button to close it. */
  actions?: ReactNode
  /** The id of the comment that the address names. */
  entry?: number | undefined
  /** Runs once the task is deleted here. */
  deleted(): void
  /** Gets the title, as soon as it is known and whenever it changes. */
  named?(title: string): void
}

export function TaskView(props: TaskViewProps) {
  const open = useTask(props.taskId)
  const { task, error, refetch } = open
  const { named } = props
  useEffect(() => {
    if (task) named?.(task.title)
  }, [task, named])
  if (task) return <Whole {...props} open={open} task={task} />
  const Heading = props.heading
  return (
    <div className="task-view">
      <div className="task-bar">
        <span className="rest" />
        {props.actions}
      </div>
      {error !== null && (
        <div role="alert">
          <Heading>{isNotHere(error) ? taskTexts.notHere : taskTexts.failed}</Heading>
          <p>{isNotHere(error) ? taskTexts.notHereWhy : messageOf(error)}</p>
          {isNotHere(error) && (
            <>
              <LeftTexts taskId={props.taskId} />
              <LeftComment draftName={commentDraftName(props.taskId)} />
            </>
          )}
          {!isNotHere(error) && (
            <button type="button" className="button small" onClick={refetch}>
              {taskTexts.retry}
            </button>
          )}
        </div>
      )}
    </div>
  )
}

/** The longest texts that the service takes (contract.md §4). */
const [MOST_OF_TITLE, MOST_OF_DETAILS] = [500, 100_000]

function Whole({ task, open, heading: Heading, actions, deleted, entry }: TaskViewProps & { task: TaskDetail; open: OpenTask }) {
  const place = useReader()
  const me = useMe()
  const { places } = usePlaces()
  const { people } = usePeople(task.space_id)
  const isAdmin = places.some(({ id, role }) => id === task.space_id && role === 'admin')
  const mayEdit = !open.isGone && (task.creator_user_id === me.id || task.assignee_user_id === me.id)
  const editing = useEditing(open, task, mayEdit)
  const files = useTaskFiles(editing, open)
  const drafts = useTextDrafts(task)
  const personOf = (id: number): Person => people.find((person) => person.id === id) ?? { id, name: taskTexts.somebody(id), email: null }
  const Part = Heading === 'h1' ? 'h2' : 'h3'
  const texts = { task, mayEdit, save: open.save }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files may be dropped anywhere on the task
    <div
      className="task-view"
      data-status={task.status}
      onDragOver={(event) => mayEdit && event.dataTransfer.types.includes('Files') && event.preventDefault()}
      onDrop={(event) => {
        if (!mayEdit || !event.dataTransfer.files.length || event.defaultPrevented) return
        event.preventDefault()
        files.add([...event.dataTransfer.files])
      }}
    >
      <div className="task-bar">
        <DoneBox task={task} isDisabled={!mayEdit} />
        <span className="rest" />
        {(mayEdit || isAdmin) && !open.isGone && <DeleteButton task={task} deleted={deleted} />}
        {actions}
      </div>
      <Said open={open} personOf={personOf} />
      {drafts.conflict && <DraftConflict conflict={drafts.conflict} />}
      <Heading className="visually-hidden">{task.title}</Heading>
      <TextEdit {...texts} name="title" label={taskTexts.title} draft={drafts.title} most={MOST_OF_TITLE} />
      <Facts {...{ editing, place, personOf }} />
      <TextEdit
        {...texts}
        name="details"
        label={taskTexts.details}
        placeholder={taskTexts.addDetails}
        draft={drafts.details}
        most={MOST_OF_DETAILS}
        isLong
      />
      <section className="task-part" aria-label={taskTexts.files}>
        <Files editing={editing} files={files} locale={place.locale} />
      </section>
      <section className="task-part" aria-label={taskTexts.followers}>
        <Part>{taskTexts.followers}</Part>
        <Followers task={task} isGone={open.isGone} personOf={personOf} />
      </section>
      <TaskComments
        {...{ task, place, entry }}
        isGone={open.isGone}
        heading={Part}
        mayDeleteAll={isAdmin || task.creator_user_id === me.id}
      />
      <p className="task-origin">
        {taskTexts.createdBy(personOf(task.creator_user_id).name)} <When instant={task.created_at} place={place} />
        {!mayEdit && !open.isGone && <span>{taskTexts.mayNotEdit}</span>}
      </p>
    </div>
  )
}

function DoneBox({ task, isDisabled }: { task: TaskDetail; isDisabled: boolean }) {
  const { mark } = useMarking()
  const status = useMarks().get(task.id)?.status ?? task.status
  return (
    <label className="task-done">
      <input
        type="checkbox"
        className="task-check"
        aria-label={task.title}
        checked={status === 'done'}
        disabled={isDisabled}
        onChange={({ target }) => mark({ ...task, status }, target.checked ? 'done' : 'open')}
      />
      {status === 'done' ? taskTexts.done : taskTexts.markDone}
    </label>
  )
}

function DraftConflict({ conflict: { theirs, keepMine, takeTheirs } }: { conflict: NonNullable<TextDrafts['conflict']> }) {
  return (
    <div className="both-shown" role="alert">
      <p dir="auto">{taskTexts.otherPage(theirs)}</p>
      <button type="button" className="button small" onClick={keepMine}>
        {taskTexts.keepThis}
      </button>{' '}
      <button type="button" className="button small" onClick={takeTheirs}>
        {taskTexts.takeThat}
      </button>
    </div>
  )
}

/** What others have done to it while it is open. */
function Said({ open: { isGone, changes, forgetChanges }, personOf }: { open: OpenTask; personOf(id: number): Person }) {
  const words = isGone ? taskTexts.isGone : changes.map((change) => changeWords(change, (id) => personOf(id).name)).join(' ')
  useEffect(() => {
    if (words) announce(words)
  }, [words])
  if (!words) return null
  return (
    <div className="task-said" data-gone={isGone ? '' : undefined}>
      <Icon name={isGone ? 'triangle-alert' : 'info'} />
      <p>{words}</p>
      {!isGone && (
        <button type="button" className="button quiet icon-only small" aria-label={taskTexts.understood} onClick={forgetChanges}>
          <Icon name="x" />
        </button>
      )}
    </div>
  )
}

function Facts({ editing, place, personOf }: { editing: Editing; place: ReturnType<typeof useReader>; personOf(id: number): Person }) {
  const { task, mayEdit, failed, conflict } = editing
  const { table_id, record_id, table_name, record_title } = task
  return (
    <>
      <dl className="task-facts-list">
        <div>
          <dt>{taskTexts.assignee}</dt>
          <dd>
            <AssigneeEdit editing={editing} assignee={personOf(task.assignee_user_id)} />
          </dd>
        </div>
        <div>
          <dt>{taskTexts.due}</dt>
          <dd>
            <DueEdit editing={editing} place={place} />
          </dd>
        </div>
        <div>
          <dt>{taskTexts.reminder}</dt>
          <dd>
            <ReminderEdit editing={editing} place={place} />
          </dd>
        </div>
        {table_id !== null && record_id !== null && (
          <div>
            <dt>{taskTexts.record}</dt>
            <dd className="task-record-fact">
              <Link to="/table/$tableId/record/$recordId" params={{ tableId: String(table_id), recordId: String(record_id) }} dir="auto">
                {record_title || taskTexts.untitled(record_id)}
              </Link>{' '}
              <small>{table_name}</small>
            </dd>
          </div>
        )}
      </dl>
      {mayEdit && failed && (
        <p className="problem" role="alert">
          {failed.problem}{' '}
          <button type="button" className="button small" onClick={failed.again}>
            {taskTexts.retry}
          </button>
        </p>
      )}
      {mayEdit && conflict && <BothShown {...conflict} theirs={factsOf(conflict, personOf, place)} />}
    </>
  )
}

/** Their values of what was to be changed, in words. */
function factsOf(
  { theirs, keys }: NonNullable<Editing['conflict']>,
  personOf: (id: number) => Person,
  place: ReturnType<typeof useReader>,
) {
  if (keys.includes('assignee_user_id')) return personOf(theirs.assignee_user_id).name
  if (keys.includes('attachments')) return theirs.attachments.map(({ name }) => name).join(', ')
  return dueText(theirs, place)
}
