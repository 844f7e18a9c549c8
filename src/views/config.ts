/** The config of each view type: its keys, the fields that it may name, and the inputs that a grid ignores (api.md, View). */

import { fieldNamed as fieldNamedIn, fieldsById, notAField } from '../fields/by-id.ts'
import { type FieldDef, type TableDef, withArticle } from '../fields/definition.ts'
import type { LayoutRole } from '../fields/field-type.ts'
import { FIELD_TYPES, TYPES } from '../fields/registry.ts'
import type { Issue } from '../platform/errors.ts'

export const VIEW_TYPES = ['grid', 'calendar', 'gallery', 'kanban'] as const
export type ViewType = (typeof VIEW_TYPES)[number]

export interface GridConfig {
  /** Ids of the visible fields, in order; an empty list shows all. */
  columns: string[]
  /** In pixels, by field id. */
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

/** The result of reading a config. */
export interface ReadConfig {
  config: ViewConfig
  issues: Issue[]
  /** Paths of the inputs that were ignored: `config.columns.0`. */
  dropped: string[]
}

/** A field that a layout is built on. It must not be always-hidden, whatever showHidden says. */
interface StructuralField {
  readonly required: boolean
  /** The role that the type of the field must have. */
  readonly role: LayoutRole
}
const STRUCTURE: Readonly<Record<Exclude<ViewType, 'grid'>, Readonly<Record<string, StructuralField>>>> = {
  calendar: {
    startField: { required: true, role: 'date' },
    endField: { required: false, role: 'date' },
    colorField: { required: false, role: 'color' },
  },
  gallery: { imageField: { required: true, role: 'image' } },
  kanban: { categoryField: { required: true, role: 'category' } },
}

/** Checks a config and converts it to its stored form. The config of a grid has no issues, whatever it holds. */
export function readConfig(type: ViewType, sent: unknown, table: TableDef): ReadConfig {
  if (type === 'grid') return readGrid(isObject(sent) ? sent : {}, table)
  const input = sent ?? {}
  const read = { input: isObject(input) ? input : {}, fields: fieldsById(table), config: {}, issues: [], dropped: [] }
  if (isObject(input)) readLayout(type, read)
  else refuse(read, [], 'must be an object')
  return { config: read.config as ViewConfig, issues: read.issues, dropped: read.dropped }
}

/** A config that is being read. */
interface ConfigReading {
  readonly input: Record<string, unknown>
  readonly fields: ReadonlyMap<string, FieldDef>
  readonly config: Record<string, unknown>
  readonly issues: Issue[]
  readonly dropped: string[]
}

function readLayout(type: Exclude<ViewType, 'grid'>, read: ConfigReading): void {
  const structure = STRUCTURE[type]
  const known = [...Object.keys(structure), 'secondaryField', 'showHidden', ...(type === 'calendar' ? ['mode', 'weekStart'] : [])]
  for (const key of Object.keys(read.input)) if (!known.includes(key)) refuse(read, [key], 'is not a known key')

  for (const [key, wanted] of Object.entries(structure)) readStructural(read, key, wanted)
  readDisplayed(read, type)
  if (type === 'calendar') {
    readEnum(read, 'mode', MODES)
    readEnum(read, 'weekStart', WEEK_STARTS)
  }
}

function readStructural(read: ConfigReading, key: string, { required, role }: StructuralField): void {
  const id = read.input[key] ?? null
  if (id === null && required) refuse(read, [key], 'is required')
  const field = fieldNamed(read, key)
  if (!field) return
  if (!TYPES[field.type].roles.includes(role)) {
    const types = FIELD_TYPES.filter((type) => TYPES[type].roles.includes(role))
    refuse(read, [key], `must be a ${types.join(' or ')} field; '${field.id}' is ${withArticle(field.type)}`)
  } else if (field.always_hidden) refuse(read, [key], `must not be an always-hidden field`)
  else read.config[key] = field.id
}

/** An always-hidden secondary field needs showHidden, and is ignored without it. A calendar does not keep showHidden. */
function readDisplayed(read: ConfigReading, type: ViewType): void {
  const wanted = read.input.showHidden ?? false
  if (typeof wanted !== 'boolean') refuse(read, ['showHidden'], 'must be true or false')
  const showHidden = wanted === true && type !== 'calendar'
  if (wanted === true && !showHidden) read.dropped.push('config.showHidden')

  const field = fieldNamed(read, 'secondaryField')
  if (field?.always_hidden && !showHidden) read.dropped.push('config.secondaryField')
  else if (field) read.config.secondaryField = field.id
  if (showHidden) read.config.showHidden = true
}

/** Reads an enum, whose first value is the default. */
function readEnum(read: ConfigReading, key: string, values: readonly string[]): void {
  const value = read.input[key] ?? values[0]
  if (typeof value === 'string' && values.includes(value)) read.config[key] = value
  else refuse(read, [key], `must be ${values.join(' or ')}`)
}

function fieldNamed(read: ConfigReading, key: string): FieldDef | undefined {
  const id = read.input[key] ?? null
  if (id === null) return undefined
  const field = typeof id === 'string' ? read.fields.get(id) : undefined
  if (!field) refuse(read, [key], typeof id === 'string' ? notAField(id) : 'must be the id of a field')
  return field
}

function refuse({ issues }: Pick<ConfigReading, 'issues'>, path: string[], message: string): void {
  issues.push({ path: ['config', ...path], message })
}

/** Ignores every input that a grid does not know, and never refuses one. */
function readGrid(input: Record<string, unknown>, table: TableDef): ReadConfig {
  const showHidden = input.showHidden === true
  const isShown = (id: unknown): id is string => {
    const field = typeof id === 'string' ? fieldNamedIn(table, id) : ''
    return typeof field !== 'string' && (showHidden || !field.always_hidden)
  }
  const unknownKeys = Object.keys(input).filter((key) => !['columns', 'widths', 'showHidden'].includes(key))
  const dropped = unknownKeys.map((key) => `config.${key}`)
  const columns = readColumns(input.columns, isShown, dropped)
  const widths = readWidths(input.widths, isShown, dropped)
  // With showHidden an empty list is replaced by all ids, because without it the same list would show fewer fields.
  const written = showHidden && columns.length === 0 ? table.fields.map(({ id }) => id) : columns
  return { config: { columns: written, ...(widths && { widths }), ...(showHidden && { showHidden }) }, issues: [], dropped }
}

function readColumns(input: unknown, isShown: (id: unknown) => id is string, dropped: string[]): string[] {
  const columns = new Set<string>()
  for (const [index, id] of (Array.isArray(input) ? (input as unknown[]) : []).entries()) {
    if (isShown(id) && !columns.has(id)) columns.add(id)
    else dropped.push(`config.columns.${index}`)
  }
  return [...columns]
}

function readWidths(input: unknown, isShown: (id: unknown) => id is string, dropped: string[]): Record<string, number> | undefined {
  const widths: [string, number][] = []
  for (const [id, width] of Object.entries(isObject(input) ? input : {})) {
    if (isShown(id) && typeof width === 'number' && width > 0 && Number.isFinite(width)) widths.push([id, width])
    else dropped.push(`config.widths.${id}`)
  }
  return widths.length ? Object.fromEntries(widths) : undefined
}

/** The fields that the layout is built on. The view cannot exist without them. */
export function structuralFields(type: ViewType, config: ViewConfig): string[] {
  if (type === 'grid') return []
  return Object.keys(STRUCTURE[type]).flatMap((key) => (config as unknown as Record<string, string | undefined>)[key] ?? [])
}

/** The names of the fields that the layout shows, beside those that it is built on. */
export const displayedFields = (config: ViewConfig): string[] =>
  'columns' in config ? config.columns : config.secondaryField === undefined ? [] : [config.secondaryField]

/**
 * The config without displayed fields that are about to be deleted.
 * @param isGone true for their names @param table still with the fields
 */
export function withoutFields(config: ViewConfig, isGone: (name: string) => boolean, table: TableDef): ViewConfig {
  if ('columns' in config) {
    const { widths, ...rest } = config
    const others = Object.fromEntries(Object.entries(widths ?? {}).filter(([id]) => !isGone(id)))
    const left = config.columns.filter((id) => !isGone(id))
    // As on saving, showHidden replaces an empty list by all ids (api.md, showHidden rule 4).
    const columns = left.length || !config.showHidden ? left : table.fields.flatMap(({ id }) => (isGone(id) ? [] : id))
    return { ...rest, columns, ...(Object.keys(others).length && { widths: others }) }
  }
  const { secondaryField, ...rest } = config
  return secondaryField !== undefined && isGone(secondaryField) ? (rest as ViewConfig) : config
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
