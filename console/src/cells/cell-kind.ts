/** What is asked of a type of field in a page. */
import type { ComponentType, ReactNode } from 'react'
import type { CellText, Field, Move, Place, Surroundings, Value } from './kind.ts'

export interface ShownProps {
  value: Value
  field: Field
  place: Place
}

export interface EditorProps {
  value: Value
  field: Field
  surroundings: Surroundings
  /** The characters that opened the editor. They replace the value. */
  typed?: string | undefined
  /** True if Enter was pressed while the editor was being loaded. */
  isEntered?: boolean | undefined
  /** Files that were dropped or pasted onto the cell. */
  files?: readonly File[] | undefined
  /** True beside a grid: a long text has many lines there, and Enter begins one. */
  hasRoom?: boolean | undefined
  /** The accessible name of the editor; by default the name of the field. */
  label?: string | undefined
  commit(value: Value, move?: Move): void
  cancel(): void
  /** The focus has left a text that does not fit. The cell is as it was; the problem is said, and the text kept. By default as `cancel`. */
  refused?(text: string, problem: string): void
  /** Called with a text as it is typed. */
  typing?(text: string): void
  /** Shows a value that the editor has stored by itself. */
  saved(value: Value): void
}

export interface CellKind extends CellText {
  /** Shows a value in a cell of one or more lines. It uses no hooks, so that a grid may call it as a function. */
  Shown(props: ShownProps): ReactNode
  /** Covers the box of its parent, which has a position. */
  Editor: ComponentType<EditorProps>
}
