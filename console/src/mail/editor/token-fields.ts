/** The fields that tokens can name, with what they are in the record now. */
import { cellText } from '../../cells/cell-text.ts'
import type { Field, Place, Value } from '../../cells/kind.ts'
import { anyText, isDecimal, isPerson, isText } from '../../cells/values.ts'
import type { RecordPlace } from '../../record/record-parts.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { dateShown, instantShown } from '../../ui/locale/date-format.ts'
import { numberText } from '../../ui/locale/number-text.ts'
import type { Token } from './tokens.ts'

export interface TokenField {
  slug: string
  name: string
  /** What it is in the record now, as text; empty if it is empty. */
  value: string
  /** Whether the service keeps it, such as who created the record. */
  isOfService: boolean
}

const OF_SERVICE = new Set(['id', 'created_at', 'created_by', 'updated_at', 'updated_by'])
const LONGEST_VALUE = 80

export function tokenFields({ record, definition }: Pick<RecordPlace, 'record' | 'definition'>): TokenField[] {
  const place = { zone: definition.me.timezone, locale: navigator.language, now: new Date() }
  return definition.table.fields.map((field) => {
    const text = shownText((record.values[field.id] ?? null) as Value, field, place)
      .replace(/\s+/g, ' ')
      .trim()
    const value = text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text
    return { slug: field.id, name: field.name, value, isOfService: OF_SERVICE.has(field.id) }
  })
}

/** The value as people read it. */
function shownText(value: Value, field: Field, place: Place): string {
  if (value === null) return ''
  if (isPerson(value) || Array.isArray(value)) return anyText(value)
  if (field.type === 'date' && isText(value)) return dateShown(value, place.locale)
  if (field.type === 'datetime' && isText(value)) return instantShown(value, place)
  if (field.type === 'number' && isDecimal(value)) return numberText(value, place.locale, field.decimals ?? undefined)
  return cellText(field).toText(value, field, place)
}

export interface TokenGroup {
  name: string
  fields: readonly TokenField[]
}

/** The fields whose name or slug has all that is typed: those with a value first. */
export function tokenGroups(fields: readonly TokenField[], typed: string): TokenGroup[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const found = fields.filter(({ slug, name }) => words.every((word) => `${name} ${slug}`.toLowerCase().includes(word)))
  const groups = [
    { name: composerTexts.filled, fields: found.filter(({ value, isOfService }) => value !== '' && !isOfService) },
    { name: composerTexts.empty, fields: found.filter(({ value, isOfService }) => value === '' && !isOfService) },
    { name: composerTexts.ofService, fields: found.filter(({ isOfService }) => isOfService) },
  ]
  return groups.filter((group) => group.fields.length > 0)
}

/** How a token is shown in a text: by the name of its field, or as one whose field is gone. */
export function chipOf({ slug, form }: Token, fields: readonly TokenField[]): { text: string; title: string; isGone: boolean } {
  const field = fields.find((one) => one.slug === slug)
  if (!field) return { text: composerTexts.goneToken(slug), title: composerTexts.goneTokenTitle(slug), isGone: true }
  const title = field.value ? composerTexts.tokenTitle(slug, field.value) : composerTexts.tokenEmpty(slug)
  return { text: form ? `${field.name} (${form})` : field.name, title, isGone: false }
}
