/** The tokens `{{field:slug}}`, `{{field:slug|iso}}` and `{{field:slug|url}}` in a subject or a body (contract.md §6, Tokens, and §8). */
import { notAField } from '../../fields/by-id.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { FieldType } from '../../fields/registry.ts'
import { numberText } from '../../platform/exact-json.ts'
import { escapeHtml } from '../../platform/mail/html.ts'
import { writtenDate, writtenInstant } from '../../platform/time/readable-time.ts'
import { instantOf } from '../../platform/time/time.ts'
import { DeliveryError } from '../smtp/failure.ts'

// The lengths are bounded so that an unclosed token does not make the expression scan the rest of the text.
const TOKEN = /\{\{\s{0,9}field\s{0,9}:([^{}]{0,100})\}\}/gi
const OPENING = /\{\{\s{0,9}field\s{0,9}:[^<\r\n]{0,40}/gi

/** `iso` is the form in which the API answers the value. With `url` it is escaped as a part of a URL. */
type ValueForm = 'readable' | 'iso'

/** The text of a record's field by its id. Returns undefined if the table has no such field. */
export type FieldTexts = (slug: string, form: ValueForm) => string | undefined

/**
 * @param row the cells as records/cells/present.ts presents them
 * @param timeZone of the sender, for instants
 */
export function fieldTexts(fields: readonly FieldDef[], row: Readonly<Record<string, unknown>>, timeZone: string): FieldTexts {
  const byId = new Map(fields.map((field) => [field.id, field]))
  return (slug, form) => {
    const field = byId.get(slug)
    if (!field) return undefined
    const value = row[slug] ?? null
    const readable = form === 'readable' && value !== null ? READABLE[field.type] : undefined
    return readable ? readable(value, field, timeZone) : plainText(value)
  }
}

/** The types whose values have a form for people that differs from the one of the API. */
const READABLE: Partial<Record<FieldType, (value: unknown, field: FieldDef, timeZone: string) => string>> = {
  date: (value) => writtenDate(String(value)),
  datetime: (value, _, timeZone) => writtenInstant(instantOf(String(value)), timeZone),
  time: (value) => String(value).replace(/:00$/, ''),
  checkbox: (value) => (value === true ? 'yes' : 'no'),
  number: (value, { decimals }) => (decimals === null ? plainText(value) : withDecimals(numberText(value), decimals)),
}

/** The number with all decimals of its field. A cell never has more. */
function withDecimals(number: string, decimals: number): string {
  if (number.includes('e')) return Number(number).toFixed(decimals)
  const [whole, fraction = ''] = number.split('.')
  return decimals ? `${whole}.${fraction.padEnd(decimals, '0')}` : `${whole}`
}

/** People and records by name, lists comma-separated, all other values as the API answers them. */
function plainText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(plainText).filter(Boolean).join(', ')
  if (typeof value !== 'object' || JSON.isRawJSON(value)) return numberText(value)
  const { title, name, email } = value as { title?: string | null; name?: string; email?: string | null }
  return title ?? name ?? email ?? ''
}

export interface Resolved {
  text: string
  /** What the tokens name that have no value, each once, in order: no field of the table, or an unknown form. They become empty. */
  unresolved: string[]
}

/** A body may name a long text with each of 90,000 tokens, so the characters that the values add are limited. */
const MAX_ADDED = { subject: 100_000, body: 4 * 1_048_576 }

/** The values of the tokens make the subject or the body too long. */
export class ValuesTooLong extends DeliveryError {
  readonly field: keyof typeof MAX_ADDED

  constructor(field: keyof typeof MAX_ADDED) {
    const message = `the values of the tokens in the ${field} must have at most ${MAX_ADDED[field]} characters in all`
    super({ kind: 'permanent', code: 'TOO_LONG', enhanced: null, message })
    this.field = field
  }
}

/**
 * Resolves the tokens in HTML. Values are escaped, in links as parts of a URL, and tokens inside values are not resolved.
 * @param template sanitised, so that attributes are in double quotes
 * @throws ValuesTooLong
 */
export function resolveInHtml(template: string, fields: FieldTexts): Resolved {
  return resolving('body', fields, (resolve) =>
    template.replace(LINK_OR_TOKEN, (_, url: string | undefined, given = '') =>
      url === undefined ? resolve(given, inHtml) : ` href="${resolvedInUrl(url, resolve)}"`,
    ),
  )
}

const LINK_OR_TOKEN = new RegExp(` href="([^"]*)"|${TOKEN.source}`, 'gi')

const inHtml = ({ text }: Value): string => escapeHtml(text).replace(/\r\n|\r|\n/g, '<br />\n')

/** The beginnings of links in which an address to write to is, and a host with its port. */
const RECIPIENTS = /^\s*(mailto|tel|sms):[^?]*/i
const HOST = /^\s*[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

function resolvedInUrl(url: string, resolve: Resolve): string {
  const start = url.search(/\S/)
  const recipientsEnd = RECIPIENTS.exec(url)?.[0].length ?? 0
  const hostEnd = HOST.exec(url)?.[0].length ?? 0
  const encoded = (text: string, at: number) => {
    // A value at the start is a URL by itself, of which the sanitiser judges the scheme. What is escaped in it stays so.
    if (at <= start) return encodeURI(text.trim()).replace(/%25(?=[0-9a-f]{2})/gi, '%')
    const part = encodeURIComponent(text)
    if (at <= recipientsEnd) return part.replaceAll('%40', '@').replaceAll('%2B', '+')
    return at <= hostEnd ? part.replaceAll('%3A', ':') : part
  }
  return url.replace(TOKEN, (_, token: string, at: number) =>
    resolve(token, ({ text, isForUrl }) => escapeHtml(isForUrl ? text : encoded(text.toWellFormed(), at))),
  )
}

/** Resolves the tokens in a subject. Line breaks in values become spaces: they could start another header line. @throws ValuesTooLong */
export function resolveInSubject(template: string, fields: FieldTexts): Resolved {
  const inSubject = ({ text }: Value) => text.replace(/[\r\n\0]+/g, ' ')
  return resolving('subject', fields, (resolve) => template.replace(TOKEN, (_, given: string) => resolve(given, inSubject)))
}

interface Value {
  text: string
  /** True if it is escaped for a URL already. */
  isForUrl: boolean
}

type Resolve = (given: string, encode: (value: Value) => string) => string

function resolving(field: keyof typeof MAX_ADDED, fields: FieldTexts, replace: (resolve: Resolve) => string): Resolved {
  let added = 0
  const unresolved = new Set<string>()
  const text = replace((given, encode) => {
    const named = nameIn(given)
    const value = valueNamed(named, fields)
    if (value === undefined) unresolved.add(named)
    const encoded = value === undefined ? '' : encode(value)
    added += encoded.length
    if (added > MAX_ADDED[field]) throw new ValuesTooLong(field)
    return encoded
  })
  return { text, unresolved: [...unresolved] }
}

/** Editors put tags into tokens, such as those of their spelling checks. */
const TAGS = /<[^<>]*>/g

/** The slugs that the tokens name. */
export const slugsIn = (template: string): string[] => [...template.matchAll(TOKEN)].map(([, given = '']) => partsOf(nameIn(given)).slug)

const nameIn = (given: string) => given.replace(TAGS, '').trim()

function partsOf(named: string): { slug: string; forms: string[] } {
  const [slug = '', ...forms] = named.toLowerCase().split('|')
  return { slug: slug.trim(), forms }
}

/** @param named what the token names: a slug, and perhaps a form */
function valueNamed(named: string, fields: FieldTexts): Value | undefined {
  const { slug, forms } = partsOf(named)
  const [form = 'readable', ...others] = forms.map((given) => given.trim())
  if (others.length || !['readable', 'iso', 'url'].includes(form) || (forms.length && form === 'readable')) return undefined
  const text = fields(slug, form === 'readable' ? 'readable' : 'iso')
  if (text === undefined) return undefined
  return form === 'url' ? { text: encodeURIComponent(text.toWellFormed()), isForUrl: true } : { text, isForUrl: false }
}

/** Says why a token has no value. @param named what it names, as in `Resolved` */
export function problemOf(named: string, fields: FieldTexts): string {
  const [slug = ''] = named.split('|')
  const isField = fields(slug.trim().toLowerCase(), 'iso') !== undefined
  return `{{field:${named}}}: ${isField ? 'only |iso or |url can follow the field' : notAField(slug.trim())}`
}

/** The beginnings of tokens that are not closed, or that contain another one. They stay text. */
export function unclosedTokens(template: string): string[] {
  return template.replace(TOKEN, '…').match(OPENING) ?? []
}
