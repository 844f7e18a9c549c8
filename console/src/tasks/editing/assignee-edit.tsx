/** Who has the task, chosen from the people who can have it. */
import { useRef, useState } from 'react'
import { Avatar } from '../../cells/shown.tsx'
import { taskTexts } from '../../texts/tasks.ts'
import { ChoiceList } from '../../ui/lists/choice-list.tsx'
import { AnchoredBox } from '../../ui/overlays/anchored-box.tsx'
import { peopleNamed, usePeople } from '../people.ts'
import type { Person } from '../quick-add/found-people.ts'
import type { Editing } from './use-editing.ts'

export function AssigneeEdit({ editing: { task, mayEdit, change }, assignee }: { editing: Editing; assignee: Person }) {
  const [isOpen, setOpen] = useState(false)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    anchor.current?.focus()
  }
  const shown = (
    <>
      <Avatar id={assignee.id} name={assignee.name} />
      <span dir="auto">{assignee.name}</span>
    </>
  )
  if (!mayEdit) return <span className="task-person">{shown}</span>
  return (
    <>
      <button
        ref={anchor}
        type="button"
        className="button quiet task-person"
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span className="visually-hidden">{taskTexts.assigneeIs}</span>
        {shown}
      </button>
      {isOpen && (
        <AnchoredBox anchor={anchor} label={taskTexts.assignee} className="task-people">
          {/* biome-ignore lint/a11y/noStaticElementInteractions: it only hears Escape and where the focus goes */}
          <div
            onKeyDown={(event) => {
              if (event.key !== 'Escape' && event.key !== 'Tab') return
              event.preventDefault()
              event.stopPropagation()
              close()
            }}
            onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && setOpen(false)}
          >
            <Choices
              spaceId={task.space_id}
              chosen={assignee.id}
              choose={(person) => {
                close()
                if (person.id !== assignee.id) void change({ assignee_user_id: person.id }, person.name)
              }}
            />
          </div>
        </AnchoredBox>
      )}
    </>
  )
}

function Choices({ spaceId, chosen, choose }: { spaceId: number | null; chosen: number; choose(person: Person): void }) {
  const [text, setText] = useState('')
  const word = text.trim().split(/\s+/)[0] ?? ''
  const { people, isBusy } = usePeople(spaceId, word ? [word] : [])
  const found = peopleNamed(people, text)
  return (
    <ChoiceList
      label={taskTexts.assignee}
      text={text}
      onText={setText}
      options={found.map((person) => ({
        id: String(person.id),
        text: `${person.name} ${person.email ?? ''}`,
        content: (
          <span className="person" dir="auto">
            <Avatar id={person.id} name={person.name} />
            {person.name} <small>{person.email}</small>
          </span>
        ),
      }))}
      chosen={new Set([String(chosen)])}
      isMultiple={false}
      isBusy={isBusy}
      empty={isBusy ? taskTexts.loading : taskTexts.nobody}
      onChoose={(id) => {
        const person = found.find((one) => String(one.id) === id)
        if (person) choose(person)
      }}
      onKey={() => {}}
    />
  )
}
