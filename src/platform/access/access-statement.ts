/** The statement of an access check. It is composed once for all that its text depends on (composed-once.ts). */
import { composedOnce } from '../database/composed-once.ts'
import { type Database, empty, type Sql, type Statement, sql } from '../database/database.ts'
import { memo } from '../memo.ts'
import { formatInstant } from '../time/time.ts'
import { type KnownCredentials, principalBy } from './authenticate.ts'

export type ResourceIds = Record<string, number>

/** How a resource is selected. */
export interface Selectable {
  /**
   * Selects at most one row. The SQL may use `p`, the row of the principal (p.p_account_id, p.p_user_id).
   * @param subject what `composedFor` has returned
   */
  select(ids: ResourceIds, db?: Database, subject?: object): Sql
  /**
   * The object that the text of `select` depends on, beside `idsInText`; undefined if there is none for these ids. The text is composed
   * once for it (access-statement.ts), so `select` must only bind the other ids. Without this function the text is composed each time.
   */
  composedFor?(ids: ResourceIds, db: Database): object | undefined
  readonly idsInText?: readonly string[]
}

/**
 * A select of one row for the principal `p`, which runs in the statement of the access check and so costs no round trip. It is composed
 * once, so it must only bind `today`, the date in UTC.
 */
export type Alongside<Row extends object = object> = ((today: string) => Sql) & { readonly row?: Row }

export interface AccessQuestion {
  credentials: KnownCredentials
  resource: Selectable | null
  alongside: Alongside | undefined
  /** Of the resource; -1 for an id that no row can have. */
  ids: ResourceIds
  now: Date
}

/** What each run of the statement binds, beside the ids. */
interface Claim {
  tokenHash: Buffer
  /** The date in UTC. */
  today: string
  ids: ResourceIds
}

/** Selects the principal, with the columns of the resource and of `alongside`. */
export function accessStatement(question: AccessQuestion, db: Database): Statement {
  const { resource, alongside, ids, credentials, now } = question
  const claim = { tokenHash: credentials.tokenHash, today: formatInstant(now).slice(0, 10), ids }
  const subject = resource ? resource.composedFor?.(ids, db) : NO_RESOURCE
  if (!subject) return compose(question, db, claim, undefined)
  const composed = composedOf(resource ?? NO_RESOURCE)(alongside ?? NOTHING_ALONGSIDE)(subject)
  const run = composed[credentials.kind] ?? composeFor(question, db, subject)
  composed[credentials.kind] = run
  return run(claim)
}

const NO_RESOURCE = {}
const NOTHING_ALONGSIDE = {}

/** By the resource, the select alongside, and what the text of the resource depends on. */
const composedOf = memo((_resource: object) =>
  memo((_alongside: object) => memo((_subject: object): { [Kind in KnownCredentials['kind']]?: (claim: Claim) => Statement } => ({}))),
)

function composeFor(question: AccessQuestion, db: Database, subject: object): (claim: Claim) => Statement {
  const { resource, ids } = question
  const inText = Object.fromEntries(Object.entries(ids).filter(([name]) => resource?.idsInText?.includes(name)))
  const bound = Object.keys(ids).filter((name) => !Object.hasOwn(inText, name))
  const run = composedOnce<Record<string, unknown>>(['tokenHash', 'today', ...bound], ({ tokenHash, today, ...boundIds }) =>
    compose(
      question,
      db,
      { tokenHash: tokenHash as Buffer, today: today as string, ids: { ...boundIds, ...inText } as ResourceIds },
      subject,
    ),
  )
  return ({ ids: given, tokenHash, today }) => run({ ...given, tokenHash, today })
}

function compose(
  { credentials, resource, alongside }: AccessQuestion,
  db: Database,
  { tokenHash, today, ids }: Claim,
  subject: object | undefined,
): Sql {
  const principal = principalBy(credentials.kind, sql`${tokenHash}`)
  const asked = alongside ? sql`select p.*, a.* from (${principal}) p left join lateral (${alongside(today)}) a on true` : principal
  const lateral = resource ? sql`left join lateral (${resource.select(ids, db, subject)}) t on true` : empty
  return sql`select p.*${resource ? sql`, t.*` : empty} from (${asked}) p ${lateral}`
}
