/** The line below the grid: the number of records, what is being saved, and what one can do with all or the marked ones. */
import { gridTexts } from '../../texts/grid.ts'
import { reasonToWait } from '../edits/failures.ts'
import { refusalText } from '../edits/open-edit.ts'
import { askDelete, markAll, markedCount } from '../model/deleting.ts'
import { exportRecords } from '../model/exporting.ts'
import { canWrite, type GridModel, storedRow } from '../model/grid-model.ts'
import { setTall } from '../model/layout.ts'
import { addRow } from '../model/new-rows.ts'

export function Status({ grid, viewId }: { grid: GridModel; viewId: number }) {
  const { notice, layout, newRows } = grid.state
  const { rows, isFinal } = grid.pages.length()
  const marked = markedCount(grid)
  return (
    <footer className="grid-status">
      {canWrite(grid) && (
        <button type="button" className="grid-button" onClick={() => addRow(grid)}>
          {gridTexts.newRow}
        </button>
      )}
      <span className="grid-count">{isFinal ? gridTexts.records(rows + newRows.length) : `${gridTexts.counting}…`}</span>
      {marked > 0 && (
        <span className="grid-marked">
          {gridTexts.marked(marked)}
          {canWrite(grid) && (
            <button type="button" className="grid-button danger" onClick={() => void askDelete(grid)}>
              {gridTexts.deleteRows}
            </button>
          )}
          <button type="button" className="grid-button" onClick={() => markAll(grid, false)}>
            {gridTexts.unmark}
          </button>
        </span>
      )}
      <span className={notice?.isError ? 'grid-notice error' : 'grid-notice'} role={notice?.isError ? 'alert' : 'status'}>
        {notice?.text}
      </span>
      <Refused grid={grid} />
      <Saving grid={grid} />
      <label className="grid-tall">
        <input type="checkbox" checked={layout.isTall} onChange={(event) => setTall(grid, event.target.checked)} />
        <span>
          {gridTexts.tall[0]}
          <span className="in-full">{gridTexts.tall[1]}</span>
        </span>
      </label>
      <button type="button" className="grid-button" onClick={() => void exportRecords(grid, viewId)}>
        {gridTexts.export}
      </button>
    </footer>
  )
}

/** Why the edit of the active cell was not saved, and what was typed, which may be all that is left of it. */
function Refused({ grid }: { grid: GridModel }) {
  const { selection, columns, editing } = grid.state
  const { row, col } = selection.active
  const [column, record] = [columns[col], storedRow(grid, row)]
  const refusal = column && record && grid.table.edits.refusals(record.id)?.[column.id]
  if (!refusal || editing) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keys.
    <output className="grid-refused" tabIndex={0}>
      {refusalText(refusal, column.field, grid.options.place)}
    </output>
  )
}

function Saving({ grid }: { grid: GridModel }) {
  const { unsaved, trouble, reason } = grid.table.edits.state()
  const waitsFor = grid.pages.waitsFor()
  if (waitsFor !== undefined && !unsaved) {
    return (
      <span className="grid-saving error" role="alert">
        {gridTexts.readingWaits(reasonToWait(waitsFor))}
        <button type="button" className="grid-button" onClick={() => grid.pages.retry()}>
          {gridTexts.retry}
        </button>
      </span>
    )
  }
  if (trouble !== 'none' && unsaved) {
    return (
      <span className="grid-saving error" role="alert">
        {trouble === 'signed-out' ? gridTexts.signedOut(unsaved) : gridTexts.waiting(unsaved, reason)}
        <button type="button" className="grid-button" onClick={() => grid.table.edits.retry()}>
          {gridTexts.sendNow}
        </button>
      </span>
    )
  }
  return <span className="grid-saving">{unsaved ? `${gridTexts.saving}…` : ''}</span>
}
