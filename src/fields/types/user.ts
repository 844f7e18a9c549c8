/** Members: user and multi_user. Cells store the ids of users; their names and addresses are read once for all rows of an answer. */
import { emailOf } from '../../accounts/user-status.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { formsOf } from '../../platform/normal-forms.ts'
import { isMember } from '../../spaces/membership.ts'
import {
  asArrayText,
  EMPTY,
  type Parsed,
  property,
  readList,
  textProperty,
  type UserRef,
  type UserValue,
  unchanged,
  wholeNumber,
  wrong,
} from '../cell.ts'
import { writeList, writeOne } from '../cell-json.ts'
import {
  asList,
  columnOf,
  eachOf,
  hasValue,
  hasValues,
  isNull,
  isOneOf,
  like,
  likeAny,
  onlyValue,
  scalar,
  trimmed,
  unicode,
} from '../cell-sql.ts'
import { equality, within } from '../compares.ts'
import { ID_PATTERN, SHIELDED, writeListCsv, writeOneCsv } from '../csv-rules.ts'
import {
  type Condition,
  type ConversionPlace,
  type FieldTypeDefinition,
  type ListCondition,
  type QueryContext,
  type SortRule,
  THROUGH_TEXT,
  type ValueGrouping,
} from '../field-type.ts'
import { EMPTINESS, type Operand, type OperandList, operandText, readId, readText, type ValueKind } from '../operand.ts'
import type { FieldSettings } from '../settings.ts'

const isMe = (value: string) => value.toLowerCase() === '@me'

const PERSON: ValueKind = {
  wants: 'an email address, a user id or @me',
  read: (value) => {
    if (typeof value === 'number') return readId(value)
    if (typeof value !== 'string' || !value.includes('@')) return null
    return isMe(value) ? { kind: 'me' } : { kind: 'email', email: value.trim().toLowerCase() }
  },
}
const PERSON_PART: ValueKind = {
  wants: 'a part of a name or email address, or @me',
  read: (value) => (typeof value === 'string' && isMe(value) ? { kind: 'me' } : readText(value)),
}

const nameKey = sql`lower(u.name collate "pg_c_utf8")`

/** Selects as `keys` the sort keys of the account's users, deleted ones included, for `FoundUsers`. */
export const selectSortKeys = (accountId: number): Sql =>
  sql`select jsonb_object_agg(u.id, ${nameKey})::text as keys from users u where u.account_id = ${accountId}`

const byName: SortRule = {
  follows: 'the name',
  keyType: 'text',
  isNeverEmpty: false,
  key: (_, column, { accountId, users }) => {
    if (users) return sql`((${users.sortKeys ?? '{}'}::jsonb ->> ${column}::text) collate "pg_c_utf8")`
    return sql`(select ${nameKey} from users u where u.id = ${column} and u.account_id = ${accountId})`
  },
  isIndexable: () => false,
}

const byUser: ValueGrouping = {
  by: 'value',
  in: ['aggregate', 'groups', 'board'],
  value: (_, value) => value,
  key: byName.key,
  values: () => null,
}

export const user: FieldTypeDefinition = {
  takes: null,
  roles: [],

  column: 'int',
  isMultiple: false,
  names: 'users',
  maxLength: null,
  parse: parseOne,
  bind: unchanged,
  value: (_, column) => column,
  json: () => writeOne,

  compares: { ...equality(PERSON), ...within(PERSON_PART), ...EMPTINESS },
  condition: onOne,
  among: (asked, context) => isOneOf(columnOf(asked.field), idsOf(asked, context)),
  usersMeant: (asked, context) => (isEquality(asked) ? userMeant(asked, context) : selectNamed(asked, context)),
  isEmpty: isNull,
  meaningOf: null,
  sort: byName,
  equalityRank: 1,
  groups: byUser,
  measures: [],
  search: null,

  asText: (id, _, place) => sql`(${place.users ? jsonb(place.users.emails) : sql`(${selectEmails(place)})`} ->> (${id})::text)`,
  fromText: (text, _, place) => memberOf(sql`lower(${trimmed(text)})`, place),
  becomes: { multi_user: asList, select: THROUGH_TEXT, multi_select: THROUGH_TEXT },
  csv: {
    ...SHIELDED,
    write: () => writeOneCsv,
    textOf: (person) => (person as UserValue).email ?? (person as UserValue).name,
    // The text is an id or an email address.
    read: (text) => ({ value: ID_PATTERN.test(text.trim()) ? Number(text) : text }),
  },
}

export const multiUser: FieldTypeDefinition = {
  ...user,

  column: 'int[]',
  isMultiple: true,
  parse: parseSeveral,
  bind: asArrayText,
  json: () => writeList,

  compares: { ...equality(PERSON), contains: PERSON, ...EMPTINESS },
  condition: onSeveral,
  among: (asked, context) => hasValues(columnOf(asked.field), idsOf(asked, context), asked.operand.isAll),
  usersMeant: userMeant,
  sort: null,
  equalityRank: null,
  groups: { ...byUser, in: ['aggregate'] },

  fromText: (text, _, place) => eachOf(text, (one) => memberOf(sql`lower(${one})`, place)),
  becomes: { user: (cell) => onlyValue(cell) },
  csv: { ...user.csv, write: () => writeListCsv },
}

// ── cells ───────────────────────────────────────────────────────────────────

