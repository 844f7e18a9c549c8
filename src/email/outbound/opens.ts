/** Open tracking: requests for the one-pixel image in an email (api.md, Email rule 4). */
import { updateEmail } from '../../comments/emails.ts'
import type { Context, Deps } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { tokenHash } from '../../platform/secrets.ts'
import { formatInstant } from '../../platform/time.ts'
import { mails } from '../metrics.ts'
import type { Open } from '../schema.ts'
import { transitionTo } from '../states.ts'

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

/** The requests that are stored for one email. Anyone who knows its token can send more. */
const MAX_OPENS_PER_EMAIL = 500

/**
 * Records a request for the pixel. The first GET on an email that is `sent` marks it as read, unless its integration has the pixel
 * switched off by now.
 */
export async function recordOpen({ db, clock, metrics }: Pick<Deps, 'db' | 'clock' | 'metrics'>, request: PixelRequest): Promise<void> {
  if (!/^[\w-]{20,100}$/.test(request.token)) return
  const now = clock()
  const userAgent = request.userAgent.replaceAll('\0', '').toWellFormed().slice(0, 500) || null
  const [email] = await db.query<{ comment_id: number; is_off: boolean }>(
    sql`
    with email as (
      select o.comment_id, coalesce(i.disable_pixel, false) as is_off
      from outbound_emails o left join smtp_integrations i on i.id = o.smtp_integration_id
      where o.pixel_token_hash = ${tokenHash(request.token)}
    ), opened as (
      insert into email_opens (comment_id, class, user_agent, opened_at)
      select comment_id, ${classOf(request)}, ${userAgent}::text, ${formatInstant(now)}::timestamp from email
      where (
        select count(*) from (select 1 from email_opens e where e.comment_id = email.comment_id limit ${MAX_OPENS_PER_EMAIL}) n
      ) < ${MAX_OPENS_PER_EMAIL}
    )
    select comment_id, is_off from email`,
    'email:open',
  )
  // Of two concurrent requests, one finds the status `sent`.
  const isRead = email && !email.is_off && !request.isHead && (await updateEmail(db, email.comment_id, transitionTo('read', now), now))
  if (isRead) metrics.count(mails, { state: 'read' })
}

/** The requests for the pixel of an email, oldest first. */
export async function listOpens({ db }: Context, { comment_id }: { comment_id: number }): Promise<{ rows: Open[]; total: number }> {
  const rows = await db.query<Open>(sql`select opened_at, class, user_agent from email_opens where comment_id = ${comment_id} order by id`)
  return { rows, total: rows.length }
}

// Services that fetch images on behalf of their users, when the email is opened or, some of them, when it arrives.
const IMAGE_PROXY = /GoogleImageProxy|ggpht|YahooMailProxy|YahooCacheSystem|OutlookImageProxy|YandexImageResizer|Mail\.Ru/i
const SCANNER =
  /bot\b|crawl|spider|scan|preview|curl|wget|python|java\/|go-http|libwww|okhttp|axios|node|headless|barracuda|proofpoint|mimecast|symantec|safelinks|urldefense|trend ?micro|fortinet|sophos|virustotal/i

/** A guess at the client. It does not affect the status: the first GET counts, whatever its class. */
function classOf({ isHead, userAgent, purpose }: Omit<PixelRequest, 'token'>): Open['class'] {
  if (/prefetch|preview|prerender/i.test(purpose)) return 'prefetch'
  // Apple's Mail Privacy Protection fetches every image on arrival and sends only this.
  if (/^Mozilla\/5\.0$/.test(userAgent.trim())) return 'prefetch'
  if (IMAGE_PROXY.test(userAgent)) return 'image_proxy'
  return isHead || !userAgent.trim() || SCANNER.test(userAgent) ? 'scanner' : 'human'
}
