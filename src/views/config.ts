/** The config of each type of view: what it may hold, which fields it may name, and what a grid drops in silence (api.md, View). */

import { aField, type FieldDef, type FieldType, type TableDef } from '../fields/definition.ts'
import type { Issue } from '../platform/http/errors.ts'
import { fieldsOf } from './filters/resolve.ts'

export const VIEW_TYPES = ['grid', 'calendar', 'gallery', 'kanban'] as const
export type ViewType = (typeof VIEW_TYPES)[number]

export interface GridConfig {
  /** Ids of visible fields, in order; none means all. */
  columns: string[]
  /** Pixels by field id. */
  widths?: Record<string, number>
  showHidden?: true
}
export interface CalendarConfig {
  startField: string
  endField?: string
  colorField?: string
  secondaryField?: string
  mode: (typeof MODES)[number]
  weekStart: (typeof WEEK_STARTS)[number]
}
export interface GalleryConfig {
  imageField: string
  secondaryField?: string
  showHidden?: true
}
export interface KanbanConfig {
  categoryField: string
  secondaryField?: string
  showHidden?: true
}
export type ViewConfig = GridConfig | CalendarConfig | GalleryConfig | KanbanConfig

const MODES = ['month', 'week', 'day'] as const
const WEEK_STARTS = ['monday', 'sunday'] as const

/** What a config became, and what is wrong with it. */
export interface ReadConfig {
  config: ViewConfig
  issues: Issue[]
  /** What was left out in silence, as paths: `config.columns.0`. */
  dropped: string[]
}

/** Fields that a layout is built on; showHidden does not open them to always-hidden fields. */
interface Structure {
  readonly required: boolean
  readonly types: readonly FieldType[]
}
const DATES: readonly FieldType[] = ['date', 'datetime']
const STRUCTURE: Readonly<Record<Exclude<ViewType, 'grid'>, Readonly<Record<string, Structure>>>> = {
  calendar: {
    startField: { required: true, types: DATES },
    endField: { required: false, types: DATES },
    colorField: { required: false, types: ['select', 'multi_select'] },
  },
  gallery: { imageField: { required: true, types: ['file'] } },
  kanban: { categoryField: { required: true, types: ['select'] } },
}

/** Checks a config as it was sent, and brings it into the form in which it is kept. A grid is never wrong. */
export function readConfig(type: ViewType, sent: unknown, table: TableDef): ReadConfig {
  if (type === 'grid') return readGrid(isObject(sent) ? sent : {}, table)
  const given = sent ?? {}
  const read = { given: isObject(given) ? given : {}, fields: fieldsOf(table), config: {}, issues: [], dropped: [] }
  if (isObject(given)) readLayout(type, read)
  else refuse(read, [], 'must be an object')
  return { config: read.config as ViewConfig, issues: read.issues, dropped: read.dropped }
}

/** A config as far as it has been read. */
interface Reading {
  readonly given: Record<string, unknown>
  readonly fields: ReadonlyMap<string, FieldDef>
  readonly config: Record<string, unknown>
  readonly issues: Issue[]
  readonly dropped: string[]
}

function readLayout(type: Exclude<ViewType, 'grid'>, read: Reading): void {
  const structure = STRUCTURE[type]
  const known = [...Object.keys(structure), 'secondaryField', 'showHidden', ...(type === 'calendar' ? ['mode', 'weekStart'] : [])]
  for (const key of Object.keys(read.given)) if (!known.includes(key)) refuse(read, [key], 'is not a known key')

  for (const [key, wanted] of Object.entries(structure)) readStructural(read, key, wanted)
  readDisplayed(read, type)
  if (type === 'calendar') {
    readWord(read, 'mode', MODES)
    readWord(read, 'weekStart', WEEK_STARTS)
  }
}

function readStructural(read: Reading, key: string, { required, types }: Structure): void {
  const id = read.given[key] ?? null
  if (id === null && required) refuse(read, [key], 'is required')
  const field = fieldNamed(read, key)
  if (!field) return
  if (!types.includes(field.type)) refuse(read, [key], `must be a ${types.join(' or ')} field; '${field.id}' is ${aField(field.type)}`)
  else if (field.always_hidden) refuse(read, [key], `must not be an always-hidden field, and '${field.id}' is one`)
  else read.config[key] = field.id
}

