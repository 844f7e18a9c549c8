/** A field as its form has it, and what is sent of it. */
import type { Client, Field } from '../../cells/kind.ts'
import { fieldTexts } from '../../texts/manage/fields.ts'

type NewField = Omit<Parameters<Client['fields']['create']['mutate']>[0], 'table_id'>
type FieldChanges = Omit<Parameters<Client['fields']['update']['mutate']>[0], 'table_id' | 'field_id'>
export type FieldType = NewField['type']
export type Color = keyof typeof fieldTexts.colors

export const COLORS = Object.keys(fieldTexts.colors) as Color[]
export const TYPES = Object.keys(fieldTexts.types) as FieldType[]

export interface OptionDraft {
  /** Stays while the title is typed. */
  key: number
  /** The title that is stored; null for an option that is new. */
  was: string | null
  title: string
  color: Color | null
}

export interface FieldDraft {
  name: string
  type: FieldType
  options: readonly OptionDraft[]
  /** Null: as many as are typed. */
  decimals: number | null
  /** The table that is linked. */
  table: number | null
  required: boolean
  always_hidden: boolean
  admin_only: boolean
}

export type Problems = Partial<Record<'name' | 'options' | 'table', string>>

export const hasOptions = (type: FieldType): boolean => type === 'select' || type === 'multi_select'
export const isLink = (type: FieldType): boolean => type === 'lookup' || type === 'multi_lookup'

export function draftOf(field: Field | null): FieldDraft {
  const { name = '', type = 'text', options = [], colors = {}, decimals = null, table = null } = field ?? {}
  return {
    name,
    type: type as FieldType,
    options: options.map((title, key) => ({ key, was: title, title, color: (colors[title] as Color | undefined) ?? null })),
    decimals: decimals ?? null,
    table: table ?? null,
    required: field?.required ?? false,
    always_hidden: field?.always_hidden ?? false,
    admin_only: field?.admin_only ?? false,
  }
}

/** A new option takes a color that none of the others has, as long as there is one. */
export function withOption(options: readonly OptionDraft[]): OptionDraft[] {
  const key = Math.max(-1, ...options.map((option) => option.key)) + 1
  const color = COLORS.find((each) => options.every((option) => option.color !== each)) ?? null
  return [...options, { key, was: null, title: '', color }]
}

export function movedUp(options: readonly OptionDraft[], key: number): OptionDraft[] {
  const at = options.findIndex((option) => option.key === key)
  const moved = options[at]
  if (!moved || at === 0) return [...options]
  return options.toSpliced(at, 1).toSpliced(at - 1, 0, moved)
}

export function problemsOf({ name, type, options, table }: FieldDraft): Problems {
  const problems: Problems = {}
  if (!name.trim()) problems.name = fieldTexts.nameMissing
  if (isLink(type) && table === null) problems.table = fieldTexts.tableMissing
  if (hasOptions(type)) {
    const titles = options.map(({ title }) => title.trim())
    const twice = titles.find((title, at) => title && titles.indexOf(title) !== at)
    if (titles.includes('')) problems.options = fieldTexts.optionMissing
    else if (twice !== undefined) problems.options = fieldTexts.optionTwice(twice)
  }
  return problems
}

/** The properties that only fields of the type have. */
export function newFieldOf({ name, type, options, decimals, table, required, always_hidden, admin_only }: FieldDraft): NewField {
  return {
    ...{ name: name.trim(), type, required, always_hidden, admin_only },
    ...(hasOptions(type) && { options: options.map(({ title }) => title.trim()), colors: colorsOf(options) }),
    ...(type === 'number' && decimals !== null && { decimals }),
    ...(isLink(type) && table !== null && { table }),
  }
}

const colorsOf = (options: readonly OptionDraft[]): Record<string, Color> =>
  Object.fromEntries(options.flatMap(({ title, color }) => (color ? [[title.trim(), color]] : [])))

/** What differs from the stored field; null if nothing does. */
export function changesOf(field: Field, draft: FieldDraft): FieldChanges | null {
  const before = newFieldOf(draftOf(field))
  const after = newFieldOf(draft)
  const flags = (['required', 'always_hidden', 'admin_only'] as const).filter((flag) => before[flag] !== after[flag])
  const areOptionsOthers = JSON.stringify([before.options, before.colors]) !== JSON.stringify([after.options, after.colors])
  const isRenamed = draft.options.some(({ was, title }) => was !== null && was !== title.trim())
  const changes: FieldChanges = {
    ...(before.name !== after.name && { name: after.name }),
    ...Object.fromEntries(flags.map((flag) => [flag, draft[flag]])),
    ...(draft.type === 'number' && before.decimals !== after.decimals && { decimals: draft.decimals }),
    ...((areOptionsOthers || isRenamed) && {
      options: draft.options.map(({ was, title }) => (was === null || was === title.trim() ? title.trim() : { title: title.trim(), was })),
      colors: colorsOf(draft.options),
    }),
  }
  return Object.keys(changes).length ? changes : null
}
