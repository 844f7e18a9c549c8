/** Open tracking: requests for the one-pixel image in an email (api.md, Email rule 4). */
import { updateEmail } from '../../comments/emails.ts'
import type { Context, Deps } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import { formatInstant, instantOf } from '../../platform/time/time.ts'
import { mails } from '../metrics.ts'
import { proveSent } from '../reports/recipients.ts'
import type { Open } from '../schema.ts'
import { transitionTo } from '../states.ts'
import { type ClassifiedOpen, MAX_OPENS_PER_EMAIL, parkOpens } from './parked-opens.ts'

/** A transparent PNG of 1x1. */
export const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=', 'base64')

export interface PixelRequest {
  token: string
  /** A HEAD request does not show the image: it is recorded, but does not mark the email as read. */
  isHead: boolean
  userAgent: string
  /** The headers Purpose, Sec-Purpose and X-Moz. */
  purpose: string
}

/** A request, and when it came. */
export interface SeenOpen extends PixelRequest {
  at: Date
}

/** Whether the text has the form of a token. */
export const isToken = (text: string) => /^[\w-]{20,100}$/.test(text)

/**
 * Records requests for the pixel, all or none, in their order. The first GET on an email that is `sent` marks it as read, unless its
 * integration has the pixel switched off by now.
 */
export async function recordOpens({ db, metrics }: Pick<Deps, 'db' | 'metrics'>, seen: readonly SeenOpen[]): Promise<void> {
  const opens = seen.map(classified)
  const read = await db.transaction(async () => {
    // Those of deleted records first: a restore is waited for, and has the mail back then.
    let count = await parkOpens(db, opens)
    for (const { comment_id, shown_at, has_unknown } of await insertOpens(db, opens)) {
      const at = instantOf(shown_at)
      if (has_unknown) await proveSent({ db, now: at, metrics }, comment_id, null)
      // Of two concurrent requests, one finds the status `sent`.
      if (await updateEmail(db, comment_id, transitionTo('read', at), at)) count += 1
    }
    return count
  })
  if (read) metrics.count(mails, { state: 'read' }, read)
}

interface Shown {
  comment_id: number
  shown_at: string
  /** Whether nobody knew yet if it had arrived for some of its recipients. */
  has_unknown: boolean
}

/** @returns the emails that were shown for the first time among these, in the order of their ids: all lock them in this order */
function insertOpens(db: Database, seen: readonly ClassifiedOpen[]): Promise<Shown[]> {
  return db.write<Shown>(sql`
    with seen as (
      select * from unnest(${seen.map(({ hash }) => hash)}::bytea[], ${seen.map((open) => open.class)}::text[],
        ${seen.map(({ userAgent }) => userAgent)}::text[], ${seen.map(({ at }) => formatInstant(at))}::timestamp[],
        ${seen.map(({ isShown }) => isShown)}::bool[])
        with ordinality as s (token_hash, class, user_agent, seen_at, is_shown, position)
    ), email as (
      select s.*, o.comment_id, coalesce(i.disable_pixel, false) as is_off,
        row_number() over (partition by o.comment_id order by s.position) as number
      from seen s
      join outbound_emails o on o.pixel_token_hash = s.token_hash
      left join smtp_integrations i on i.id = o.smtp_integration_id
    ), opened as (
      insert into email_opens (comment_id, class, user_agent, opened_at)
      select comment_id, class, user_agent, seen_at from email
      where number + (
        select count(*) from (select 1 from email_opens e where e.comment_id = email.comment_id limit ${MAX_OPENS_PER_EMAIL}) n
      ) <= ${MAX_OPENS_PER_EMAIL}
      order by position
    )
    select comment_id, min(seen_at) as shown_at, exists (
      select from record_comments c where c.id = comment_id and c.metadata->'recipients' @> '[{"status":"unknown"}]') as has_unknown
    from email where is_shown and not is_off group by 1 order by 1`)
}

const classified = (open: SeenOpen): ClassifiedOpen => ({
  ...{ hash: tokenHash(open.token), class: classOf(open), userAgent: agentOf(open), at: open.at, isShown: !open.isHead },
})

const agentOf = ({ userAgent }: PixelRequest) => userAgent.replaceAll('\0', '').toWellFormed().slice(0, 500) || null

/** The requests for the pixel of an email, oldest first. */
export async function listOpens({ db }: Context, { comment_id }: { comment_id: number }): Promise<{ rows: Open[]; total: number }> {
  const rows = await db.read<Open>(sql`select opened_at, class, user_agent from email_opens where comment_id = ${comment_id} order by id`)
  return { rows, total: rows.length }
}

// Services that fetch images on behalf of their users, when the email is opened or, some of them, when it arrives: GoogleImageProxy,
// YahooMailProxy, OutlookImageProxy, which has also been called OutlookMobileCloudProxy, and others.
const IMAGE_PROXY = /(image|mail|cloud)[ _-]?proxy|ggpht|YahooCacheSystem|YandexImageResizer|Mail\.Ru/i
const SCANNER = new RegExp(
  [
    String.raw`bot\b|crawl|spider|scan|preview|curl|wget|python|java/|go-http|libwww|okhttp|axios|node|headless`,
    'barracuda|proofpoint|mimecast|symantec|safelinks|urldefense|trend ?micro|fortinet|sophos|virustotal',
  ].join('|'),
  'i',
)

/** A guess at the client. It does not affect the status: the first GET counts, whatever its class. */
function classOf({ isHead, userAgent, purpose }: Omit<PixelRequest, 'token'>): Open['class'] {
  if (/prefetch|preview|prerender/i.test(purpose)) return 'prefetch'
  // Apple's Mail Privacy Protection fetches every image on arrival and sends only this.
  if (/^Mozilla\/5\.0$/.test(userAgent.trim())) return 'prefetch'
  if (IMAGE_PROXY.test(userAgent)) return 'image_proxy'
  return isHead || !userAgent.trim() || SCANNER.test(userAgent) ? 'scanner' : 'human'
}
