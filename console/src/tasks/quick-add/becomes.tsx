/** What the line becomes, part by part. What is taken away stays in the title. */
import type { ReactNode } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { IconName } from '../../ui/icons/icon-paths.ts'
import { dayMeant, instantMeant } from '../../ui/locale/date-format.ts'
import { dueWords } from '../due-words.ts'
import { reminderWords } from '../reminder-words.ts'
import type { RecordOfTask } from './opened.ts'
import type { Part, QuickTask } from './quick-add.ts'
import type { QuickAdd } from './use-quick-add.ts'

interface Props {
  quickAdd: QuickAdd
  record: RecordOfTask | undefined
  removeRecord: () => void
}

export function Becomes({ quickAdd: { task, place, keep, text }, record, removeRecord }: Props) {
  const { title, due, reminder, assignee, notes } = task
  const remove = (kind: Part['kind']) => () => {
    for (const part of task.parts) if (part.kind === kind) keep(part.text)
  }
  return (
    <>
      <dl className="becomes">
        {text.trim() !== '' && (
          <Shown icon="type" name={taskTexts.title}>
            <span dir="auto">{title || '…'}</span>
          </Shown>
        )}
        {due && (
          <Shown icon="calendar" name={taskTexts.due} remove={remove('due')}>
            {dueWords(due, place)} <small>{dueMeant(task, place)}</small>
          </Shown>
        )}
        {reminder && (
          <Shown icon="bell" name={taskTexts.reminder} remove={remove('reminder')}>
            {reminderWords({ due_time: due?.due_time ?? null, ...reminder }, place)}{' '}
            <small>{taskTexts.rings(instantMeant(reminder.ringsAt, place))}</small>
          </Shown>
        )}
        {assignee && (
          <Shown icon="user" name={taskTexts.assignee} remove={remove('assignee')}>
            <span dir="auto">{assignee.name}</span> <small>{assignee.email}</small>
          </Shown>
        )}
        {record && (
          <Shown icon="link" name={taskTexts.record} remove={removeRecord}>
            <span dir="auto">{record.title}</span> <small>{record.table}</small>
          </Shown>
        )}
      </dl>
      <output className="becomes-notes">
        {notes.map((note) => (
          <span key={note}>
            <Icon name="info" /> {note}
          </span>
        ))}
      </output>
    </>
  )
}

/** The day with its weekday and year, so that a slip is seen, and the zone if the machine has another one. */
function dueMeant({ due }: QuickTask, { locale, zone }: QuickAdd['place']): string {
  if (!due) return ''
  const day = dayMeant(due.day, locale)
  return due.time === null || Intl.DateTimeFormat().resolvedOptions().timeZone === zone ? day : `${day}, ${zone}`
}

function Shown({ icon, name, children, remove }: { icon: IconName; name: string; children: ReactNode; remove?: () => void }) {
  return (
    <div>
      <dt>
        <Icon name={icon} />
        <span>{name}</span>
      </dt>
      <dd>{children}</dd>
      {remove && (
        <dd>
          <button type="button" className="button quiet icon-only small" aria-label={taskTexts.removePart(name)} onClick={remove}>
            <Icon name="x" />
          </button>
        </dd>
      )}
    </div>
  )
}
