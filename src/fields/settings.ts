/** The settings of a field that decide what its cells are: all that its type may know of it. */

/** One choice of a select. Cells hold the id, so that a rename touches no record. */
export interface Option {
  id: number
  title: string
}

/** The part of a field that decides what its cells are. */
export interface FieldSettings {
  /** The slug: on the wire, in filters, and the name of the column. Never changed by a rename. */
  id: string
  /** Whether it is the record's id. */
  key: boolean
  /** The options of a type that takes them, in order. */
  options: Option[] | null
  /** Ids of options that were removed, but that cells may hold until a job has emptied them (tables/cells): they are no value. */
  removed_options: number[]
  /** The digits after the point that a number keeps; null for up to 8. */
  decimals: number | null
  /** Whether cells may have more digits than that until a job has rounded them (tables/cells): they are read as rounded. */
  is_rounding: boolean
  /** The table whose records a lookup names. */
  lookup_table_id: number | null
  /** What a lookup needs of that table; null when it is gone. Every change of it gives the lookup's own table a new version. */
  lookup?: { title_field: string | null } | null
}
