/** Tasks as a list shows them. */
import type { TaskInContext } from 'gridpost-client'
import type { Group } from '../groups.ts'

export interface ShownTask {
  task: TaskInContext
  /** As it was marked last, here or elsewhere. */
  status: 'open' | 'done'
}

export interface ShownGroup {
  group: Group
  tasks: ShownTask[]
}
