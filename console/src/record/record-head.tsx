/** The head of a record: its title, the way to its neighbours, and what can be done with it. */
import { Suspense, useRef, useState } from 'react'
import { recordTexts } from '../texts/record/record.ts'
import { lazyPart } from '../ui/lazy-part.tsx'
import '../ui/button.css'
import { Icon } from '../ui/icons/icon.tsx'
import type { IconName } from '../ui/icons/icon-paths.ts'
import { FollowButton } from './following.tsx'
import type { Neighbours } from './neighbours.ts'
import type { MenuAction } from './record-menu.tsx'
import type { RecordParts, RecordPlace } from './record-parts.ts'
import type { RecordViewProps } from './record-view-props.ts'

const RecordMenu = lazyPart(async () => ({ default: (await import('./record-menu.tsx')).RecordMenu }))

interface Props extends Pick<RecordViewProps, 'frame' | 'show' | 'back' | 'close' | 'pageAddress'> {
  title: string
  neighbours: Neighbours
  /** Undefined if the record is not there. */
  place: RecordPlace | undefined
  parts: RecordParts
  actions: readonly MenuAction[]
}

export function RecordHead({ title, frame, neighbours: { previous, next }, show, back, close, place, parts, pageAddress, actions }: Props) {
  const Title = frame === 'panel' ? 'h2' : 'h1'
  return (
    <header className="record-head">
      <div className="record-bar">
        {back && (
          <button type="button" className="button quiet small record-back" onClick={back.run}>
            <Icon name="chevron-left" />
            <span dir="auto">{back.label}</span>
          </button>
        )}
        <IconButton icon="chevron-up" label={recordTexts.previous} run={previous === null ? undefined : () => show(previous)} />
        <IconButton icon="chevron-down" label={recordTexts.next} run={next === null ? undefined : () => show(next)} />
        <span className="record-bar-rest" />
        {place && <FollowButton key={`${place.tableId}-${place.recordId}`} tableId={place.tableId} recordId={place.recordId} />}
        {place && (
          <Suspense>
            <parts.Actions key={`${place.tableId}-${place.recordId}`} {...place} />
          </Suspense>
        )}
        {frame === 'panel' && place && (
          <a className="button quiet small icon-only" href={pageAddress} aria-label={recordTexts.openPage} title={recordTexts.openPage}>
            <Icon name="maximize-2" />
          </a>
        )}
        {actions.length > 0 && <MoreButton actions={actions} />}
        {close && <IconButton icon="x" label={recordTexts.close} run={close} />}
      </div>
      <Title className="record-title" tabIndex={-1} dir="auto">
        {title}
      </Title>
    </header>
  )
}

function MoreButton({ actions }: { actions: readonly MenuAction[] }) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button quiet small icon-only"
        aria-label={recordTexts.more}
        title={recordTexts.more}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <Icon name="ellipsis" />
      </button>
      {isOpen && <RecordMenu anchor={button} actions={actions} close={() => setOpen(false)} />}
    </>
  )
}

function IconButton({ icon, label, run }: { icon: IconName; label: string; run: (() => void) | undefined }) {
  return (
    <button
      type="button"
      className="button quiet small icon-only"
      aria-label={label}
      title={label}
      aria-disabled={!run}
      data-disabled={run ? undefined : ''}
      onClick={run}
    >
      <Icon name={icon} />
    </button>
  )
}
