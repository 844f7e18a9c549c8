/** What is put into the frame of a record by app/: its timeline, its tasks, its mails. */
import type { ComponentType } from 'react'
import type { Row } from '../grid/pages/row.ts'
import type { TableData } from '../grid/table-data.ts'

/** A record as far as it is known: at first what the grid has of it, then all of it. */
export interface KnownRecord {
  id: number
  /** Null for a record without one. */
  title: string | null
  version: number | undefined
  /** The value of each field that is known, edits that wait for the service not counted. */
  values: Row
}

/** The record that a part belongs to. It is there at once, before the record is known as a whole. */
export interface RecordPlace {
  tableId: number
  spaceId: number
  recordId: number
  record: KnownRecord
  definition: TableData
  role: TableData['role']
  /** The level of the headings of parts: the title of the record is one above. */
  headings: 'h2' | 'h3'
  /** The id of the entry of the timeline that the address names. */
  entry?: number | undefined
  /** Puts what is to be written into the address: `mail`, `reply:12`, `replyAll:12`, `forward:12`. */
  openComposer(compose: string): void
}

export interface ComposerProps extends RecordPlace {
  compose: string
  close(): void
}

export interface RecordParts {
  Timeline: ComponentType<RecordPlace>
  Tasks: ComponentType<RecordPlace>
  /** Shown while the address says what is being written. */
  Composer: ComponentType<ComposerProps>
  /** Buttons of the head, such as `Write a mail`. */
  Actions: ComponentType<RecordPlace>
}
