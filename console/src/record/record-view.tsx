/** A record: its fields, its tasks and its timeline, in a panel beside the grid or on a page of its own. */
import { useQueryClient } from '@tanstack/react-query'
import { type RefObject, Suspense, useEffect, useMemo, useRef } from 'react'
import { whyNotEditable } from '../cells/cell-text.ts'
import { preloadEditors } from '../cells/editors/lazy-editors.tsx'
import type { Surroundings } from '../cells/kind.ts'
import type { GridModel } from '../grid/model/grid-model.ts'
import { refreshRows } from '../grid/model/leaving.ts'
import { ConflictQuestion } from '../grid/shown/questions.tsx'
import type { TableData } from '../grid/table-data.ts'
import { useClient } from '../session/client.ts'
import { messageOf } from '../session/errors.ts'
import { gridTexts } from '../texts/grid.ts'
import { recordTexts } from '../texts/record/record.ts'
import { useTitle } from '../ui/title.ts'
import { toast } from '../ui/toasts/toasts.ts'
import { WhyNotHere } from '../views/why-not-here.tsx'
import { draftNameOf } from './comments/record-comments.ts'
import { useDelete } from './deleted/deleting.ts'
import { GoneNotice } from './deleted/gone.tsx'
import { type Dropped, useDropping } from './fields/dropping.ts'
import { Fields } from './fields/fields.tsx'
import { LeftComment } from './left-comment.tsx'
import { useNeighbours } from './neighbours.ts'
import { announceTitle, focusTitle } from './open-record.ts'
import { useReading } from './reading.ts'
import { recordAddress } from './record-address.ts'
import { isLost, type OpenRecord, useRecord } from './record-data.ts'
import { RecordHead } from './record-head.tsx'
import { useRecordKeys, useUndoKeys } from './record-keys.ts'
import type { MenuAction } from './record-menu.tsx'
import type { RecordPlace } from './record-parts.ts'
import type { RecordViewProps } from './record-view-props.ts'
import './record.css'

export function RecordView(props: RecordViewProps) {
  const { tableId, recordId, frame, definition, grid, entry, narrowing, close } = props
  const key = `${tableId}-${recordId}`
  const open = useRecord(tableId, recordId, definition.table.fields, grid && knownInGrid(grid, recordId))
  const { record, isGone } = open
  useReading(tableId, recordId, record !== undefined && !isGone)
  const element = useRef<HTMLElement>(null)
  useFocusOnOpening(element, key, frame)
  useEffect(() => void preloadEditors(), [])
  const neighbours = useNeighbours(narrowing, recordId, grid)
  useRecordKeys({ recordId, neighbours, show: props.show }, close)
  const title = record?.title ?? (record || !isGone ? recordTexts.untitled(recordId) : recordTexts.notHere)
  useTitle(frame === 'page' ? recordTexts.page(title, definition.table.name) : undefined)
  const refresh = useRefresh(tableId, grid)
  useUndoKeys(definition, open.table, refresh)
  const editable = definition.table.fields.filter((field) => !isGone && whyNotEditable(field, definition.role) === null)
  const { dropped, isOver, handlers } = useDropping(editable)
  const actions = useActions(props, isGone ? undefined : record, title, refresh)

  const place: RecordPlace | undefined = record && {
    ...{ tableId, recordId, record, definition, entry, role: definition.role },
    spaceId: definition.table.space_id,
    headings: frame === 'panel' ? 'h3' : 'h2',
    openComposer: props.setCompose,
  }
  const Frame = frame === 'panel' ? 'aside' : 'main'
  const head = { ...props, title, neighbours, actions, place: isGone ? undefined : place }
  return (
    <Frame
      ref={element}
      className={`record record-${frame}`}
      aria-label={frame === 'panel' ? recordTexts.panel : undefined}
      aria-busy={!open.isWhole && open.error === null}
      data-over={isOver ? '' : undefined}
      {...handlers}
    >
      <RecordHead {...head} />
      <Notices {...props} open={open} title={title} matches={neighbours.matches} />
      {place && <Parts {...props} key={key} place={place} open={open} dropped={dropped} />}
    </Frame>
  )
}

interface PartsProps extends RecordViewProps {
  place: RecordPlace
  open: OpenRecord
  dropped: Dropped | undefined
}

