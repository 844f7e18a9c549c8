/** The statement of an access check. */
import type { Actor } from '../actor.ts'
import { type Database, empty, type Sql, sql } from '../database/database.ts'
import { type Given, type Parameters, prepare } from '../database/prepare.ts'
import type { Statement } from '../database/statements/statement.ts'
import { formatInstant } from '../time/time.ts'
import { type KnownCredentials, principalBy } from './authenticate.ts'

export type ResourceIds = Record<string, number>

/** The ids of a resource, or the parameters that stand for them. */
export type SelectedIds = Readonly<Record<string, Given<number>>>

/** What the text of a select depends on beside its resource: a value, or an object that never changes. */
export type TextKey = object | string | number | boolean | null

/** How a resource is selected. Its statements are prepared, so they bind nothing but the ids. */
export interface Selectable {
  readonly ids: readonly { name: string }[]
  /**
   * Selects at most one row. The SQL may use `p`, the row of the principal (p.p_account_id, p.p_user_id, p.p_is_owner, p.p_space_ids).
   * @param of what `textOf` has returned; null without it
   */
  select(ids: SelectedIds, of: TextKey): Sql
  /** What the text of the selects depends on. */
  textOf?(ids: ResourceIds, db: Database): TextKey
  readonly container?: Container
  /** Selects the columns that are not those of the container, as `select` does. Without it there are none. */
  selectRest?(ids: SelectedIds, of: TextKey): Sql
}

/** Selects the row of a resource, for a statement that is composed for one run. */
export const selectOf = (resource: Selectable, ids: ResourceIds, db: Database): Sql =>
  resource.select(ids, resource.textOf?.(ids, db) ?? null)

/** The row of the space or table of a resource: the same as long as the account's access has the same version (remembered-access.ts). */
export interface Container {
  readonly kind: 'space' | 'table'
  /** The name of its id, which alone finds it for a caller. */
  readonly id: string
  readonly columns: readonly string[]
}

/** Selects one row for the principal `p` in the statement of the access check: no round trip more. @param today the date in UTC */
export type PrincipalSelect<Row extends object = object> = ((today: Sql) => Sql) & { readonly row?: Row }

export interface AccessQuestion {
  credentials: KnownCredentials
  resource: Selectable | null
  principalRow: PrincipalSelect | undefined
  /** Of the resource; -1 for an id that no row can have. */
  ids: ResourceIds
  now: Date
}

/** Of a principal whom this process remembers: what selects may use of `p`. */
export type Remembered = Pick<Actor, 'accountId' | 'userId' | 'isOwner' | 'spaceIds'>

/** How the principal is found. */
type Way = KnownCredentials['kind'] | 'remembered'

/** Selects the principal, with the columns of the resource and of `principalRow`, and as `access_version` that of the account. */
export const accessStatement = (question: AccessQuestion, db: Database): Statement =>
  statementBy(question.credentials.kind, question, db, { tokenHash: question.credentials.tokenHash })

/** Selects the same without the principal and the container, which are remembered; no row if the account has no version. */
export const rememberedStatement = (
  question: AccessQuestion,
  db: Database,
  { accountId, userId, isOwner, spaceIds }: Remembered,
): Statement => statementBy('remembered', question, db, { accountId, userId, isOwner, spaceIds })

function statementBy(way: Way, { resource, principalRow, ids, now }: AccessQuestion, db: Database, principal: object): Statement {
  const of = resource?.textOf?.(ids, db) ?? null
  const values = { ...ids, ...principal, today: formatInstant(now).slice(0, 10) }
  return statement({ way, resource, principalRow: principalRow ?? null, of }, values as Values)
}

interface Shape {
  way: Way
  resource: Selectable | null
  principalRow: PrincipalSelect | null
  of: TextKey
}

/** What a run binds, beside the ids: the principal by one of the ways, and the date in UTC. */
interface Values extends Remembered {
  tokenHash: Buffer
  today: string
}

/** The statements that were used last. The text for a record names its table. */
const MOST_PREPARED = 1_000

const statement = prepare<Shape, Values>(MOST_PREPARED, (p, { way, resource, principalRow, of }) => {
  const isRemembered = way === 'remembered'
  const principal = isRemembered ? rememberedPrincipal(p) : principalBy(way, p.tokenHash)
  const isContainerKnown = isRemembered && resource?.container
  const ids: SelectedIds = Object.fromEntries((resource?.ids ?? []).map(({ name }) => [name, p[name as keyof Values]]))
  const selected = isContainerKnown ? resource.selectRest?.(ids, of) : resource?.select(ids, of)
  return sql`
    select ${isRemembered ? empty : sql`p.*, `}v.version as access_version
      ${principalRow ? sql`, a.*` : empty}${selected ? sql`, t.*` : empty}
    from (${principal}) p
    ${isRemembered ? empty : sql`left `}join access_versions v on v.account_id = p.p_account_id
    ${principalRow ? sql`left join lateral (${principalRow(p.today)}) a on true` : empty}
    ${selected ? sql`left join lateral (${selected}) t on true` : empty}`
})

const rememberedPrincipal = ({ accountId, userId, isOwner, spaceIds }: Parameters<Remembered>): Sql => sql`
  select ${accountId}::int as p_account_id, ${userId}::int as p_user_id, ${isOwner}::bool as p_is_owner, ${spaceIds}::int[] as p_space_ids`
