/** The statement of an access check. It is composed once for all that its text depends on (composed-once.ts). */
import { composedOnce } from '../database/composed-once.ts'
import { type Database, empty, type Sql, sql } from '../database/database.ts'
import type { Statement } from '../database/statement.ts'
import { memo } from '../memo.ts'
import { formatInstant } from '../time/time.ts'
import { type Actor, type KnownCredentials, principalBy } from './authenticate.ts'

export type ResourceIds = Record<string, number>

/** How a resource is selected. */
export interface Selectable {
  /**
   * Selects at most one row. The SQL may use `p`, the row of the principal (p.p_account_id, p.p_user_id, p.p_is_owner, p.p_space_ids).
   * @param subject what `composedFor` has returned
   */
  select(ids: ResourceIds, db?: Database, subject?: object): Sql
  /**
   * The object that the text of `select` depends on, beside `idsInText`; undefined if there is none for these ids. The text is composed
   * once for it (access-statement.ts), so `select` must only bind the other ids. Without this function the text is composed each time.
   */
  composedFor?(ids: ResourceIds, db: Database): object | undefined
  readonly idsInText?: readonly string[]
  readonly container?: Container
  /** Selects the columns that are not those of the container, as `select` does. Without it there are none. */
  selectRest?(ids: ResourceIds, db: Database, subject?: object): Sql
}

/** The row of the space or table that a resource is in. It stays the same as long as the account's access has the same version (remembered-access.ts). */
export interface Container {
  readonly kind: 'space' | 'table'
  /** The name of its id, which alone finds it for a caller. */
  readonly id: string
  readonly columns: readonly string[]
}

/**
 * Selects one row for the principal `p` in the statement of the access check, so that it costs no round trip. It is composed once, so it must only
 * bind what it gets: `today`, the date in UTC.
 */
export type PrincipalSelect<Row extends object = object> = ((today: string) => Sql) & { readonly row?: Row }

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

/** What each run of the statement binds, beside the ids. */
interface Claim {
  tokenHash: Buffer
  remembered: Remembered
  /** The date in UTC. */
  today: string
  ids: ResourceIds
}

/** How the principal is found. */
type Way = KnownCredentials['kind'] | 'remembered'

/** Selects the principal, with the columns of the resource and of `principalRow`, and as `access_version` that of the account. */
export const accessStatement = (question: AccessQuestion, db: Database): Statement =>
  statementBy(question.credentials.kind, question, db, NO_PRINCIPAL)

/** Selects the same without what is remembered: the principal, and the container of the resource. There is no row if the account has no version. */
export const rememberedStatement = (question: AccessQuestion, db: Database, remembered: Remembered): Statement =>
  statementBy('remembered', question, db, remembered)

const NO_PRINCIPAL: Remembered = { accountId: 0, userId: 0, isOwner: false, spaceIds: null }

function statementBy(way: Way, question: AccessQuestion, db: Database, remembered: Remembered): Statement {
  const { resource, principalRow, ids, credentials, now } = question
  const claim = { tokenHash: credentials.tokenHash, remembered, today: formatInstant(now).slice(0, 10), ids }
  const subject = resource ? resource.composedFor?.(ids, db) : NO_RESOURCE
  if (!subject) return compose(way, question, db, claim, undefined)
  const composed = composedOf(resource ?? NO_RESOURCE)(principalRow ?? NO_ROW)(subject)
  const run = composed[way] ?? composeFor(way, question, db, subject)
  composed[way] = run
  return run(claim)
}

const NO_RESOURCE = {}
const NO_ROW = {}

/** By the resource, the row of the principal, and what the text of the resource depends on. */
const composedOf = memo((_resource: object) =>
  memo((_principalRow: object) => memo((_subject: object): { [Each in Way]?: (claim: Claim) => Statement } => ({}))),
)

function composeFor(way: Way, question: AccessQuestion, db: Database, subject: object): (claim: Claim) => Statement {
  const { resource, ids } = question
  const inText = Object.fromEntries(Object.entries(ids).filter(([name]) => resource?.idsInText?.includes(name)))
  const bound = Object.keys(ids).filter((name) => !Object.hasOwn(inText, name))
  const names = ['tokenHash', 'today', ...REMEMBERED, ...bound]
  const run = composedOnce<Record<string, unknown>>(names, ({ tokenHash, today, ...rest }) => {
    const remembered = Object.fromEntries(REMEMBERED.map((name) => [name, rest[name]])) as unknown as Remembered
    const boundIds = Object.fromEntries(bound.map((name) => [name, rest[name]]))
    const claim = { tokenHash: tokenHash as Buffer, remembered, today: today as string, ids: { ...boundIds, ...inText } as ResourceIds }
    return compose(way, question, db, claim, subject)
  })
  return ({ ids: given, tokenHash, today, remembered }) => run({ ...given, ...remembered, tokenHash, today })
}

const REMEMBERED = ['accountId', 'userId', 'isOwner', 'spaceIds'] as const

function compose(way: Way, { resource, principalRow }: AccessQuestion, db: Database, claim: Claim, subject: object | undefined): Sql {
  const { tokenHash, today, remembered, ids } = claim
  const isRemembered = way === 'remembered'
  const principal = isRemembered ? rememberedPrincipal(remembered) : principalBy(way, sql`${tokenHash}`)
  const isContainerKnown = isRemembered && resource?.container
  const selected = isContainerKnown ? resource.selectRest?.(ids, db, subject) : resource?.select(ids, db, subject)
  return sql`
    select ${isRemembered ? empty : sql`p.*, `}v.version as access_version${principalRow ? sql`, a.*` : empty}${selected ? sql`, t.*` : empty}
    from (${principal}) p
    ${isRemembered ? empty : sql`left `}join access_versions v on v.account_id = p.p_account_id
    ${principalRow ? sql`left join lateral (${principalRow(today)}) a on true` : empty}
    ${selected ? sql`left join lateral (${selected}) t on true` : empty}`
}

const rememberedPrincipal = ({ accountId, userId, isOwner, spaceIds }: Remembered): Sql => sql`
  select ${accountId}::int as p_account_id, ${userId}::int as p_user_id, ${isOwner}::bool as p_is_owner, ${spaceIds}::int[] as p_space_ids`
