/** The tokens `{{field:slug}}` in a subject or a body (contract.md §6, Tokens). */
import type { FieldDef } from '../../fields/definition.ts'
import { escapeHtml } from '../../platform/html.ts'

// The length is bounded so that an unclosed token does not make the expression scan the rest of the text.
const TOKEN = /\{\{field:([^{}]{0,100})\}\}/g

/** The text of each field of a record, by the field's id. */
export type FieldTexts = ReadonlyMap<string, string>

/** @param row the cells as records/cells/present.ts presents them */
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

export interface Resolved {
  text: string
  /** Slugs that name no field of the table, each once, in order. Their tokens become empty. */
  unresolved: string[]
}

/** Resolves the tokens in HTML. Values are escaped, and tokens inside values are not resolved. */
export function resolveInHtml(template: string, fields: FieldTexts): Resolved {
  return resolve(template, fields, (value) => escapeHtml(value).replace(/\r\n|\r|\n/g, '<br />\n'))
}

/** Resolves the tokens in a subject. Line breaks in values become spaces, because they could start another header line. */
export function resolveInSubject(template: string, fields: FieldTexts): Resolved {
  return resolve(template, fields, (value) => value.replace(/[\r\n\0]+/g, ' '))
}

function resolve(template: string, fields: FieldTexts, encode: (value: string) => string): Resolved {
  const unresolved = new Set<string>()
  const text = template.replace(TOKEN, (_, given: string) => {
    const slug = given.trim()
    const value = fields.get(slug)
    if (value === undefined) unresolved.add(slug)
    return value === undefined ? '' : encode(value)
  })
  return { text, unresolved: [...unresolved] }
}
