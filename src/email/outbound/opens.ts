/** Open tracking: the one-pixel image in a mail (api.md, Email rule 4). */
import { updateEmail } from '../../comments/emails.ts'
import type { Deps } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { tokenHash } from '../../platform/secrets.ts'
import { formatInstant } from '../../platform/time.ts'
import { transitionTo } from '../states.ts'

/** The whole answer of the pixel: a transparent PNG of 1x1. */
export const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=', 'base64')

export interface Hit {
  token: string
  /** HEAD asks about the image without showing it: it is kept, but opens nothing. */
  isHead: boolean
  userAgent: string
  /** Purpose, Sec-Purpose, X-Moz. */
  purpose: string
}

/** Whoever knows a token may ask as often as they like; of each mail this many hits are kept. */
const MAX_OPENS_PER_MAIL = 500

/**
 * Notes a hit, and marks the mail as read if it is the first one on a mail that was sent: of two hits at once, one finds the status
 * `sent`. The integration must still have its pixel on, or be gone.
 */
export async function noteHit({ db, clock }: Pick<Deps, 'db' | 'clock'>, hit: Hit): Promise<void> {
  if (!/^[\w-]{20,100}$/.test(hit.token)) return
  const now = clock()
  const at = formatInstant(now)
  const userAgent = hit.userAgent.replaceAll('\0', '').toWellFormed().slice(0, 500) || null
  const [mail] = await db.query<{ comment_id: number; is_off: boolean }>(
    sql`
    with mail as (
      select o.comment_id, coalesce(i.disable_pixel, false) as is_off
      from outbound_emails o left join smtp_integrations i on i.id = o.smtp_integration_id
      where o.pixel_token_hash = ${tokenHash(hit.token)}
    ), opened as (
      insert into email_opens (comment_id, class, user_agent, opened_at)
      select comment_id, ${classOf(hit)}, ${userAgent}::text, ${at}::timestamp from mail
      where (select count(*) from (select 1 from email_opens e where e.comment_id = mail.comment_id limit ${MAX_OPENS_PER_MAIL}) n) < ${MAX_OPENS_PER_MAIL}
    )
    select comment_id, is_off from mail`,
    'email:hit',
  )
  if (mail && !mail.is_off && !hit.isHead) await updateEmail(db, mail.comment_id, transitionTo('read', now), now)
}

// Mail services that fetch images for their users, when the mail is opened or, in part, when it arrives.
const IMAGE_PROXY = /GoogleImageProxy|ggpht|YahooMailProxy|YahooCacheSystem|OutlookImageProxy|YandexImageResizer|Mail\.Ru/i
const SCANNER =
  /bot\b|crawl|spider|scan|preview|curl|wget|python|java\/|go-http|libwww|okhttp|axios|node|headless|barracuda|proofpoint|mimecast|symantec|safelinks|urldefense|trend ?micro|fortinet|sophos|virustotal/i

/** Who seems to ask. Nobody can be sure; the first hit counts whatever its class. */
function classOf({ isHead, userAgent, purpose }: Omit<Hit, 'token'>): 'human' | 'image_proxy' | 'prefetch' | 'scanner' {
  if (/prefetch|preview|prerender/i.test(purpose)) return 'prefetch'
  // Apple's mail privacy fetches every image on arrival, and says no more than this.
  if (/^Mozilla\/5\.0$/.test(userAgent.trim())) return 'prefetch'
  if (IMAGE_PROXY.test(userAgent)) return 'image_proxy'
  return isHead || !userAgent.trim() || SCANNER.test(userAgent) ? 'scanner' : 'human'
}