function Parts({ place, open, dropped, grid, definition, parts, compose, setCompose, openLinked }: PartsProps) {
  const { table, isWhole, isGone, stored } = open
  const surroundings = useSurroundings(definition, place.recordId)
  return (
    <>
      <div className="record-body">
        <div className="record-main">
          <Fields record={place.record} {...{ definition, surroundings, table, isWhole, stored, dropped, openLinked }} />
          {!isGone && (
            <Suspense>
              <parts.Tasks {...place} />
            </Suspense>
          )}
        </div>
        <div className="record-side">
          {compose !== undefined && (
            <Suspense>
              <parts.Composer key={compose} {...place} compose={compose} close={() => setCompose(undefined)} />
            </Suspense>
          )}
          {isGone ? (
            <LeftComment draftName={draftNameOf({ table_id: place.tableId, record_id: place.recordId })} />
          ) : (
            <Suspense>
              <parts.Timeline {...place} />
            </Suspense>
          )}
        </div>
      </div>
      {!grid && <ConflictQuestion edits={table.edits} fields={definition.table.fields} place={surroundings} done={() => undefined} />}
    </>
  )
}

/** What has to be known of a record beside its values: that it is not there, not in the view, or not as it is now. */
function Notices({ open, title, matches, ...props }: RecordViewProps & { open: OpenRecord; title: string; matches: boolean | undefined }) {
  const { tableId, recordId, definition, view } = props
  const { record, isGone, error, readAgain, table } = open
  const mayWrite = definition.role !== 'viewer'
  if (isGone) return <GoneNotice key={recordId} {...{ tableId, recordId, title, mayWrite }} isShown={record !== undefined} />
  const { unsaved, trouble, reason } = table.edits.state()
  return (
    <>
      {error !== null && (
        <div className="notice-bar" role="alert">
          <p>{isLost(error) ? recordTexts.noLonger : messageOf(error)}</p>
          {record && <p>{recordTexts.shownAsBefore}</p>}
          <button type="button" className="button small" onClick={readAgain}>
            {gridTexts.retry}
          </button>
        </div>
      )}
      {trouble !== 'none' && unsaved > 0 && (
        <div className="notice-bar" role="alert">
          <p>{trouble === 'signed-out' ? gridTexts.signedOut(unsaved) : gridTexts.waiting(unsaved, reason)}</p>
          <button type="button" className="button small" onClick={() => table.edits.retry()}>
            {gridTexts.sendNow}
          </button>
        </div>
      )}
      {matches === false && view && (
        <section className="notice-bar" aria-label={recordTexts.notInView(view.name)}>
          <p>{recordTexts.notInView(view.name)}</p>
          <WhyNotHere tableId={tableId} recordId={recordId} viewId={view.id} tried={view.tried} />
        </section>
      )}
    </>
  )
}

/** Reads again what a change that the service made for one may have changed. */
function useRefresh(tableId: number, grid: GridModel | undefined): () => void {
  const queries = useQueryClient()
  return () => {
    void queries.invalidateQueries({ queryKey: ['record', tableId] })
    if (grid) refreshRows(grid)
  }
}

function useActions({ tableId, recordId, definition, ...props }: RecordViewProps, record: unknown, title: string, refresh: () => void) {
  const remove = useDelete(
    { tableId, recordId, title },
    () => {
      refresh()
      props.close?.()
    },
    refresh,
  )
  if (!record) return []
  const address = new URL(recordAddress({ tableId, recordId }), location.href).href
  const copy = () =>
    navigator.clipboard.writeText(address).then(
      () => toast(recordTexts.linkCopied),
      () => toast(recordTexts.linkNotCopied(address)),
    )
  const actions: MenuAction[] = [{ label: recordTexts.copyLink, run: () => void copy() }]
  if (definition.role !== 'viewer') {
    actions.push({ label: recordTexts.showDeleted, run: props.showDeleted })
    actions.push({ label: recordTexts.delete, isDanger: true, run: () => void remove() })
  }
  return actions
}

function knownInGrid(grid: GridModel, recordId: number) {
  const index = grid.pages.indexOf(recordId)
  return index === undefined ? grid.state.newRows.find(({ id }) => id === recordId) : grid.pages.rowAt(index)
}

function useSurroundings({ me, table }: TableData, recordId: number): Surroundings {
  const client = useClient()
  return useMemo(
    () => ({
      ...{ client, me, recordId, spaceId: table.space_id, tableId: table.id, zone: me.timezone, locale: navigator.language },
      get now() {
        return new Date()
      },
    }),
    [client, me, table.space_id, table.id, recordId],
  )
}

/** The focus goes to the title of a record that is opened, so that it is read out and the keys are those of the record. */
function useFocusOnOpening(frame: RefObject<HTMLElement | null>, key: string, kind: 'panel' | 'page') {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another record is opened in the same frame.
  useEffect(() => {
    const { activeElement } = document
    // Whoever goes on by a button of the head stays there.
    if (frame.current?.querySelector('.record-bar')?.contains(activeElement)) announceTitle(frame.current)
    else if (kind === 'panel' || activeElement === document.body) focusTitle(frame.current)
  }, [frame, key, kind])
}
