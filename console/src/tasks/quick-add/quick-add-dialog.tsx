/** The dialog in which a task is typed as a line, with what it becomes. */
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { Becomes } from './becomes.tsx'
import { LineField } from './line-field.tsx'
import type { RecordOfTask } from './opened.ts'
import './quick-add.css'
import { useRecordAtAddress } from './record-at-address.ts'
import { useQuickAdd } from './use-quick-add.ts'

/** @param onRecord the record it is about, if it is another one than the address says */
export function QuickAddDialog({ onRecord, close }: { onRecord: RecordOfTask | undefined; close: () => void }) {
  const navigate = useNavigate()
  const atAddress = useRecordAtAddress()
  const [isStandalone, setStandalone] = useState(false)
  const record = isStandalone ? undefined : (onRecord ?? atAddress)
  const quickAdd = useQuickAdd(record, ({ id, title }) => {
    const open = () => void navigate({ to: '/task/$taskId', params: { taskId: String(id) } })
    toast(taskTexts.created(title), { action: { label: taskTexts.open, run: open } })
    close()
  })
  const { draft, failure, isSending, enter } = quickAdd
  return (
    <DialogBox title={taskTexts.add} close={close}>
      <form
        className="quick-add"
        onSubmit={(event) => {
          event.preventDefault()
          enter()
        }}
      >
        <LineField quickAdd={quickAdd} />
        <Becomes quickAdd={quickAdd} record={record} removeRecord={() => setStandalone(true)} />
        {draft.conflict && (
          <div className="quick-add-conflict" role="alert">
            <p>{taskTexts.otherLine(draft.conflict.theirs?.text ?? '')}</p>
            <button type="button" className="button small" onClick={draft.conflict.takeTheirs}>
              {taskTexts.takeOther}
            </button>
            <button type="button" className="button small" onClick={draft.conflict.keepMine}>
              {taskTexts.keepMine}
            </button>
          </div>
        )}
        {failure && (
          <p className="problem" role="alert">
            {failure} {taskTexts.nothingIsLost}
          </p>
        )}
        <div className="quick-add-foot">
          <p className="hint">{taskTexts.lineHint}</p>
          <button type="submit" className="button primary" aria-disabled={isSending}>
            {isSending ? taskTexts.creating : failure ? taskTexts.createAgain : taskTexts.create}
          </button>
        </div>
      </form>
    </DialogBox>
  )
}
