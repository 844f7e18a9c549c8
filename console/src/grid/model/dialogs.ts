/** What a grid asks a person. */
import type { NewRecord, RecordEdit } from '../edits/edit.ts'

/** A cell of a paste that does not fit, named as people find it. */
export interface Misfit {
  row: number
  column: string
  text: string
  problem: string
}

interface PasteDialog {
  ask: 'paste'
  records: readonly RecordEdit[]
  /** The records that are added below the last one. */
  creates: readonly NewRecord[]
  cells: number
  misfits: readonly Misfit[]
  moreMisfits: number
  lost: readonly string[]
}

export type Dialog =
  | PasteDialog
  | { ask: 'clear'; records: readonly RecordEdit[]; cells: number }
  | { ask: 'delete'; count: number; ids: readonly number[] | null }
