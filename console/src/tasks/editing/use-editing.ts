/** Changes of a task's facts: what failed is said, and two who change the same see both. */
import { useState } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { announce } from '../../ui/announcer.ts'
import type { Change, OpenTask, Saved, TaskDetail } from '../task/use-task.ts'

export interface Editing {
  task: TaskDetail
  mayEdit: boolean
  /** @param says the new value in words */
  change(change: Change, says: string): Promise<void>
  /** What could not be saved last, with a way to try again. */
  failed: { problem: string; again(): void } | null
  conflict: { mine: string; theirs: Extract<Saved, { stale: true }>['theirs']; keys: string[]; keepMine(): void; takeTheirs(): void } | null
}

export function useEditing({ save, refetch }: OpenTask, task: TaskDetail, mayEdit: boolean): Editing {
  const [failed, setFailed] = useState<Editing['failed']>(null)
  const [conflict, setConflict] = useState<Editing['conflict']>(null)
  const send = async (next: Change, says: string, base?: Parameters<OpenTask['save']>[1]) => {
    const saved = await save(next, base)
    setConflict(null)
    setFailed(null)
    if (saved.ok) return announce(taskTexts.saved)
    if (!saved.stale) return setFailed({ problem: saved.problem, again: () => void send(next, says, base) })
    setConflict({
      ...{ mine: says, theirs: saved.theirs, keys: Object.keys(next) },
      keepMine: () => void send(next, says, saved.theirs),
      takeTheirs() {
        setConflict(null)
        refetch()
      },
    })
  }
  return { task, mayEdit, failed, conflict, change: (next, says) => send(next, says, task) }
}
