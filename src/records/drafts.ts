/** Checks the values of new and changed records and converts them to cells. All issues of a request are reported together. */

import { fieldsById, notAField } from '../fields/by-id.ts'
import type { Cell, UserRef } from '../fields/cell.ts'
import { type FieldDef, ownFields, parseCell, type TableDef } from '../fields/definition.ts'
import type { Role } from '../platform/access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { AppError, badInputs, forbidden, type Issue } from '../platform/errors.ts'
import { type Found, findReferences, type Reference, resolveReference } from './references.ts'

/** The values of one record, with their path in the request. */
export interface RecordDraft {
  data: Record<string, unknown>
  path: (string | number)[]
}

/** Cells by field id; a field without a value in the request has no entry. */
export type Cells = Map<string, Cell>

/** The fields whose values are numbers of JSON, which most clients have read as doubles before. */
export const doublesIn = (data: RecordDraft['data']): string[] => Object.keys(data).filter((id) => typeof data[id] === 'number')

/** The most issues in an answer. A batch could have hundreds of thousands. */
export const MAX_ISSUES = 100

interface Rules {
  role: Role
  /** True for new records: a required field without a value is then refused. */
  isNew: boolean
  /** Members that were found for earlier chunks of the same import. */
  members?: Map<UserRef, number>
}

/** The results for the drafts judged so far. `at` is the index of a draft. */
interface Judged {
  cells: Cells[]
  /** The first hundred, before references are looked up. */
  refused: { at: number; path: RecordDraft['path']; id: string; message: string }[]
  references: { at: number; path: RecordDraft['path']; field: FieldDef; parsed: Reference }[]
}

/**
 * Converts the values of records to cells.
 * @throws AppError 400 with the first hundred issues; 403 for a field that only admins may write
 */
export async function readDrafts(context: Context, table: TableDef, rules: Rules, drafts: readonly RecordDraft[]): Promise<Cells[]> {
  const { cells, issues } = await judgeDrafts(context, table, rules, drafts)
  if (issues.length) throw refusal(issues.slice(0, MAX_ISSUES))
  return cells
}

/** The message of a refused calc field has no path (contract.md §3). */
function refusal(issues: Issue[]): AppError {
  const message = issues[0]?.message
  return message?.startsWith(UNASSIGNABLE) ? new AppError('BAD_REQUEST', message, { issues }) : badInputs(issues)
}

const UNASSIGNABLE = 'Unassignable - cannot set calculation field: '

/**
 * Returns the cells of each draft and at least the first hundred issues, in the order of the drafts. Looks up all references together.
 * @throws AppError 403 for a field that only admins may write
 */
export async function judgeDrafts(
  { db, actor }: Context,
  table: TableDef,
  { role, isNew, members }: Rules,
  drafts: Iterable<RecordDraft>,
): Promise<{ cells: Cells[]; issues: Issue[] }> {
  const fields = fieldsById(table)
  const required = isNew ? ownFields(table).filter((field) => field.required && mayWrite(field, role)) : []
  const caller = { role, userId: actor.userId }
  const judged: Judged = { cells: [], refused: [], references: [] }
  for (const draft of drafts) {
    const { data, path } = draft
    const at = judged.cells.push(new Map()) - 1
    for (const id of Object.keys(data)) {
      const message = judgeValue(judged, draft, at, id, fields.get(id), caller)
      if (message !== undefined) refuse(judged, { at, path, id, message })
    }
    for (const { id } of required) if (!Object.hasOwn(data, id)) refuse(judged, { at, path, id, message: 'is required' })
  }
  const { cells, refused, references } = judged
  if (references.length) resolveReferences(judged, await findReferences(db, table, actor, references, members))
  const issues = refused.sort((a, b) => a.at - b.at).map(({ path, id, message }) => ({ path: [...path, id], message }))
  return { cells, issues }
}

function refuse({ refused }: Judged, issue: Judged['refused'][number]): void {
  if (refused.length < MAX_ISSUES) refused.push(issue)
}

/** Adds the value to the cells or to the references, or returns why it is refused. */
function judgeValue(
  { cells, references }: Judged,
  { data, path }: RecordDraft,
  at: number,
  id: string,
  field: FieldDef | undefined,
  { role, userId }: { role: Role; userId: number },
): string | undefined {
  if (!field) return notAField(id)
  if (field.key || field.calc) return `${UNASSIGNABLE}${id}`
  if (!mayWrite(field, role)) throw forbidden()
  const parsed = parseCell(field, data[id], userId)
  if (parsed.kind === 'wrong') return parsed.reason
  if (parsed.kind !== 'cell') references.push({ at, path, field, parsed })
  else if (parsed.cell === null && field.required) return 'is required'
  else cells[at]?.set(id, parsed.cell)
  return undefined
}

function resolveReferences({ cells, refused, references }: Judged, found: Found): void {
  for (const { at, path, field, parsed } of references) {
    const resolved = resolveReference(field, parsed, found)
    if ('reason' in resolved) refused.push({ at, path, id: field.id, message: resolved.reason })
    else cells[at]?.set(field.id, resolved.cell)
  }
}

export const mayWrite = (field: FieldDef, role: Role) => !field.admin_only || role === 'admin'