function parseOne(given: unknown, _: FieldSettings, me: number): Parsed {
  const ref = refOf(given, me)
  return ref === null ? wrong('must be a member: an id, an email address, {id}, {email} or @me') : { kind: 'users', users: [ref] }
}

function parseSeveral(given: unknown, _: FieldSettings, me: number): Parsed {
  const users = readList(given, (one) => refOf(one, me), 'members (ids, email addresses, {id}, {email} or @me)', 'member')
  if (typeof users === 'string') return wrong(users)
  return users.length ? { kind: 'users', users } : EMPTY
}

function refOf(given: unknown, me: number): UserRef | null {
  if (given === '@me') return me
  if (typeof given === 'string') return given.trim().toLowerCase() || null
  return wholeNumber(given) ?? wholeNumber(property(given, 'id')) ?? textProperty(given, 'email')?.trim().toLowerCase() ?? null
}

// ── queries ─────────────────────────────────────────────────────────────────

function onOne(condition: Condition, context: QueryContext): Sql {
  const { field, compare } = condition
  const column = columnOf(field)
  if (isEquality(condition)) return scalar(column, compare, idOf(condition, context))
  const found = context.users?.ids.get(condition)
  return found ? sql`${column} = any(${found}::int[])` : sql`${column} in (${selectNamed(condition, context)})`
}

function onSeveral(condition: Condition, context: QueryContext): Sql {
  return hasValue(columnOf(condition.field), condition.compare, idOf(condition, context))
}

/** The id of the user; 0, which no user has, for an unknown address. */
function idOf(condition: Condition, context: QueryContext): Sql {
  const { operand } = condition
  if (operand.kind === 'me') return sql`${context.me.id}::int`
  if (operand.kind === 'id') return sql`${operand.id}::int`
  const found = context.users?.ids.get(condition)
  return found ? sql`${found[0] ?? 0}::int` : sql`coalesce((${selectAddressed(operand, context)}), 0)`
}

/** The ids of the users of a list, as an array; 0, which no user has, for each unknown address. */
function idsOf(condition: ListCondition, context: QueryContext): Sql {
  const ids = condition.operand.operands.flatMap((operand) =>
    operand.kind === 'id' ? operand.id : operand.kind === 'me' ? context.me.id : [],
  )
  const addressed = selectAllAddressed(condition.operand, context)
  if (!addressed) return sql`${ids}::int[]`
  const found = context.users?.ids.get(condition)
  return found ? sql`${[...ids, ...found]}::int[]` : sql`(${ids}::int[] || array(${addressed}))`
}

function userMeant({ operand }: Condition | ListCondition, context: QueryContext): Sql | null {
  if (operand.kind === 'list') return selectAllAddressed(operand, context)
  return operand.kind === 'email' ? selectAddressed(operand, context) : null
}

const isEquality = (asked: Condition | ListCondition): asked is ListCondition | (Condition & { compare: '=' | '!=' }) =>
  !('compare' in asked) || asked.compare === '=' || asked.compare === '!='

const selectAddressed = (operand: Operand, { accountId }: QueryContext): Sql =>
  sql`select u.id from users u where u.account_id = ${accountId} and u.email = ${operand.kind === 'email' ? operand.email : null}`

/** Selects the users with the addresses of a list, and 0 for each address that is unknown; null if the list has none. */
function selectAllAddressed({ operands }: OperandList, { accountId }: QueryContext): Sql | null {
  const emails = operands.flatMap((operand) => (operand.kind === 'email' ? operand.email : []))
  if (!emails.length) return null
  return sql`select coalesce(u.id, 0) as id from unnest(${emails}::text[]) as e (email)
    left join users u on u.account_id = ${accountId} and u.email = e.email`
}

/** Selects the users whose name or address has the part. */
function selectNamed({ compare, operand }: Condition, { me, accountId }: QueryContext): Sql {
  const part = operand.kind === 'me' ? me.email : operandText(operand)
  return sql`select u.id from users u where u.account_id = ${accountId}
      and (${likeAny(unicode(sql`u.name`), compare, formsOf(part))} or ${like(unicode(sql`u.email`), compare, part)})`
}

// ── as text ─────────────────────────────────────────────────────────────────

/** Selects what `ConversionUsers` holds. */
export const selectConversionUsers = (place: ConversionPlace): Sql =>
  sql`select coalesce((${selectEmails(place)}), '{}')::text as emails, coalesce((${selectMembers(place)}), '{}')::text as members`

/** The current member with the address. The object of all members does not depend on the cell, so Postgres builds it once a statement. */
const memberOf = (email: Sql, place: ConversionPlace): Sql =>
  sql`(${place.users ? jsonb(place.users.members) : sql`(${selectMembers(place)})`} -> ${email})::int`

const jsonb = (text: string): Sql => sql`${text}::jsonb`

const selectEmails = ({ account_id }: ConversionPlace): Sql =>
  sql`select jsonb_object_agg(u.id, coalesce(${emailOf(sql`u`)}, u.name)) from public.users u where u.account_id = ${account_id}`

const selectMembers = ({ account_id, space_id }: ConversionPlace): Sql => sql`select jsonb_object_agg(u.email, u.id) from public.users u
  where u.account_id = ${account_id} and u.status <> 'deleted' and ${isMember(sql`u`, sql`${space_id}::int`)}`
