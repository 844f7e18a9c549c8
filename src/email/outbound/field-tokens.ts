import { escapeHtml } from '../../platform/html.ts'

// The length is bounded so that an unclosed token costs no search of the whole text.
const TOKEN = /\{\{field:([^{}]{0,100})\}\}/g

/** The text of each field of a record, by the field's id. */
export type FieldTexts = ReadonlyMap<string, string>

export interface Resolved {
  text: string
  /** Slugs that are no field of the table, each once, in order. They resolve to nothing. */
  unresolved: string[]
}

/** Resolves `{{field:slug}}` in HTML: values are escaped, and never expanded again (contract.md §6, Tokens). */
export function resolveInHtml(template: string, fields: FieldTexts): Resolved {
  return resolve(template, fields, (value) => escapeHtml(value).replace(/\r\n|\r|\n/g, '<br />\n'))
}

/** Resolves `{{field:slug}}` in a subject: what could start another header line becomes one space. */
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
