/** Derives the id of a field from its name (contract.md §3). The id names the field's column and never changes. */

const MAX_SLUG_LENGTH = 48
export const SLUG = /^[a-z][a-z0-9_]{0,47}$/

/** Our own columns, the system columns of Postgres, and names with a special meaning in JavaScript or SQL. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['id', 'created_at', 'created_by', 'updated_at', 'updated_by', 'version'],
  ...['oid', 'tableoid', 'xmin', 'xmax', 'cmin', 'cmax', 'ctid'],
  ...['constructor', 'prototype', 'null', 'undefined', 'true', 'false', 'nan', 'infinity'],
])

/** True if no field may have this id, because it has another meaning. */
export const isReserved = (id: string) => RESERVED.has(id)

/**
 * Returns the id of a new field: `Email Address` → `email_address`, `Größe` → `grosse`, `住所` → `field_3` (the first free number from
 * `number` on). An id that is reserved or taken gets a suffix, as in `xmin_2`.
 * @param taken the ids of the table's fields
 * @param number the number of fields in the table, including this one
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

/** Lower-cases the name, removes accents, and replaces everything except Latin letters and digits by underscores. */
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

/** Letters that Unicode does not decompose into a base letter and an accent. */
const TRANSCRIBED: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' }
