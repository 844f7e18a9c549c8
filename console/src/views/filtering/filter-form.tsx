/** The form of conditions: rows, each with a field, a compare and a value, and groups of them. It is loaded when it is opened. */
import { type FormEvent, useMemo, useState } from 'react'
import type { Field, Place } from '../../cells/kind.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { SelectField } from '../../ui/form-fields.tsx'
import { Icon } from '../../ui/icons/icon.tsx'
import { treeWords, type Wording } from '../condition-words.ts'
import { useLinkedFields } from '../wording.ts'
import { ConditionRow } from './condition-row.tsx'
import { type Draft, type GroupDraft, type Match, newGroup, newRow, type Problems, replaced, rootOf, treeOf } from './filter-draft.ts'
import type { FormPlace } from './form-place.ts'
import './filtering.css'

interface Props {
  fields: readonly Field[]
  place: Place
  spaceId: number
  wording: Wording
  /** The field that a new condition begins with. */
  column?: string | undefined
  /** What is changed; left out for a new condition. */
  tree?: unknown
  /** Takes the conditions, all of which must hold. False: there is no room for them. */
  submit(trees: unknown[]): boolean
  close(): void
}

export function FilterForm({ fields, place, spaceId, wording, column, tree, submit, close }: Props) {
  const linked = useFilterable(fields)
  const fieldOf = (name: string) => [...fields, ...linked].find(({ id }) => id === name) ?? wording.fieldOf(name)
  const [root, setRoot] = useState(() =>
    tree === undefined ? newGroup([newRow((column !== undefined && fieldOf(column)) || fields[0])]) : rootOf(tree, fieldOf, place),
  )
  const [problems, setProblems] = useState<Problems>(new Map())
  const [problem, setProblem] = useState<string>()

  const send = (event: FormEvent) => {
    event.preventDefault()
    const found = new Map<number, string>()
    const whole = treeOf(root, fieldOf, place, found)
    setProblems(found)
    if (found.size > 0) return focusProblem(event.currentTarget)
    if (root.members.length === 0) return setProblem(viewTexts.conditionMissing)
    const isList = root.match === 'all' && root.members.length > 1
    const isRoom = submit(isList ? root.members.map((member) => treeOf(member, fieldOf, place, new Map())) : [whole])
    if (!isRoom) setProblem(viewTexts.noRoom)
  }
  const form: FormPlace = {
    ...{ own: fields, linked, fieldOf, place, spaceId, wording, problems },
    change(key, change) {
      setProblem(undefined)
      setProblems(new Map([...problems].filter(([other]) => other !== key)))
      setRoot((before) => (before.key === key ? (change(before) as GroupDraft) : replaced(before, key, change)))
    },
  }
  return (
    <DialogBox title={tree === undefined ? viewTexts.filter : viewTexts.changeTitle} close={close}>
      <form className="view-form filter-form" onSubmit={send} noValidate>
        <Members form={form} group={root} depth={1} />
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="filter-actions">
          <Adding form={form} group={root} depth={1} />
          <button type="submit" className="button primary">
            {tree === undefined ? viewTexts.add : viewTexts.apply}
          </button>
        </div>
      </form>
    </DialogBox>
  )
}

/** Fields of other tables cannot be searched for files. */
function useFilterable(fields: readonly Field[]): Field[] {
  const linked = useLinkedFields(fields)
  return useMemo(() => linked.filter(({ type, always_hidden }) => type !== 'file' && !always_hidden), [linked])
}

/** The first field with a problem takes the focus, once the problem is shown. */
function focusProblem(form: EventTarget & Element): void {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
}

/** The most groups in one another (docs/queries.md, Conditions); one is around what is saved. */
const MOST_DEPTH = 4

interface GroupProps {
  form: FormPlace
  group: GroupDraft
  depth: number
}

function Members({ form, group, depth }: GroupProps) {
  const { members, match } = group
  const isAlone = depth === 1 && members.length === 1
  return (
    <>
      {(members.length > 1 || match !== 'all' || depth > 1) && (
        <SelectField
          label={viewTexts.match}
          value={match}
          change={(next) => form.change(group.key, () => ({ ...group, match: next as Match }))}
          options={viewTexts.matches}
        />
      )}
      {members.map((member, index) => (
        <Member key={member.key} {...{ form, member, depth, isAlone }} number={index + 1} />
      ))}
    </>
  )
}

interface MemberProps {
  form: FormPlace
  member: Draft
  depth: number
  number: number
  isAlone: boolean
}

function Member({ form, member, depth, number, isAlone }: MemberProps) {
  const remove = () => form.change(member.key, () => null)
  if (member.kind === 'group') {
    return (
      <fieldset className="filter-group">
        <legend className="visually-hidden">{viewTexts.groupName}</legend>
        <Members form={form} group={member} depth={depth + 1} />
        <div className="filter-actions">
          <Adding form={form} group={member} depth={depth + 1} />
          <button type="button" className="button quiet small" onClick={remove}>
            {viewTexts.removeGroup}
          </button>
        </div>
      </fieldset>
    )
  }
  return (
    <fieldset className="filter-row">
      <legend className="visually-hidden">{viewTexts.rowName(number)}</legend>
      {member.kind === 'row' ? (
        <ConditionRow form={form} row={member} />
      ) : (
        <p className="filter-kept" dir="auto">
          {treeWords(member.tree, form.wording)}
        </p>
      )}
      {!isAlone && (
        <button
          type="button"
          className="button quiet small icon-only filter-remove"
          aria-label={viewTexts.removeCondition(number)}
          onClick={remove}
        >
          <Icon name="x" />
        </button>
      )}
    </fieldset>
  )
}

function Adding({ form, group, depth }: GroupProps) {
  const add = (member: Draft) =>
    form.change(group.key, (before) => ({ ...(before as GroupDraft), members: [...(before as GroupDraft).members, member] }))
  const row = () => newRow(form.own[0])
  return (
    <>
      <button type="button" className="button quiet small" onClick={() => add(row())}>
        <Icon name="plus" />
        {viewTexts.addCondition}
      </button>
      {depth < MOST_DEPTH && (
        <button type="button" className="button quiet small" onClick={() => add(newGroup([row()], group.match === 'any' ? 'all' : 'any'))}>
          <Icon name="plus" />
          {viewTexts.addGroup}
        </button>
      )}
    </>
  )
}