/** showHidden opens the secondary field to always-hidden ones, which are dropped without it. A calendar does not keep showHidden. */
function readDisplayed(read: Reading, type: ViewType): void {
  const wanted = read.given.showHidden ?? false
  if (typeof wanted !== 'boolean') refuse(read, ['showHidden'], 'must be true or false')
  const showHidden = wanted === true && type !== 'calendar'
  if (wanted === true && !showHidden) read.dropped.push('config.showHidden')

  const field = fieldNamed(read, 'secondaryField')
  if (field?.always_hidden && !showHidden) read.dropped.push('config.secondaryField')
  else if (field) read.config.secondaryField = field.id
  if (showHidden) read.config.showHidden = true
}

/** One of some words; the first is the default. */
function readWord(read: Reading, key: string, words: readonly string[]): void {
  const word = read.given[key] ?? words[0]
  if (typeof word === 'string' && words.includes(word)) read.config[key] = word
  else refuse(read, [key], `must be ${words.join(' or ')}`)
}

function fieldNamed(read: Reading, key: string): FieldDef | undefined {
  const id = read.given[key] ?? null
  if (id === null) return undefined
  const field = typeof id === 'string' ? read.fields.get(id) : undefined
  if (!field)
    refuse(read, [key], typeof id === 'string' ? `'${id.slice(0, 60)}' is not a field of this table` : 'must be the id of a field')
  return field
}

function refuse({ issues }: Pick<Reading, 'issues'>, path: string[], message: string): void {
  issues.push({ path: ['config', ...path], message })
}

/** What a grid does not understand is dropped, never refused. */
function readGrid(given: Record<string, unknown>, table: TableDef): ReadConfig {
  const fields = fieldsOf(table)
  const showHidden = given.showHidden === true
  const isShown = (id: unknown): id is string => typeof id === 'string' && fields.has(id) && (showHidden || !fields.get(id)?.always_hidden)
  const dropped: string[] = Object.keys(given)
    .filter((key) => !['columns', 'widths', 'showHidden'].includes(key))
    .map((key) => `config.${key}`)

  const columns = new Set<string>()
  for (const [index, id] of (Array.isArray(given.columns) ? (given.columns as unknown[]) : []).entries()) {
    if (isShown(id) && !columns.has(id)) columns.add(id)
    else dropped.push(`config.columns.${index}`)
  }
  // With showHidden the list is always written out, so that "all" does not start to mean fewer fields.
  if (showHidden && columns.size === 0) for (const { id } of table.fields) columns.add(id)

  const widths: [string, number][] = []
  for (const [id, width] of Object.entries(isObject(given.widths) ? given.widths : {})) {
    if (isShown(id) && typeof width === 'number' && width > 0 && Number.isFinite(width)) widths.push([id, width])
    else dropped.push(`config.widths.${id}`)
  }
  return {
    config: { columns: [...columns], ...(widths.length && { widths: Object.fromEntries(widths) }), ...(showHidden && { showHidden }) },
    issues: [],
    dropped,
  }
}

/** The fields that the layout cannot do without, and so the view neither. */
export function structuralFields(type: ViewType, config: ViewConfig): string[] {
  if (type === 'grid') return []
  return Object.keys(STRUCTURE[type]).flatMap((key) => (config as unknown as Record<string, string | undefined>)[key] ?? [])
}

/**
 * The config without a field that is about to go, where it is only displayed.
 * @param table as it still is, with the field
 */
export function withoutField(config: ViewConfig, fieldId: string, table: TableDef): ViewConfig {
  if ('columns' in config) {
    const { widths, ...rest } = config
    const { [fieldId]: _, ...others } = widths ?? {}
    const left = config.columns.filter((id) => id !== fieldId)
    // As when it is saved: with showHidden the list is written out (api.md, showHidden rule 4).
    const columns = left.length || !config.showHidden ? left : table.fields.flatMap(({ id }) => (id === fieldId ? [] : id))
    return { ...rest, columns, ...(Object.keys(others).length && { widths: others }) }
  }
  const { secondaryField, ...rest } = config
  return secondaryField === fieldId ? (rest as ViewConfig) : config
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
