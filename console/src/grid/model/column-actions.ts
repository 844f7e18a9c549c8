/** What the bar above a grid offers for its columns, such as sorting by them. The grid only shows it in their menus. */
import type { Field } from '../../cells/kind.ts'
import type { GridModel } from './grid-model.ts'

export interface ColumnAction {
  does: string
  run(): void
}
type ActionsOf = (field: Field) => readonly ColumnAction[]

const offered = new WeakMap<GridModel, ActionsOf>()

/** @returns how to take the offer back */
export function offerColumnActions(grid: GridModel, actionsOf: ActionsOf): () => void {
  offered.set(grid, actionsOf)
  return () => void (offered.get(grid) === actionsOf && offered.delete(grid))
}

export const columnActions = (grid: GridModel, field: Field): readonly ColumnAction[] => offered.get(grid)?.(field) ?? []
