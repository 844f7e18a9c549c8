/** A record's cells as text, for the tokens of a mail. */
import type { FieldDef } from '../../fields/definition.ts'
import type { FieldTexts } from './field-tokens.ts'

/** The text of every field, by its id. @param row cells as callers read them (records/present.ts) */
export function fieldTexts(fields: readonly FieldDef[], row: Readonly<Record<string, unknown>>): FieldTexts {
  return new Map(fields.map(({ id }) => [id, textOf(row[id])]))
}

/** People and records by their names, several values with commas between, everything else as the API writes it. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join(', ')
  if (typeof value !== 'object') return String(value)
  const { title, name, email } = value as { title?: string | null; name?: string; email?: string }
  return title ?? name ?? email ?? ''
}
