/** Texts: text, long_text, email, url, phone. A value is text whatever it holds; only an http(s) address can be opened. */
import { cellTexts } from '../../texts/cells.ts'
import { escapeHtml } from '../html.ts'
import type { CellText } from '../kind.ts'
import { anyText, isEmpty, safeUrl } from '../values.ts'

/** @param most the characters that the service takes (contract.md §1) */
const textOf = (most: number): CellText => ({
  align: 'left',
  toText: anyText,
  toHtml: (value) => escapeHtml(anyText(value)),
  parse: (text) => (text.length > most ? { problem: cellTexts.tooLong(most) } : { value: text === '' ? null : text }),
  filled: (value) => !isEmpty(value),
})

export const text = textOf(500)
export const longText = textOf(100_000)

export const url: CellText = {
  ...textOf(2_000),
  toHtml: (value) => {
    const address = safeUrl(value)
    const escaped = escapeHtml(anyText(value))
    return address ? `<a href="${escaped}">${escaped}</a>` : escaped
  },
}
