/** Parts of CSV rules that several field types share. */
import type { CsvRule } from './field-type.ts'

const noTitle = () => null

/** For values whose text cannot be a formula. Blanks around them are ignored. */
export const UNSHIELDED: CsvRule = {
  isShielded: false,
  isReadAsText: false,
  hasDecimalPoint: false,
  print: String,
  read: (text) => ({ value: text.trim() || null }),
  titleIn: noTitle,
}

/** For texts, which are read unchanged. */
export const SHIELDED: CsvRule = {
  isShielded: true,
  isReadAsText: false,
  hasDecimalPoint: false,
  print: (value) => value as string,
  read: (text) => ({ value: text }),
  titleIn: noTitle,
}

/** The id of a user or a record in a cell of a file. */
export const ID_PATTERN = /^\d{1,10}$/
