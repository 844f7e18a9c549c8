/** What a request says of a file, or was found out of it before: kept with the import that a job does. */
import { DateForm } from './date-forms.ts'

export interface Reading {
  /** The label of an encoding that decides over everything. */
  encoding?: string | undefined
  /** The label that decides unless the file has a byte order mark. */
  charset?: string | undefined
  separator?: string | undefined
  date_format?: string | undefined
}

export const dateFormOf = ({ date_format }: Reading): DateForm | undefined =>
  date_format === undefined ? undefined : DateForm.of(date_format)
