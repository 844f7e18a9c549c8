/**
 * Puts stored texts into NFC, table by table. Texts of requests come in that form, but an earlier release stored them as they were sent.
 * The `layout` of a table says that all its texts are in NFC; until then conditions look for both spellings (`is_normalized`).
 */
import { z } from 'zod'
import { type FieldDef, isText, ownFields, type TableDef } from '../../fields/definition.ts'
import type { Option } from '../../fields/settings.ts'
import { lowerCased } from '../../fields/text-match.ts'
import type { Context } from '../../platform/context.ts'
import { ident, join, recordsOf, sql } from '../../platform/database/database.ts'
import { isOutdated } from '../../platform/database/outdated-definition.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { nfc } from '../../platform/normal-forms.ts'
import { changeTable } from '../alter-table.ts'
import { NORMALIZED, tableDefinitions } from '../definition-cache.ts'
import { idBatches } from './id-batches.ts'

export const normalizeTexts = defineQueue({
  name: 'tables.normalize-texts',
  schema: z.object({}),
  options: { expireInSeconds: 3_600, retryLimit: 2 },
})

/** On a schedule: normalises the tables that are not marked yet. It may be killed anywhere and run twice. */
export async function normalizeAll(context: Context): Promise<void> {
  const tables = await context.db.read<{ id: number }>(sql`
    select id from tables where layout < ${NORMALIZED} and deleted_at is null order by id`)
  for (const { id } of tables) await normalizeTable(context, id)
}

/**
 * Normalises the texts of a table. It is marked when a run finds nothing to change: the process of an earlier release may have written
 * beside the one that changed something.
 */
async function normalizeTable(context: Context, tableId: number): Promise<void> {
  const table = (await tableDefinitions(context.db, [tableId])).get(tableId)
  if (!table) return
  try {
    if (!(await normalizeRecords(context, table))) await mark(context, table)
  } catch (error) {
    // The fields were changed meanwhile. The next run finds the table again.
    if (!isOutdated(error)) throw error
  }
}

/** The records keep their version and the time of their last change, because nobody has changed them. @returns how many it changed */
async function normalizeRecords({ db }: Context, table: TableDef): Promise<number> {
  const columns = ownFields(table)
    .filter(({ type }) => isText(type))
    .map(({ id }) => ident(id))
  if (!columns.length) return 0
  const values = join(columns.map((column) => sql`${column} = normalize(cells.${column}, NFC)`))
  const isOther = join(
    columns.map((column) => sql`cells.${column} is not nfc normalized`),
    ' or ',
  )
  let count = 0
  for await (const { after, to } of idBatches(db, table.id)) {
    const { changed } = await db.records(table.id).write(sql`
      update ${recordsOf(table.id)} as cells set ${values} where cells.id > ${after} and cells.id <= ${to} and (${isOther})`)
    count += changed
  }
  return count
}

/** Marks the table, and normalises its name, and the names and options of its fields, as far as they do not meet others. */
function mark(context: Context, { id }: TableDef): Promise<void> {
  return changeTable(context, { id }, async (table) => {
    const { db } = context
    await db.write(sql`update tables set layout = ${NORMALIZED} where id = ${id} and layout < ${NORMALIZED}`)
    await db.write(sql`
      update tables t set name = normalize(t.name, NFC) where t.id = ${id} and t.name is not nfc normalized and not exists (
        select from tables o where o.space_id = t.space_id and o.id <> t.id and o.deleted_at is null
          and lower(normalize(o.name, NFC) collate "pg_c_utf8") = lower(normalize(t.name, NFC) collate "pg_c_utf8"))`)
    for (const field of ownFields(table)) await normalizeField(context, table, field)
    for (const { normalizeNames } of context.cascades) await normalizeNames?.(context, table)
  })
}

async function normalizeField(context: Context, table: TableDef, field: FieldDef): Promise<void> {
  const names = table.fields.map(({ name }) => lowerCased(nfc(name)))
  const name = isOnly(lowerCased(nfc(field.name)), names) ? nfc(field.name) : field.name
  const options = field.options && normalizedOptions(field.options)
  const titles = new Map(
    (field.options ?? []).flatMap(({ title }, index) =>
      options?.[index]?.title === title ? [] : [[title, options?.[index]?.title ?? title]],
    ),
  )
  if (name === field.name && !titles.size) return
  await context.db.write(sql`
    update fields set name = ${name}, options = ${options && JSON.stringify(options)}::jsonb
    where table_id = ${table.id} and id = ${field.id}`)
  if (titles.size) for (const { renameOptions } of context.cascades) await renameOptions?.(context, table, field, titles)
}

/** Options whose titles would become the same stay as they are; the doctor names them. */
function normalizedOptions(options: readonly Option[]): Option[] {
  const titles = options.map(({ title }) => nfc(title))
  return options.map(({ id, title }) => ({ id, title: isOnly(nfc(title), titles) ? nfc(title) : title }))
}

const isOnly = (value: string, all: readonly string[]) => all.indexOf(value) === all.lastIndexOf(value)
