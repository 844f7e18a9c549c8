/** A task over the record that it is about. */
import { taskTexts } from '../../texts/tasks.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { TaskView } from '../task/task-view.tsx'

export function TaskDialog({ taskId, close }: { taskId: number; close(): void }) {
  return (
    <DialogBox title={taskTexts.task} close={close}>
      <TaskView taskId={taskId} heading="h2" deleted={close} />
    </DialogBox>
  )
}
