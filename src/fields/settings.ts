/** The settings of a field that determine its cells. Functions of a field type get these settings and nothing else of the field. */

/** One choice of a select. Cells hold the id, so that a rename touches no record. */
export interface Option {
  id: number
  title: string
}

/** The colors that an option can have (contract.md §11). */
export const COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'indigo', 'purple', 'pink'] as const
export type Color = (typeof COLORS)[number]

/** The part of a field that determines its cells. */
export interface FieldSettings {
  /** The slug, which names the field in requests, in filters and in the database. A rename does not change it. */
  id: string
  /** True for the field that shows the record's id. */
  key: boolean
  /** The options of a select, in order; null for other types. */
  options: Option[] | null
  /** Ids of removed options. Cells may hold them until a job has removed them (tables/cells), but they do not count as values. */
  removed_options: number[]
  /** The digits after the point that a number keeps; null stands for up to 8. */
  decimals: number | null
  /** True while cells may have more digits than `decimals`, until a job has rounded them (tables/cells). Readers see rounded numbers. */
  is_rounding: boolean
  /** True once all texts of the table are in NFC. Until then the two spellings of a letter count as the same. */
  is_normalized: boolean
  /** The table that a lookup points to. */
  lookup_table_id: number | null
  /** The title field of that table; `lookup` is null if the table is deleted. A change of it gives the lookup's own table a new version. */
  lookup?: { title_field: string | null } | null
  /** Present for a field of another table that is named through a lookup of this one, such as `company.city`. */
  link?: { lookup: FieldSettings; field: FieldSettings }
}
