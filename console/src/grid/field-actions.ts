/** What admins can do with the fields of the table, which another room does: the grid only has the buttons for it. */
import { createContext } from 'react'

export interface FieldActions {
  add(): void
  edit(fieldId: string): void
  remove(fieldId: string): void
}

/** Null where fields cannot be changed. */
export const FieldActionsContext = createContext<FieldActions | null>(null)
