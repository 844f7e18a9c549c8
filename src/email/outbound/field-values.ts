/** A record's cells as text, for the tokens of a mail. */
import type { FieldDef } from '../../fields/definition.ts'
import type { FieldTexts } from './field-tokens.ts'

/** The text of every field, by its id. @param row the cells as records/cells/present.ts presents them */
export function fieldTexts(fields: readonly FieldDef[], row: Readonly<Record<string, unknown>>): FieldTexts {
  return new Map(fields.map(({ id }) => [id, displayText(row[id])]))
}

/** People and records by name, lists comma-separated, all other values as the API answers them. */
function displayText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(displayText).filter(Boolean).join(', ')
  if (typeof value !== 'object') return String(value)
  const { title, name, email } = value as { title?: string | null; name?: string; email?: string }
  return title ?? name ?? email ?? ''
}
