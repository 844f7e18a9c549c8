/** A field gets another type: what would become of its cells, and the job that does it. */

import { aField, type FieldDef, isLookup, isSelect, type TableDef } from '../fields/definition.ts'
import type { TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { empty, ident, recordsOf, sql } from '../platform/database/database.ts'
import { badInput, badInputs, conflict, isUniqueViolation, notFound } from '../platform/http/errors.ts'
import { formatInstant } from '../platform/time.ts'
import { changeTable } from '../tables/alter-table.ts'
import { neededByViews, viewsThat } from '../tables/cascade.ts'
import { ranges, within } from '../tables/cells/id-batches.ts'
import { justChanged } from '../tables/cells/lossy-change.ts'
import { isOutdated, tableDefinition, tableDefinitions } from '../tables/definitions.ts'
import { ownField } from '../tables/fields/alter-fields.ts'
import { newFields } from '../tables/fields/new-fields.ts'
import { changeOptions } from '../tables/fields/select-options.ts'
import { totalOf } from '../tables/row-counts.ts'
import { MAX_OPTIONS } from '../tables/schema.ts'
import { requireLookedUpTables } from '../tables/service.ts'
import { convertField } from './convert.ts'
import { type Figures, figuresOf, MAX_FAILS } from './count.ts'
import { type Conversion, conversionOf, hasOwnOptions, isConvertible, type Place } from './rules.ts'
import type { TypeChange, TypeChangeReport } from './schema.ts'

/**
 * Says which cells convert, and unless it is a dry run, starts the job that converts them. Until it is done the field stays as it is.
 * The look at the cells takes some seconds a million records, and ends when the caller hangs up: then nothing is started.
 * @throws AppError 400 for types that do not become each other, and what does not go with the new one; 409 when cells do not convert
 * without `drop_failing`, when views would be invalid without `force`, and while another field of the table is converted
 */
export async function changeType(context: Context, table: TableRef, fieldId: string, input: TypeChange): Promise<TypeChangeReport> {
  const definition = await tableDefinition(context.db, table)
  const field = ownField(definition, fieldId)
  const place = { ...definition, timeZone: context.actor.timeZone }
  if (field.removed_options.length) throw conflict('The cells are still being emptied of options that were removed; retry later')
  if (field.is_rounding) throw conflict('The cells are still being rounded; retry later')
  const { target, report } = await looked(context, table, fieldId, async () => {
    const wanted = await targetOf(context, definition, field, input, place)
    return { target: wanted, report: await reportOf(context, table.id, conversionOf(field, wanted, table.id, place)) }
  })
  if (input.dry_run) return { job_id: null, ...report }

  if (report.failing && !input.drop_failing) throw doNotConvert(field, report)
  return changeTable(context, table, async (present) => {
    if (JSON.stringify(ownField(present, fieldId)) !== JSON.stringify(field)) throw justChanged()
    const { needing, sorting } = await viewsThat('invalidWith', context, present, target)
    if ((needing.length || sorting.length) && !input.force) throw neededByViews([...needing, ...sorting])
    return { job_id: await enqueue(context, table, target, input), ...report }
  })
}

/** @throws AppError 404 or 409 when somebody else deletes the field or gives it a type while its cells are looked at */
async function looked<T>({ db }: Context, { id }: TableRef, fieldId: string, look: () => Promise<T>): Promise<T> {
  try {
    return await look()
  } catch (error) {
    if (!isOutdated(error)) throw error
    const present = (await tableDefinitions(db, [id])).get(id)
    if (!present) throw notFound('Table')
    ownField(present, fieldId)
    throw justChanged()
  }
}

/** The field as it is to be. @throws AppError 400 */
async function targetOf(context: Context, table: TableDef, field: FieldDef, input: TypeChange, place: Place): Promise<FieldDef> {
  const { type, options, decimals } = input
  if (type === field.type) throw badInput('type', `is ${type} already`)
  if (!isConvertible(field.type, type)) throw badInput('type', `${aField(field.type)} does not become ${aField(type)}`)
  const lookedUp = input.table ?? (isLookup(type) ? field.lookup_table_id : null)
  if (isLookup(type) && isLookup(field.type) && lookedUp !== field.lookup_table_id) throw badInput('table', 'must be the present one')

  const { fields, issues } = newFields([{ name: field.name, type, options, decimals, table: lookedUp }], new Set())
  if (issues.length) throw badInputs(issues.map(({ path, message }) => ({ path: path.slice(1), message })))
  const wanted = fields[0] as FieldDef
  await requireLookedUpTables(context, table.space_id, fields, () => ['table'])
  const { lookup } = isLookup(field.type) ? field : { lookup: undefined }
  return {
    ...field,
    type,
    decimals: wanted.decimals,
    lookup_table_id: wanted.lookup_table_id,
    options: isSelect(type) ? await optionsOf(context, table, field, { ...wanted, type }, input, place) : null,
    ...(lookup && { lookup }),
  }
}

/** Those that are given; else those of the field, or the different values of its cells. Titles keep their ids. */
async function optionsOf(
  context: Context,
  table: TableDef,
  field: FieldDef,
  wanted: FieldDef,
  { options }: TypeChange,
  place: Place,
): Promise<FieldDef['options']> {
  if (isSelect(field.type)) return changeOptions(field.options ?? [], options ?? (field.options ?? []).map(({ title }) => title)).options
  if (options || !hasOwnOptions(field.type, wanted.type)) return wanted.options
  const { words } = conversionOf(field, { ...field, type: 'long_text' }, table.id, place)
  const cell = sql`r.${ident(field.id)}`
  // Each record that is named costs a look for it.
  const once = isLookup(field.type) ? sql`distinct` : empty
  const isOne = wanted.type === 'select'
  const titles = new Set<string>()
  for await (const range of ranges(context, table.id)) {
    const some = sql`select ${once} ${cell} as cell from ${recordsOf(table.id)} r where ${within(range)} and ${cell} is not null`
    const cells = sql`(select ${words(sql`s.cell`)} as words from (${some}) s offset '0') c`
    const found = await context.db.query<{ title: string }>(
      sql`
        select distinct btrim(v.word) as title from ${isOne ? sql`(select words as word from ${cells})` : sql`(select unnest(string_to_array(words, ',')) as word from ${cells})`} v
        where btrim(v.word) <> '' and octet_length(btrim(v.word)) <= 500 limit ${MAX_OPTIONS + 1}`,
      undefined,
      context.signal,
    )
    for (const { title } of found) titles.add(title)
    if (titles.size > MAX_OPTIONS) throw badInput('options', `must be given: the records hold more than ${MAX_OPTIONS} different values`)
  }
  return [...titles].sort().map((title, index) => ({ id: index + 1, title }))
}

async function reportOf(context: Context, tableId: number, conversion: Conversion): Promise<Figures> {
  const report: Figures = { converts: 0, failing: 0, fails: [] }
  for await (const range of ranges(context, tableId)) {
    const statement = figuresOf(conversion, within(range), MAX_FAILS - report.fails.length)
    const [figures] = await context.db.query<Figures>(statement, undefined, context.signal)
    report.converts += figures?.converts ?? 0
    report.failing += figures?.failing ?? 0
    report.fails.push(...(figures?.fails ?? []))
  }
  return report
}

const doNotConvert = ({ type }: FieldDef, { fails, failing }: Figures) =>
  conflict(`${failing} ${type} cells do not convert; send drop_failing: true to empty them`, {
    issues: fails.map(({ record_id, value }) => ({ path: ['records', record_id], message: value })),
  })

/** A unique index lets one conversion of a table in at a time. */
async function enqueue({ db, actor, now, jobs }: Context, table: TableRef, target: FieldDef, input: TypeChange): Promise<number> {
  const { type, options, decimals, lookup_table_id } = target
  const total = totalOf(table.id)
  const at = formatInstant(now)
  try {
    const [conversion] = await db.query<{ id: number }>(sql`
      insert into field_conversions
        (account_id, table_id, field_id, target, user_id, time_zone, drop_failing, force, total, created_at, updated_at)
      select ${table.account_id}, ${table.id}, ${target.id}, ${JSON.stringify({ type, options, decimals, lookup_table_id })}::jsonb,
        ${actor.userId || null}::int, ${actor.timeZone}, ${input.drop_failing ?? false}, ${input.force ?? false}, ${total},
        ${at}::timestamp, ${at}::timestamp
      returning id`)
    const id = conversion?.id ?? 0
    await jobs.send(convertField, { conversion_id: id })
    return id
  } catch (error) {
    if (isUniqueViolation(error)) throw conflict('Another field of the table is being converted')
    throw error
  }
}
