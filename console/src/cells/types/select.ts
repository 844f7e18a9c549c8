/** Selects. A text names an option by its title, in any case if no other option has that title. */
import { cellTexts } from '../../texts/cells.ts'
import { escapeHtml } from '../html.ts'
import type { CellText, Field } from '../kind.ts'
import { joinList, splitList } from '../list-text.ts'
import { anyText, isEmpty, isText, valuesOf } from '../values.ts'

/** The options by their titles, and by these in lower case where that is one option's. */
const optionsByText = new WeakMap<Field, Map<string, string>>()

function optionTitled(text: string, field: Field): string | undefined {
  let known = optionsByText.get(field)
  if (!known) {
    const options = field.options ?? []
    known = new Map(options.toReversed().map((title) => [title.toLowerCase(), title]))
    for (const title of options) known.set(title, title)
    optionsByText.set(field, known)
  }
  const title = text.trim().normalize('NFC')
  return known.get(title) ?? known.get(title.toLowerCase())
}

const noOption = (text: string) => ({ problem: cellTexts.noOption(text.trim().slice(0, 60)) })

export const select: CellText = {
  align: 'left',
  toText: anyText,
  toHtml: (value) => escapeHtml(anyText(value)),
  parse: (text, field) => {
    if (text.trim() === '') return { value: null }
    const title = optionTitled(text, field)
    return title === undefined ? noOption(text) : { value: title }
  },
  filled: (value) => !isEmpty(value),
}

const listText = (value: unknown) => joinList(valuesOf(value, isText))

export const multiSelect: CellText = {
  ...select,
  toText: listText,
  toHtml: (value) => escapeHtml(listText(value)),
  parse: (text, field) => {
    // The title of an option may have a comma.
    const whole = optionTitled(text, field)
    if (whole !== undefined) return { value: [whole] }
    const titles: string[] = []
    for (const one of splitList(text)) {
      const title = optionTitled(one, field)
      if (title === undefined) return noOption(one)
      if (!titles.includes(title)) titles.push(title)
    }
    return { value: titles }
  },
}
