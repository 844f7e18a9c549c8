/** The statement of an access check. It is composed once for all that its text depends on (composed-once.ts). */
import { composedOnce } from '../database/composed-once.ts'
import { type Database, empty, type Sql, type Statement, sql } from '../database/database.ts'
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
  readonly lasting?: Lasting
}

/** The part of a resource's row that stays the same as long as the account's access has the same version (remembered-access.ts). */
export interface Lasting {
  /** The id that alone finds the part for a caller. */
  readonly id: string
  /** Resources with the same list share what is remembered of them. */
  readonly columns: readonly string[]
  /** Selects the other columns as `select` does, if there are any. */
  others?(ids: ResourceIds, db: Database, subject?: object): Sql
}

/**
 * A select of one row for the principal `p`, which runs in the statement of the access check and so costs no round trip. It is composed
 * once, so it must only bind what it gets: `today`, the date in UTC, and what the principal sees, if that is remembered.
 */
export type Alongside<Row extends object = object> = ((today: string, seen: Visible | undefined) => Sql) & { readonly row?: Row }

/** What a user may see. */
export type Visible = Pick<Actor, 'visibleSpaceIds' | 'deletedTableIds'>

export interface AccessQuestion {
  credentials: KnownCredentials
  resource: Selectable | null
  alongside: Alongside | undefined
  /** Of the resource; -1 for an id that no row can have. */
  ids: ResourceIds
  now: Date
}

/** Of a principal whom this process remembers: what selects may use of `p`. */
export type Remembered = Pick<Actor, 'accountId' | 'userId' | 'isOwner' | 'spaceIds'> & Visible

/** What each run of the statement binds, beside the ids. */
interface Claim {
  tokenHash: Buffer
  remembered: Remembered
  /** The date in UTC. */
  today: string
  ids: ResourceIds
}

/** How the principal is found. */
type Way = KnownCredentials['kind'] | 'remembered' | 'remembered with what it sees'

/** Selects the principal, with the columns of the resource and of `alongside`, and as `access_version` that of the account. */
export const accessStatement = (question: AccessQuestion, db: Database): Statement =>
  statementBy(question.credentials.kind, question, db, NO_PRINCIPAL)

/**
 * Selects the same without what is remembered: the columns of the principal, and those of the lasting part of the resource. There is no row if
 * the account has no version.
 */
export const rememberedStatement = (question: AccessQuestion, db: Database, remembered: Remembered): Statement =>
  statementBy(remembered.visibleSpaceIds ? 'remembered with what it sees' : 'remembered', question, db, remembered)

const NO_PRINCIPAL: Remembered = { accountId: 0, userId: 0, isOwner: false, spaceIds: null, visibleSpaceIds: null, deletedTableIds: null }

function statementBy(way: Way, question: AccessQuestion, db: Database, remembered: Remembered): Statement {
  const { resource, alongside, ids, credentials, now } = question
  const claim = { tokenHash: credentials.tokenHash, remembered, today: formatInstant(now).slice(0, 10), ids }
  const subject = resource ? resource.composedFor?.(ids, db) : NO_RESOURCE
  if (!subject) return compose(way, question, db, claim, undefined)
  const composed = composedOf(resource ?? NO_RESOURCE)(alongside ?? NOTHING_ALONGSIDE)(subject)
  const run = composed[way] ?? composeFor(way, question, db, subject)
  composed[way] = run
  return run(claim)
}

const NO_RESOURCE = {}
const NOTHING_ALONGSIDE = {}

/** By the resource, the select alongside, and what the text of the resource depends on. */
const composedOf = memo((_resource: object) =>
  memo((_alongside: object) => memo((_subject: object): { [Each in Way]?: (claim: Claim) => Statement } => ({}))),
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

const REMEMBERED = ['accountId', 'userId', 'isOwner', 'spaceIds', 'visibleSpaceIds', 'deletedTableIds'] as const

function compose(way: Way, { resource, alongside }: AccessQuestion, db: Database, claim: Claim, subject: object | undefined): Sql {
  const { tokenHash, today, remembered, ids } = claim
  const isRemembered = way !== 'key' && way !== 'session'
  const { visibleSpaceIds, deletedTableIds } = remembered
  const seen = way === 'remembered with what it sees' ? { visibleSpaceIds, deletedTableIds } : undefined
  const principal = isRemembered ? rememberedPrincipal(remembered) : principalBy(way, sql`${tokenHash}`)
  const lasting = isRemembered ? resource?.lasting : undefined
  const selected = lasting ? lasting.others?.(ids, db, subject) : resource?.select(ids, db, subject)
  return sql`
    select ${isRemembered ? empty : sql`p.*, `}v.version as access_version${alongside ? sql`, a.*` : empty}${selected ? sql`, t.*` : empty}
    from (${principal}) p
    ${isRemembered ? empty : sql`left `}join access_versions v on v.account_id = p.p_account_id
    ${alongside ? sql`left join lateral (${alongside(today, seen)}) a on true` : empty}
    ${selected ? sql`left join lateral (${selected}) t on true` : empty}`
}

const rememberedPrincipal = ({ accountId, userId, isOwner, spaceIds }: Remembered): Sql => sql`
  select ${accountId}::int as p_account_id, ${userId}::int as p_user_id, ${isOwner}::bool as p_is_owner, ${spaceIds}::int[] as p_space_ids`
