/** Files, which are dropped, pasted and chosen, not typed. */
import { cellTexts } from '../../texts/cells.ts'
import { escapeHtml } from '../html.ts'
import type { CellText } from '../kind.ts'
import { joinList } from '../list-text.ts'
import { isEmpty, isFile, valuesOf } from '../values.ts'

const toText = (value: unknown) => joinList(valuesOf(value, isFile).map(({ name }) => name))

export const file: CellText = {
  align: 'left',
  toText,
  toHtml: (value) => escapeHtml(toText(value)),
  parse: (text) => (text.trim() === '' ? { value: [] } : { problem: cellTexts.noFiles }),
  filled: (value) => !isEmpty(value),
  takesFiles: true,
}
