/** A field gets another type: what would become of its cells, and the job that does it. */
import { ident, recordsOf, type Sql, sql } from '../db.ts'
import { badInput, badInputs, conflict, isUniqueViolation, unavailable } from '../errors.ts'
import type { Scope } from '../scope.ts'
import type { TableRef } from '../targets.ts'
import { formatInstant } from '../time.ts'
import { lastId } from './cell-changes.ts'
import { changeTable } from './change.ts'
import { type Conversion, conversionOf, hasOwnOptions, isConvertible, type Place } from './conversion.ts'
import { convertField } from './conversions.ts'
import { tableDefinition } from './definitions.ts'
import { neededByViews, viewsThat } from './dependents.ts'
import { ownField } from './field-changes.ts'
import { type FieldDef, isLookup, isSelect, type TableDef } from './fields.ts'
import { newFields } from './new-fields.ts'
import { changeOptions } from './options.ts'
import { MAX_OPTIONS, type TypeChange, type TypeChangeReport } from './schema.ts'
import { requireLookedUpTables } from './service.ts'

/** Failing cells that an answer names. */
const NAMED = 100

/**
 * Says which cells convert, and unless it is a dry run, starts the job that converts them. Until it is done the field stays as it is.
 * The look at the cells takes up to 30 s a million records, and ends when the caller hangs up: then nothing is started.
 * @throws AppError 400 for types that do not become each other, and what does not go with the new one; 409 when cells do not convert
 * without `drop_failing`, when views would be invalid without `force`, and while another field of the table is converted
 */
export async function changeType(scope: Scope, table: TableRef, fieldId: string, input: TypeChange): Promise<TypeChangeReport> {
  const definition = await tableDefinition(scope.db, table)
  const field = ownField(definition, fieldId)
  const place = { ...definition, timeZone: scope.actor.timeZone }
  const target = await targetOf(scope, definition, field, input, place)
  const report = await reportOf(scope, table.id, conversionOf(field, target, table.id, place))
  if (input.dry_run) return { job_id: null, ...report }

  if (report.failing && !input.drop_failing) throw doNotConvert(field, report)
  return changeTable(scope, table, async (present) => {
    if (JSON.stringify(ownField(present, fieldId)) !== JSON.stringify(field)) throw conflict('The field has just been changed')
    const { needing, sorting } = await viewsThat('invalidWith', scope, present, target)
    if ((needing.length || sorting.length) && !input.force) throw neededByViews([...needing, ...sorting])
    return { job_id: await enqueue(scope, table, target, input), ...report }
  })
}

/** The field as it is to be. @throws AppError 400 */
async function targetOf(scope: Scope, table: TableDef, field: FieldDef, input: TypeChange, place: Place): Promise<FieldDef> {
  const { type, options, decimals } = input
  if (type === field.type) throw badInput('type', `is ${type} already`)
  if (!isConvertible(field.type, type)) throw badInput('type', `a ${field.type} field does not become a ${type} field`)
  const lookedUp = input.table ?? (isLookup(type) ? field.lookup_table_id : null)
  if (isLookup(type) && isLookup(field.type) && lookedUp !== field.lookup_table_id) throw badInput('table', 'must be the present one')

  const { fields, issues } = newFields([{ name: field.name, type, options, decimals, table: lookedUp }], new Set())
  if (issues.length) throw badInputs(issues.map(({ path, message }) => ({ path: path.slice(1), message })))
  const wanted = fields[0] as FieldDef
  await requireLookedUpTables(scope, table.space_id, fields, () => ['table'])
  const { lookup } = isLookup(field.type) ? field : { lookup: undefined }
  return {
    ...field,
    type,
    decimals: wanted.decimals,
    lookup_table_id: wanted.lookup_table_id,
    options: isSelect(type) ? await optionsOf(scope, table, field, { ...wanted, type }, input, place) : null,
    ...(lookup && { lookup }),
  }
}

