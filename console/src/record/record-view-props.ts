/** What the panel and the page of a record are given by their addresses. */
import type { GridModel } from '../grid/model/grid-model.ts'
import type { Conditions, RecordSource } from '../grid/pages/record-source.ts'
import type { TableData } from '../grid/table-data.ts'
import type { OpenLinked } from './fields/links.tsx'
import type { RecordParts } from './record-parts.ts'

export interface RecordViewProps {
  tableId: number
  recordId: number
  frame: 'panel' | 'page'
  parts: RecordParts
  definition: TableData
  /** The grid beside the panel, if it shows the table of the record. */
  grid?: GridModel | undefined
  /** The view that one has come from, and what is tried there. */
  view?: { id: number; name: string; tried: Conditions } | undefined
  /** The query whose order the previous and the next record are in; none for a linked record. */
  narrowing?: RecordSource['narrowing'] | undefined
  compose?: string | undefined
  entry?: number | undefined
  /** Puts what is being written into the address, or nothing. */
  setCompose(compose: string | undefined): void
  /** Shows another record of the table in place of this one. */
  show(recordId: number): void
  openLinked: OpenLinked
  /** Where one came from; of a panel also the way to close it. */
  back?: { label: string; run(): void } | undefined
  close?: (() => void) | undefined
  showDeleted(): void
  /** The address of the page of the record. */
  pageAddress: string
}
