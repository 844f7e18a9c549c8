/** The people who fit what is typed after `@`. The focus stays in the text. */
import { type RefObject, useEffect, useMemo } from 'react'
import type { Person } from '../../cells/kind.ts'
import { Avatar } from '../../cells/shown.tsx'
import { commentTexts } from '../../texts/record/comments.ts'
import { useSearch } from '../../ui/lists/use-search.ts'
import { AnchoredBox } from '../../ui/overlays/anchored-box.tsx'
import type { CommentSubject } from './comment-subject.ts'

interface Props {
  id: string
  anchor: RefObject<HTMLElement | null>
  search: string
  people: CommentSubject['people']
  /** The index of the option that Enter takes. */
  highlighted: number
  found(people: readonly Person[]): void
  highlight(index: number): void
  choose(person: Person): void
}

export function MentionPicker({ id, anchor, search, people, highlighted, found: tell, highlight, choose }: Props) {
  const { found: answered, isBusy, problem } = useSearch(search, people)
  // Until the answer comes, Enter takes only whom the text fits by itself.
  const found = useMemo(() => (isBusy ? answered.filter((person) => fits(person, search)) : answered), [answered, isBusy, search])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the function changes with each letter, what was found does not
  useEffect(() => tell(found), [found])
  return (
    <AnchoredBox anchor={anchor} label={commentTexts.people} className="mention-box">
      {found.length === 0 && <output className="mention-none">{problem ?? (isBusy ? commentTexts.searching : commentTexts.nobody)}</output>}
      <div id={id} role="listbox" aria-label={commentTexts.people} className="mention-options" hidden={found.length === 0}>
        {found.map((person, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: keys are taken in the text
          <div
            key={person.id}
            id={`${id}-${index}`}
            className="mention-option"
            role="option"
            aria-selected={index === highlighted}
            ref={index === highlighted ? (element) => element?.scrollIntoView({ block: 'nearest' }) : undefined}
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => index !== highlighted && highlight(index)}
            onClick={() => choose(person)}
          >
            <Avatar id={person.id} name={person.name} />
            <bdi className="mention-name">{person.name}</bdi>
            <span className="mention-address">{person.email}</span>
          </div>
        ))}
      </div>
    </AnchoredBox>
  )
}

function fits({ name, email }: Person, search: string): boolean {
  const known = `${name} ${email ?? ''}`.toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => known.includes(word))
}