/** Those that are given; else those of the field, or the different values of its cells. Titles keep their ids. */
async function optionsOf(
  scope: Scope,
  table: TableDef,
  field: FieldDef,
  wanted: FieldDef,
  { options }: TypeChange,
  place: Place,
): Promise<FieldDef['options']> {
  if (isSelect(field.type)) return changeOptions(field.options ?? [], options ?? (field.options ?? []).map(({ title }) => title)).options
  if (options || !hasOwnOptions(field.type, wanted.type)) return wanted.options
  const { select } = conversionOf(field, { ...field, type: 'long_text' }, table.id, place)
  const one = wanted.type === 'select' ? sql`select btrim(words)` : sql`select btrim(w) from unnest(string_to_array(words, ',')) w`
  const titles = new Set<string>()
  for await (const range of ranges(scope, table.id)) {
    const found = await scope.db.query<{ title: string }>(
      sql`
        select distinct v.title from (${select(sql`${range} and r.${ident(field.id)} is not null`)}) c, lateral (${one}) v (title)
        where v.title <> '' and octet_length(v.title) <= 500 limit ${MAX_OPTIONS + 1}`,
      undefined,
      scope,
    )
    for (const { title } of found) titles.add(title)
    if (titles.size > MAX_OPTIONS) throw badInput('options', `must be given: the records hold more than ${MAX_OPTIONS} different values`)
  }
  return [...titles].sort().map((title, index) => ({ id: index + 1, title }))
}

/** Ids that are looked at in one statement: a second's work at most, where a cell is slow to convert. */
const STEP = 20_000

/**
 * All records `r` in ranges, for statements that take no longer than others.
 * @throws AppError 503 once the caller has hung up
 */
async function* ranges(scope: Scope, tableId: number): AsyncGenerator<Sql> {
  let hasHungUp = false
  // A statement under way is given up by itself; this is for the time between two.
  const stop = scope.onHangUp(() => {
    hasHungUp = true
  })
  try {
    const last = await lastId(scope.db, tableId, scope)
    for (let from = 0; from < last; from += STEP) {
      if (hasHungUp) throw unavailable('The caller has hung up')
      yield sql`r.id > ${from} and r.id <= ${from + STEP}`
    }
  } finally {
    stop()
  }
}

/** One look at all records. */
async function reportOf(scope: Scope, tableId: number, { select }: Conversion): Promise<Report> {
  const { db } = scope
  const report: Report = { converts: 0, fails: [], failing: 0 }
  for await (const range of ranges(scope, tableId)) {
    // With `offset 0` a cell is converted once, however often it is looked at.
    const some = sql`(${select(range)} offset 0) c`
    const [counted] = await db.query<{ converts: number; failing: number }>(
      sql`
        select count(*) filter (where converted is not null) as converts,
          count(*) filter (where words is not null and converted is null) as failing from ${some}`,
      undefined,
      scope,
    )
    report.converts += counted?.converts ?? 0
    report.failing += counted?.failing ?? 0
    if (!counted?.failing || report.fails.length >= NAMED) continue
    report.fails.push(
      ...(await db.query<Report['fails'][number]>(
        sql`
          select id as record_id, left(words, 500) as value from ${some} where words is not null and converted is null
          order by id limit ${NAMED - report.fails.length}`,
        undefined,
        scope,
      )),
    )
  }
  return report
}

type Report = Omit<TypeChangeReport, 'job_id'>

const doNotConvert = ({ type }: FieldDef, { fails, failing }: Report) =>
  conflict(`${failing} ${type} cells do not convert; send drop_failing: true to empty them`, {
    issues: fails.map(({ record_id, value }) => ({ path: ['records', record_id], message: value })),
  })

/** A unique index lets one conversion of a table in at a time. */
async function enqueue({ db, actor, now, jobs }: Scope, table: TableRef, target: FieldDef, input: TypeChange): Promise<number> {
  const { type, options, decimals, lookup_table_id } = target
  const total: Sql = sql`(select count(*) from ${recordsOf(table.id)})`
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
