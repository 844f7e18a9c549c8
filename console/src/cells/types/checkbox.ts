/** Checkboxes, which one key changes. */
import { cellTexts } from '../../texts/cells.ts'
import type { CellText, Parsed, Value } from '../kind.ts'
import { short } from '../naming.ts'

const TRUE = new Set(['true', 'yes', '1', 'on', 'x', 'checked', 'y', '✓', '✔', '☑', 'wahr', 'vrai', 'verdadero', 'ja', 'oui', 'sí', 'si'])
const FALSE = new Set(['false', 'no', '0', 'off', 'unchecked', 'n', '', '✗', '☐', 'falsch', 'faux', 'falso', 'nein', 'non'])

/** Spreadsheets read these words as what they mean. */
const wordOf = (value: Value) => (value === true ? 'TRUE' : 'FALSE')

const parse = (text: string): Parsed => {
  const word = text.trim().toLowerCase()
  if (TRUE.has(word)) return { value: true }
  return FALSE.has(word) ? { value: false } : { problem: cellTexts.noCheckbox(short(text)) }
}

export const checkbox: CellText = {
  align: 'left',
  toText: wordOf,
  toHtml: wordOf,
  parse,
  filled: (value) => value === true,
  toggled: (value) => value !== true,
}
