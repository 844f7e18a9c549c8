/** Parts of CSV rules that types of fields share. */
import type { CsvRule } from './field-type.ts'

const namesNothing = () => null

/** For values whose text is never taken for a formula, and around which blanks do not count. */
export const UNSHIELDED: CsvRule = {
  isShielded: false,
  isReadAsText: false,
  print: String,
  read: (text) => ({ value: text.trim() || null }),
  titleIn: namesNothing,
}

/** For texts that count as they stand. */
export const SHIELDED: CsvRule = {
  isShielded: true,
  isReadAsText: false,
  print: (value) => value as string,
  read: (text) => ({ value: text }),
  titleIn: namesNothing,
}

/** An id in a cell of a file, of a user or a record. */
export const IS_ID = /^\d{1,10}$/
