/** A record as `records.query` answers it: its id, its version, and a value for each field that was asked for. */
export interface Row {
  readonly id: number
  readonly _version?: number
  readonly [field: string]: unknown
}

/** A record as a change answers it. */
export interface ChangedRow {
  id: number
  data: Record<string, unknown>
  version: number
  updated_at?: string
}

/** The row after a change of its record: the fields that it shows have the values of the answer, and all others stay. */
export function withChange(row: Row, { data, version, updated_at }: ChangedRow): Row {
  const shown = Object.entries(data).filter(([field]) => Object.hasOwn(row, field))
  const calculated = updated_at !== undefined && Object.hasOwn(row, 'updated_at') ? { updated_at } : {}
  return { ...row, ...Object.fromEntries(shown), ...calculated, id: row.id, _version: version }
}
