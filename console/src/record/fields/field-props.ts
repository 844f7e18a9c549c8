/** What the fields of a record have to know. */
import type { Role } from '../../cells/cell-text.ts'
import type { Field, Surroundings } from '../../cells/kind.ts'
import type { TableData } from '../../grid/table-data.ts'
import type { OpenRecord } from '../record-data.ts'
import type { Dropped } from './dropping.ts'
import type { OpenLinked } from './links.tsx'

export interface FieldsProps extends Pick<OpenRecord, 'table' | 'isWhole' | 'stored'> {
  record: NonNullable<OpenRecord['record']>
  definition: TableData
  surroundings: Surroundings
  openLinked: OpenLinked
  /** Files that were dropped on the record. */
  dropped: Dropped | undefined
}

export interface FieldProps extends Omit<FieldsProps, 'definition'> {
  field: Field
  role: Role
}
