/** Numbers, by the language, with the decimals of their field. */
import { plainNumberText, readNumber } from '../../ui/locale/number-text.ts'
import { escapeHtml } from '../html.ts'
import type { CellText, Place, Value } from '../kind.ts'
import { anyText, isDecimal, isEmpty } from '../values.ts'

const toText = (value: Value, { locale }: Place): string =>
  isDecimal(value) && /^-?\d/.test(String(value)) ? plainNumberText(value, locale) : anyText(value)

const parse: CellText['parse'] = (text, { decimals }, { locale }) =>
  text.trim() === '' ? { value: null } : readNumber(text, locale, decimals)

export const number: CellText = {
  align: 'right',
  toText: (value, _, place) => toText(value, place),
  toHtml: (value, _, place) => escapeHtml(toText(value, place)),
  parse,
  filled: (value) => !isEmpty(value),
}
