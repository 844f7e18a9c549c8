/** What the address of a table says beside the table and the view: conditions and an order that are tried, and the record that is open. */
import type { Conditions } from './pages/record-source.ts'

export interface TableSearch {
  /** The conditions as JSON: `filter`, `search` and `order` of a query. */
  tried?: string | undefined
  /** The record that is open beside the grid. */
  record?: number | undefined
  /** The linked records that were opened from there, one after the other, such as `7-3,8-12`: the table and the record. */
  linked?: string | undefined
  /** What is being written: `mail`, or `reply:` and the like with the id of a mail. */
  compose?: string | undefined
  /** The entry of the record's timeline that is to be seen. */
  entry?: number | undefined
  /** True if conditions of the address were left out, because they were too long or could not be read. */
  cut?: true | undefined
  /** True while the deleted records are shown. */
  deleted?: true | undefined
}

/** The longest conditions that an address carries. */
export const LONGEST_TRIED = 4_000

/** Reads the search parameters of the address; what is not understood is left out. */
export function tableSearch(raw: Record<string, unknown>): TableSearch {
  const record = idOf(raw.record)
  const text = typeof raw.tried === 'string' ? raw.tried : raw.tried === undefined ? '' : JSON.stringify(raw.tried)
  const read = readConditions(text)
  const tried = text.length > LONGEST_TRIED ? shortened(read ?? {}) : text
  const isCut = raw.cut === true || (text !== '' && (read === null || tried !== text))
  // What is left out would stay as it is in the address.
  return {
    tried: read && tried ? tried : undefined,
    record,
    linked: record !== undefined && isChain(raw.linked) ? raw.linked : undefined,
    ...composeSearch(raw),
    cut: isCut ? true : undefined,
    deleted: raw.deleted ? true : undefined,
  }
}

/** What the address of a record says about its mails and its timeline. */
export function composeSearch({ compose, entry }: Record<string, unknown>): Pick<TableSearch, 'compose' | 'entry'> {
  return { compose: typeof compose === 'string' && /^\w+(:\d+)?$/.test(compose) ? compose : undefined, entry: idOf(entry) }
}

function idOf(raw: unknown): number | undefined {
  const id = Number(raw)
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

const isChain = (raw: unknown): raw is string => typeof raw === 'string' && raw.length <= 300 && /^\d+-\d+(,\d+-\d+)*$/.test(raw)

/** The conditions of an address; none if they are no JSON of an object. */
export const conditionsOf = ({ tried }: TableSearch): Conditions => readConditions(tried ?? '{}') ?? {}

function readConditions(text: string): Conditions | null {
  try {
    const read: unknown = JSON.parse(text)
    if (typeof read !== 'object' || read === null || Array.isArray(read)) return null
    const { filters, filter, where, search, order, replaces } = read as Conditions
    return {
      ...(replaces === true && { replaces }),
      ...(filters && { filters }),
      ...(filter && { filter }),
      ...(where && { where }),
      ...(search && { search }),
      ...(order && { order }),
    }
  } catch {
    // An address may have been cut off on its way.
    return null
  }
}

/** As many of the conditions as an address carries, as JSON: those that come first, each whole. */
function shortened({ filters, filter, where, ...others }: Conditions): string {
  let kept: Record<string, unknown> = {}
  const keep = (more: Record<string, unknown>): boolean => {
    const longer = { ...kept, ...more }
    const isRoom = JSON.stringify(longer).length <= LONGEST_TRIED
    if (isRoom) kept = longer
    return isRoom
  }
  for (const [key, value] of Object.entries({ ...others, filters, where })) if (value) keep({ [key]: value })
  const members: readonly unknown[] = filter && 'all' in filter && Array.isArray(filter.all) ? filter.all : filter ? [filter] : []
  let all: unknown[] = []
  for (const member of members) if (keep({ filter: { all: [...all, member] } })) all = [...all, member]
  return Object.keys(kept).length ? JSON.stringify(kept) : ''
}
