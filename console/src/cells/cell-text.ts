/** All types of fields as text. A new one needs a file in types/ and a line here; registry.ts adds how it is shown and edited. */
import { cellTexts } from '../texts/cells.ts'
import type { CellText, Field, Parsed, Surroundings } from './kind.ts'
import { checkbox } from './types/checkbox.ts'
import { date, datetime, time } from './types/dates.ts'
import { file } from './types/files.ts'
import { lookup, multiLookup } from './types/links.ts'
import { number } from './types/number.ts'
import { multiUser, user } from './types/people.ts'
import { multiSelect, select } from './types/select.ts'
import { longText, text, url } from './types/text.ts'
import { throughMany } from './types/through-many.ts'

const TEXTS = {
  text,
  long_text: longText,
  email: text,
  url,
  phone: text,
  number,
  checkbox,
  date,
  datetime,
  time,
  select,
  multi_select: multiSelect,
  user,
  multi_user: multiUser,
  lookup,
  multi_lookup: multiLookup,
  file,
} satisfies Readonly<Record<Field['type'], CellText>>

const TEXTS_THROUGH_MANY = new Map<string, CellText>(Object.entries(TEXTS).map(([type, one]) => [type, throughMany(one)]))

/** A field's cells as text. A type that this page does not know yet is text. */
export function cellText(field: Pick<Field, 'type' | 'linked'>): CellText {
  const known: CellText | undefined = field.linked === 'many' ? TEXTS_THROUGH_MANY.get(field.type) : TEXTS[field.type]
  return known ?? text
}

export type Role = 'viewer' | 'member' | 'admin'

/** Why somebody with this role cannot change the field, as a sentence; null if they can. */
export function whyNotEditable(field: Field, role: Role): string | null {
  if (field.key || field.calc) return cellTexts.calculated
  if (field.linked) return cellTexts.linked
  if (role === 'viewer') return cellTexts.readOnly
  return field.admin_only && role !== 'admin' ? cellTexts.adminOnly : null
}

/** Reads the texts that are pasted into a column, in their order. */
export async function parseTexts(texts: readonly string[], field: Field, surroundings: Surroundings): Promise<Parsed[]> {
  const kind = cellText(field)
  if (kind.parseAll) return kind.parseAll(texts, field, surroundings)
  const problem = { problem: cellTexts.linked }
  return texts.map((text) => kind.parse(text, field, surroundings) ?? problem)
}

/** True if values that were copied from one field can be written into another one as they are, with no text between. */
export function takesValuesOf(to: Field, from: Field): boolean {
  if (to.type !== from.type || from.linked === 'many' || to.type === 'file') return false
  if (to.table !== from.table) return false
  const options = new Set(to.options)
  return (from.options ?? []).every((title) => options.has(title))
}
