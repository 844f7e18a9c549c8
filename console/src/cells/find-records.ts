/** Finds records of linked tables, by what is typed and by texts that are pasted. */
import { cellTexts } from '../texts/cells.ts'
import type { Client, Field, Link } from './kind.ts'
import { chunksOf, type Found, short } from './naming.ts'

/** The most values of a list in a condition, and the most rows of an answer (contract.md §9). */
const MOST_VALUES = 200
const MOST_ROWS = 1_000
/** No title is longer. */
const MOST_CHARACTERS = 500

/** The title field of the table that a link points to; null if that table has none. */
async function titleField(tableId: number, client: Client): Promise<string | null> {
  const { fields } = await client.tables.get.query({ table_id: tableId })
  return fields.find(({ type, calc }) => type === 'text' && !calc)?.id ?? null
}

/**
 * Records of the linked table that a search finds: the one with the id that was typed, then those whose titles begin so, then all others.
 * They are in no other order, because a table without an index would be sorted as a whole.
 */
export async function searchRecords(
  field: Pick<Field, 'table'>,
  client: Client,
  search: string,
  limit: number,
  signal?: AbortSignal,
): Promise<Link[]> {
  const tableId = field.table ?? 0
  const title = await titleField(tableId, client)
  const ask = async (condition: object) => {
    const query = { table_id: tableId, fields: title ? [title] : ['id'], limit, ...condition }
    return (await client.records.query.query(query, { ...(signal && { signal }) })).rows
  }
  const words = search.trim().slice(0, MOST_CHARACTERS)
  const id = /^\(?(\d{1,10})\)?$/.exec(words)?.[1]
  const found = await Promise.all([
    id ? ask({ filter: { column: 'id', compare: '=', value: Number(id) } }) : [],
    words && title ? ask({ filter: { column: title, compare: 'starts_with', value: words } }) : [],
    ask(words ? { search: words } : {}),
  ])
  return [
    ...new Map(
      found
        .flat()
        .map((row) => linkOf(row, title))
        .map((link) => [link.id, link]),
    ).values(),
  ].slice(0, limit)
}

/** The records with these ids that there are, with their titles. */
export async function recordsWithIds(ids: readonly number[], tableId: number, client: Client): Promise<Link[]> {
  return rowsWith(ids, 'id', tableId, await titleField(tableId, client), client)
}

const linkOf = (row: Record<string, unknown>, title: string | null): Link => {
  const text = title && row[title]
  return { id: Number(row.id), title: typeof text === 'string' ? text : null }
}

// ── pasted texts ────────────────────────────────────────────────────────────

/** `Acme (12)`, `(12)`, `12`: the title and the id that a text may mean. */
function partsOf(name: string): { title: string; id: number | null } {
  if (name.length > MOST_CHARACTERS + ' (1234567890)'.length) return { title: name, id: null }
  const [, title = '', inBraces] = /^(.*?)\s*\((\d{1,10})\)$/su.exec(name) ?? []
  if (inBraces) return { title, id: Number(inBraces) }
  return { title: name, id: /^\d{1,10}$/.test(name) ? Number(name) : null }
}

/** The record that each name means: a title, an id, or both. */
export async function findRecords(names: readonly string[], field: Field, client: Client): Promise<Map<string, Found<Link>>> {
  const tableId = field.table ?? 0
  const title = await titleField(tableId, client)
  const idsWanted = [...new Set(names.flatMap((name) => partsOf(name).id ?? []))]
  const [titled, byId] = await Promise.all([
    title
      ? rowsWith(
          names.filter((name) => name.length <= MOST_CHARACTERS),
          title,
          tableId,
          title,
          client,
        )
      : [],
    rowsWith(idsWanted, 'id', tableId, title, client),
  ])
  const byTitle = Map.groupBy(titled, (link) => link.title)
  return new Map(names.map((name) => [name, meant(name, byTitle.get(name.normalize('NFC')) ?? [], byId)]))
}

function meant(name: string, [first, second]: readonly Link[], byId: readonly Link[]): Found<Link> {
  if (second) return { problem: cellTexts.manyRecords(short(name)) }
  const { id, title } = partsOf(name)
  const withId = byId.find((link) => link.id === id)
  // A number may be the title of one record and the id of another.
  if (first && withId && title === name && first.id !== withId.id) return { problem: cellTexts.manyRecords(short(name)) }
  if (first) return { one: first }
  const isSame = withId && (title === name || title === '' || title === withId.title)
  return isSame ? { one: withId } : { problem: cellTexts.noRecord(short(name)) }
}

/** The records that have one of these values in a field. */
async function rowsWith(
  values: readonly (string | number)[],
  column: string,
  tableId: number,
  title: string | null,
  client: Client,
): Promise<Link[]> {
  const pages = chunksOf(values, MOST_VALUES).map(async (value) => {
    const condition = { column, compare: '=' as const, value }
    const { rows } = await client.records.query.query({
      ...{ table_id: tableId, filter: condition, limit: MOST_ROWS },
      fields: title ? [title] : ['id'],
    })
    return rows.map((row) => linkOf(row, title))
  })
  return (await Promise.all(pages)).flat()
}
