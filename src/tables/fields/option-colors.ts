/** The colors of the options of a select (contract.md §11). Callers name options by title; a color is stored by the id of its option. */
import type { FieldDef } from '../../fields/definition.ts'
import type { Color, Option } from '../../fields/settings.ts'
import { nfc } from '../../platform/normal-forms.ts'

type Colors = FieldDef['option_colors']

/** Colors by the title of the option; null stands for none. */
export type GivenColors = Readonly<Record<string, Color | null>>

export interface ColorChange {
  colors: Colors
  /** A title that no option has; undefined when all are known. */
  unknown: string | undefined
}

/** Returns the colors that a request gives to options, added to those in `kept`. */
export function givenColors(options: readonly Option[], given: GivenColors, kept: Colors = {}): ColorChange {
  const ids = new Map(options.map(({ id, title }) => [nfc(title), id]))
  const named = Object.entries(given).map(([title, color]) => ({ title, id: ids.get(nfc(title.trim())), color }))
  const colors = new Map(Object.entries(kept))
  for (const { id, color } of named) {
    if (color === null) colors.delete(`${id}`)
    else colors.set(`${id}`, color)
  }
  return { colors: Object.fromEntries(colors), unknown: named.find(({ id }) => id === undefined)?.title }
}

/**
 * Returns the colors of the options that the field has now and in `options`. An option is not in both if it is new and has the id of one
 * that the previous release removed.
 */
export function keptColors(
  { options: present, option_colors }: Pick<FieldDef, 'options' | 'option_colors'>,
  options: readonly Option[],
): Colors {
  const ids = new Set((present ?? []).map(({ id }) => id))
  return Object.fromEntries(options.flatMap(({ id }) => (ids.has(id) ? colored(id, option_colors[id]) : [])))
}

/**
 * Returns the colors after an update of a field whose options become `options`. The given ones replace all colors, or, if the options are
 * edited, those of the options that they name.
 * @param given null clears the colors, undefined keeps them
 */
export function changeColors(
  field: FieldDef,
  { options, given, isEdit }: { options: readonly Option[]; given: GivenColors | null | undefined; isEdit: boolean },
): ColorChange {
  const kept = keptColors(field, options)
  return given === undefined ? { colors: kept, unknown: undefined } : givenColors(options, given ?? {}, isEdit && given ? kept : {})
}

/** The colors by the titles of the options, in the order of the options. */
export const colorsByTitle = ({ options, option_colors }: Pick<FieldDef, 'options' | 'option_colors'>): Record<string, Color> =>
  Object.fromEntries((options ?? []).flatMap(({ id, title }) => colored(title, option_colors[id])))

const colored = <Key>(key: Key, color: Color | undefined): [Key, Color][] => (color === undefined ? [] : [[key, color]])
