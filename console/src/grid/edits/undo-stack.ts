/** What can be undone and redone: changes by the ids that the service gave them. A redo is the undo of an undo. */

/** One thing that a person did; a large paste is several changes. */
export interface Done {
  label: string
  changeIds: readonly number[]
}

export interface UndoStack {
  push(done: Done): void
  /** Takes the last thing off, to be undone. @param again true for a redo */
  take(again: boolean): Done | undefined
  /** Keeps what the undo was itself, so that it can be undone again. @param again true after a redo */
  keep(done: Done, again: boolean): void
  can(again: boolean): boolean
}

const MOST = 200

export function createUndoStack(): UndoStack {
  let undo: Done[] = []
  let redo: Done[] = []
  const of = (again: boolean) => (again ? redo : undo)
  return {
    push(done) {
      if (!done.changeIds.length) return
      undo = [...undo, done].slice(-MOST)
      redo = []
    },
    take: (again) => of(again).pop(),
    keep(done, again) {
      if (done.changeIds.length) of(!again).push(done)
    },
    can: (again) => of(again).length > 0,
  }
}
