/** What a field is: its type, its column in the records table, and the id that is made from its name (contract.md §3). */

export const FIELD_TYPES = [
  'text',
  'long_text',
  'email',
  'url',
  'phone',
  'number',
  'checkbox',
  'date',
  'datetime',
  'time',
  'select',
  'multi_select',
  'user',
  'multi_user',
  'lookup',
  'multi_lookup',
  'file',
] as const
export type FieldType = (typeof FIELD_TYPES)[number]

/** One choice of a select. Cells hold the id, so that a rename touches no record. */
export interface Option {
  id: number
  title: string
}

/** What a field is about to lose: digits beyond `decimals`, or options by their ids (narrowing.ts). */
export type Loss = { decimals: number } | { options: number[] }

export interface FieldDef {
  /** The slug: on the wire, in filters, and the name of the column. Never changed by a rename. */
  id: string
  name: string
  type: FieldType
  required: boolean
  always_hidden: boolean
  admin_only: boolean
  /** Of a select or multi_select, in order. */
  options: Option[] | null
  /** Ids of options that were removed, but that cells may hold until a job has emptied them (leftovers.ts): they are no value. */
  removed_options: number[]
  /** Of a number: digits after the point that are kept. */
  decimals: number | null
  /** Whether cells may have more digits than that until a job has rounded them (leftovers.ts): they are read as rounded. */
  is_rounding: boolean
  /** What it loses if no cell has it, and the version of the table that said so first; null for nothing. */
  narrowing: (Loss & { since: number }) | null
  /** Of a lookup or multi_lookup: the table whose records it names. */
  lookup_table_id: number | null
  /** What a lookup needs of that table; null when it is gone. Every change of it gives the lookup's own table a new version. */
  lookup?: { title_field: string | null } | null
  /** The record's id. */
  key: boolean
  /** Kept by the service: when and by whom. */
  calc: boolean
}

export interface TableDef {
  id: number
  space_id: number
  account_id: number
  name: string
  /** Changes with every change to the name, fields, options or views. */
  version: number
  /** Whether a field of it, or of a table that its lookups show, may be given another type while this version lasts. */
  isConverting: boolean
  /** The key first, then the fields of the user in their order, calc fields last. */
  fields: FieldDef[]
}

const given = {
  required: false,
  always_hidden: false,
  admin_only: false,
  options: null,
  removed_options: [],
  decimals: null,
  is_rounding: false,
  narrowing: null,
  lookup_table_id: null,
}

export const KEY_FIELD: FieldDef = { ...given, id: 'id', name: 'ID', type: 'number', decimals: 0, key: true, calc: false }

export const CALC_FIELDS: readonly FieldDef[] = [
  { ...given, id: 'created_at', name: 'Created at', type: 'datetime', key: false, calc: true },
  { ...given, id: 'created_by', name: 'Created by', type: 'user', key: false, calc: true },
  { ...given, id: 'updated_at', name: 'Updated at', type: 'datetime', key: false, calc: true },
  { ...given, id: 'updated_by', name: 'Updated by', type: 'user', key: false, calc: true },
]

/** The field without what is still under way in its cells: two that are the same so hold the same values. */
export const settled = (field: FieldDef): FieldDef => ({ ...field, removed_options: [], is_rounding: false, narrowing: null })

/** The fields that a user made: what `data` of a record holds. */
export const ownFields = (table: TableDef): FieldDef[] => table.fields.filter((field) => !field.key && !field.calc)

/** The first text field is a record's title; undefined for a table that has none. */
export const titleField = (table: TableDef): FieldDef | undefined => table.fields.find((field) => field.type === 'text')

export const isSelect = (type: FieldType) => type === 'select' || type === 'multi_select'
export const isLookup = (type: FieldType) => type === 'lookup' || type === 'multi_lookup'
export const isUser = (type: FieldType) => type === 'user' || type === 'multi_user'
export const isText = (type: FieldType) => COLUMN_TYPES[type] === TEXT
/** For sentences: `a text field`, `an email field`. */
export const aField = (type: FieldType) => `${type === 'email' ? 'an' : 'a'} ${type} field`
/** Whether a cell holds a list. */
export const isMultiple = (type: FieldType) => type.startsWith('multi_') || type === 'file'

/** Case mapping that is right for all scripts, and b-trees that serve prefixes (design.md §3). */
const TEXT = 'text collate "pg_c_utf8"'

/** The type of a field's column. Every column is nullable and has no default: adding one rewrites nothing. */
export const COLUMN_TYPES: Readonly<Record<FieldType, string>> = {
  text: TEXT,
  long_text: TEXT,
  email: TEXT,
  url: TEXT,
  phone: TEXT,
  number: 'numeric',
  checkbox: 'boolean',
  date: 'date',
  datetime: 'timestamp(0)',
  time: 'time(0)',
  select: 'int',
  multi_select: 'int[]',
  user: 'int',
  multi_user: 'int[]',
  lookup: 'int',
  multi_lookup: 'int[]',
  file: 'jsonb',
}

const MAX_SLUG_LENGTH = 48
export const SLUG = /^[a-z][a-z0-9_]{0,47}$/

/** Columns of our own, those that Postgres gives every table, and what means something to the languages that read a row. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['id', 'created_at', 'created_by', 'updated_at', 'updated_by', 'version'],
  ...['oid', 'tableoid', 'xmin', 'xmax', 'cmin', 'cmax', 'ctid'],
  ...['constructor', 'prototype', 'null', 'undefined', 'true', 'false', 'nan', 'infinity'],
])

/** Whether no field may have this id, because something else does. */
export const isReserved = (id: string) => RESERVED.has(id)

/**
 * The id of a new field: `Email Address` → `email_address`, `Größe` → `grosse`, `住所` → `field_3` (the first number that is free,
 * from `number` on). What is reserved or taken gets a suffix: `xmin_2`.
 * @param taken the ids of the table's fields
 * @param number counts the fields of the table, this one included
 */
export function slugOf(name: string, taken: ReadonlySet<string>, number: number): string {
  const isFree = (id: string) => !taken.has(id) && !RESERVED.has(id)
  const words = latin(name)
  if (!/[a-z]/.test(words)) return firstFree(number, (n) => `field_${n}`, isFree)
  const base = (/^[a-z]/.test(words) ? words : `f_${words}`).slice(0, MAX_SLUG_LENGTH).replace(/_+$/, '')
  if (isFree(base)) return base
  return firstFree(2, (n) => `${base.slice(0, MAX_SLUG_LENGTH - String(n).length - 1)}_${n}`, isFree)
}

function firstFree(from: number, name: (n: number) => string, isFree: (id: string) => boolean): string {
  let n = from
  while (!isFree(name(n))) n++
  return name(n)
}

/** Lower case, accents off, everything that is no Latin letter or digit an underscore. */
function latin(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[ßæœøłđðþı]/g, (letter) => TRANSCRIBED[letter] ?? letter)
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
}

/** Letters that no decomposition takes apart. */
const TRANSCRIBED: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' }
