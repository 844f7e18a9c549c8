/** A mail as a page of its own, for a frame: its sanitised body, which runs nothing and loads nothing by itself (contract.md §11). */
import { buffer } from 'node:stream/consumers'
import { detectType } from '../../files/media-types.ts'
import { openStored } from '../../files/reading.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { notFound } from '../../platform/errors.ts'
import { escapeHtml } from '../../platform/mail/html.ts'
import type { FileEntry } from '../../platform/stored-files/rows.ts'
import type { InlineImage } from '../metadata.ts'

/** The limit on the images that are in the page itself, each time that one is shown. */
const MAX_IMAGE_BYTES = 8 * 1_048_576

/** Images that a browser shows without running anything. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Images of other servers come over TLS alone. */
const policy = (withRemote: boolean) =>
  `default-src 'none'; img-src 'self' data:${withRemote ? ' https:' : ''}; style-src 'unsafe-inline'; frame-ancestors 'self'; ` +
  'sandbox allow-popups allow-popups-to-escape-sandbox'

export const pageHeaders = (withRemote: boolean) => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy(withRemote),
  'cache-control': 'private, no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
})

interface ShownMail {
  type: 'email_in' | 'email_out'
  content: string
  attachments: FileEntry[]
  html: string | null
  text: string | null
  subject: string | null
  inline: InlineImage[] | null
}

/**
 * The page of the mail.
 * @param withRemote whether it also shows the images that are on other servers
 * @throws AppError 404 when the comment has just been deleted
 */
export async function mailPage(context: Context, { comment_id }: { comment_id: number }, withRemote: boolean): Promise<string> {
  const [mail] = await context.db.read<ShownMail>(sql`
    select type, content, attachments, metadata->>'html' as html, metadata->>'text' as text, metadata->>'subject' as subject,
      metadata->'inline' as inline
    from record_comments where id = ${comment_id} and type in ('email_in', 'email_out')`)
  if (!mail) throw notFound('Comment')
  const html = mail.type === 'email_out' ? mail.content : mail.html
  const asText = () => `<div class="text">${escapeHtml(mail.text ?? mail.content)}</div>`
  const body = html === null ? asText() : await shownHtml(context, mail, html, withRemote)
  return `${BEFORE_TITLE}${escapeHtml(mail.subject ?? '')}${AFTER_TITLE}${body}</body></html>\n`
}

const BEFORE_TITLE = '<!doctype html><html><head><meta charset="utf-8"><title>'
const AFTER_TITLE =
  '</title><meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer"><style>' +
  'body{margin:12px;font:14px/1.5 system-ui,sans-serif;color:#1b1b1f;background:#fff;overflow-wrap:anywhere}' +
  'img{max-width:100%}pre,.text{white-space:pre-wrap}blockquote{margin:0 0 0 8px;padding-left:8px;border-left:2px solid #c8c8d0}' +
  '</style></head><body>'

// Attributes of sanitised HTML are in double quotes, and `<` and `>` are escaped in them.
const IMAGE = /<img\b[^>]*>/gi
const SOURCE = /\ssrc="([^"]*)"/i
const LINK = /<a\b([^>]*)>/gi
const TARGET = /\s(?:target|rel)="[^"]*"/gi

/** The sanitised body with its images and links as they are in the page. */
async function shownHtml(context: Context, mail: ShownMail, html: string, withRemote: boolean): Promise<string> {
  const images = await imagesIn(context, mail, html)
  let at = 0
  const withImages = html.replace(IMAGE, (image) => {
    const [attribute = '', source = ''] = SOURCE.exec(image) ?? []
    const remote = withRemote && /^https?:/i.test(source) ? source.replace(/^http:/i, 'https:') : undefined
    const shown = images[at++] ?? remote
    return image.replace(attribute, () => (shown === undefined ? '' : ` src="${shown}"`))
  })
  // A link to a part of the mail stays in it; every other one opens beside it, and learns nothing about it.
  return withImages.replace(LINK, (_, attributes: string) => {
    const kept = attributes.replace(TARGET, '')
    return /\shref="#/i.test(kept) || !/\shref="/i.test(kept) ? `<a${kept}>` : `<a${kept} target="_blank" rel="noopener noreferrer">`
  })
}

/** What each image of the body is in the page, if it is in the mail itself: a data URL. Those beyond the limit are left out. */
async function imagesIn(context: Context, { attachments, inline }: ShownMail, html: string): Promise<(string | undefined)[]> {
  const files = new Map(attachments.map((file) => [file.path, file]))
  const named = new Map<string, FileEntry | undefined>([
    ...(inline ?? []).map(({ cid, path }) => [`cid:${cid}`.toLowerCase(), files.get(path)] as const),
    ...attachments.map((file) => [`/api/file/${file.path}`, file] as const),
  ])
  const known = new Map<string, string | undefined>()
  const images: (string | undefined)[] = []
  let left = MAX_IMAGE_BYTES
  for (const [image] of html.matchAll(IMAGE)) {
    const source = SOURCE.exec(image)?.[1] ?? ''
    if (!known.has(source)) known.set(source, DATA_URL.test(source) ? source : await dataUrlOf(context, named.get(nameOf(source)), left))
    const url = known.get(source)
    // An image that is shown again is in the page again.
    const bytes = url === undefined ? 0 : bytesOf(url)
    images.push(bytes > left ? undefined : url)
    if (bytes <= left) left -= bytes
  }
  return images
}

const DATA_URL = /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,[\w+/=%\s]*$/i

/** What the attribute calls a file: a link, or a Content-ID, which may be percent-encoded (RFC 2392) and is compared without case. */
function nameOf(source: string): string {
  const name = source.replaceAll('&amp;', '&')
  if (!/^cid:/i.test(name)) return name
  return name.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()).toLowerCase()
}

/** Undefined for a file that is no image, has more than `most` bytes, or is gone. */
async function dataUrlOf(context: Context, file: FileEntry | undefined, most: number): Promise<string | undefined> {
  if (!file || file.size > most) return undefined
  const stream = await openStored(context, file.path)
  const bytes = stream && (await buffer(stream))
  const type = bytes && (await detectType(bytes))
  return type && SHOWN.has(type) ? `data:${type};base64,${bytes.toString('base64')}` : undefined
}

const bytesOf = (url: string): number => ((url.length - url.indexOf(',') - 1) * 3) / 4
