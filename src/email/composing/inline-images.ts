/**
 * Images inside an email: data URLs, and links to stored files. Mail programs show neither, so both go out as parts of the mail with a
 * Content-ID. In the comment they are links to stored files, and `metadata.inline` says which files they are.
 */
import { buffer } from 'node:stream/consumers'
import { openStored, requireReadable } from '../../files/reading.ts'
import { type NewFile, stage } from '../../files/service.ts'
import type { RecordRef, TableRef } from '../../platform/access/resources.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, badInput } from '../../platform/errors.ts'
import { newHexToken } from '../../platform/secrets/secrets.ts'
import type { FileEntry } from '../../platform/stored-files/rows.ts'
import type { InlineImage } from '../metadata.ts'

/** HTML in which placeholders stand for data URLs, because the sanitiser takes half a second for 10 MB of them. */
export interface ShortHtml {
  html: string
  /** The data URL of each placeholder. */
  dataUrls: ReadonlyMap<string, string>
}

const DATA_URL_START = /data:image\/[\w.+-]{1,50}(?:;[\w=.+-]{1,50}){0,3},/gi
const NOT_BASE64 = /[^A-Za-z0-9+/=%]/g
/** More data URLs are images that would be refused anyway, or part of the text. */
const MAX_PLACEHOLDERS = 1_000
const PLACEHOLDER = /cid:[0-9a-f]{16}\.\d+\.data/g

/** Takes the data URLs out of HTML. */
export function shorten(html: string): ShortHtml {
  const secret = newHexToken(8)
  const placeholders = new Map<string, string>()
  let short = ''
  let end = 0
  for (const { 0: start, index } of html.matchAll(DATA_URL_START)) {
    if (placeholders.size >= MAX_PLACEHOLDERS) break
    if (index < end) continue
    const next = endOfLines(html, index + start.length)
    const url = html.slice(index, next)
    const placeholder = placeholders.get(url) ?? `cid:${secret}.${placeholders.size}.data`
    placeholders.set(url, placeholder)
    short += html.slice(end, index) + placeholder
    end = next
  }
  return { html: short + html.slice(end), dataUrls: new Map([...placeholders].map(([url, placeholder]) => [placeholder, url])) }
}

/**
 * Where the lines of base64 end that begin at `start`. A data URL ends before the first character that base64 does not have; one in another
 * encoding is not sent. An expression for all lines would be shorter, and exhaust its stack (text-of-megabytes.test.ts).
 */
function endOfLines(html: string, start: number): number {
  let end = start
  while (end < html.length) {
    NOT_BASE64.lastIndex = end
    const lineEnd = NOT_BASE64.test(html) ? NOT_BASE64.lastIndex - 1 : html.length
    const next = lineEnd > end ? afterLineBreak(html, lineEnd) : lineEnd
    if (next === lineEnd) return lineEnd
    end = next
  }
  return end
}

/** Where the text goes on behind a line break and the blanks after it; `at` if there is none. */
function afterLineBreak(html: string, at: number): number {
  let next = html[at] === '\r' ? at + 1 : at
  if (html[next] !== '\n') return at
  do next++
  while (html[next] === ' ' || html[next] === '\t')
  return next
}

/** Puts the data URLs back, shortened if they are longer than this. */
export const restore = (html: string, dataUrls: ReadonlyMap<string, string>, maxLength = Number.POSITIVE_INFINITY): string =>
  html.replace(PLACEHOLDER, (placeholder) => dataUrls.get(placeholder)?.slice(0, maxLength) ?? placeholder)

/** An image is a stored file of the table, or has yet to be stored as one. */
type Image = { entry: FileEntry } | { file: NewFile }

/** The images to send by their `src`; null for one that cannot be sent. Images from elsewhere are missing, because they stay links. */
export type Images = ReadonlyMap<string, Image | null>

/** A data URL that is not base64 to its end, or that follows more of them than a mail can have. */
const NOT_SENT = new RegExp(`^\\s*(data:|${PLACEHOLDER.source})`, 'i')

const MAX_IMAGES = 50
const IMAGE_TAG = /<img\b[^>]*>/g
const SOURCE = / src="([^"]*)"/

/**
 * Finds the images of sanitised HTML.
 * @param field of the request that has the HTML
 * @throws AppError 400 for a stored file that the caller cannot read, and for more than 50 images
 */
export async function findImages(context: Context, table: TableRef, { html, dataUrls }: ShortHtml, field: string): Promise<Images> {
  const images = new Map<string, Image | null>()
  const byPath = new Map<string, Image | null>()
  for (const [tag] of html.matchAll(IMAGE_TAG)) {
    const source = SOURCE.exec(tag)?.[1] ?? ''
    const path = storedPath(context, source)
    const dataUrl = dataUrls.get(source.trim())
    if (images.has(source)) continue
    if (dataUrl !== undefined) images.set(source, fileOf(dataUrl, images.size + 1))
    else if (NOT_SENT.test(source)) images.set(source, null)
    else if (path !== undefined) {
      // Links to several widths are links to one file.
      const image = byPath.get(path) ?? (await storedImage(context, table, path, { field, bytes: bytesOf(images) }))
      byPath.set(path, image)
      images.set(source, image)
    }
    if (images.size > MAX_IMAGES) throw badInput(field, `must have at most ${MAX_IMAGES} images`)
  }
  return images
}

/** The path of a stored file in a link that is relative or has the address of the service. A smaller width is ignored. */
function storedPath({ publicUrl }: Context, source: string): string | undefined {
  const base = publicUrl()
  return /^\/api\/file\/([\w.-]+)(?:\?.*)?$/.exec(source.startsWith(`${base}/`) ? source.slice(base.length) : source)?.[1]
}

/** The types that every mail program shows. SVG is not among them, because it can contain scripts. */
const SHOWN = /^image\/(png|jpeg|gif|webp)$/i

/** @param bytes of the images before this one */
async function storedImage(
  context: Context,
  table: TableRef,
  path: string,
  { field, bytes }: { field: string; bytes: number },
): Promise<Image | null> {
  const { table_id, name, size, type, detected_type, host } = await readable(context, path, field)
  // A file may be named an image without being one, and would be sent under that type.
  if (!SHOWN.test(type) || !SHOWN.test(detected_type ?? type)) return null
  if (table_id === table.id) return { entry: { name, path, size, type, host } }
  // The copies are kept in memory until the email is accepted.
  if (bytes + size > MAX_COPIED_BYTES) throw badInput(field, 'the images must have at most 25 MB in all')
  // A file belongs to one table, so the image of another one is copied.
  const stream = await openStored(context, path)
  return stream && { file: { name, type, content: await buffer(stream) } }
}

const MAX_COPIED_BYTES = 25 * 1_048_576

async function readable({ db, actor }: Context, path: string, field: string) {
  try {
    return await requireReadable(db, actor, path)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw badInput(field, `the image /api/file/${path} is not a stored file that you can read`)
  }
}

/** The type by the first bytes, because what a data URL says about itself is not believed. */
function kindOf(content: Buffer): string | undefined {
  const start = content.subarray(0, 12).toString('latin1')
  if (start.startsWith('\x89PNG\r\n')) return 'png'
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'gif'
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? 'webp' : undefined
}

function fileOf(dataUrl: string, number: number): Image | null {
  const comma = dataUrl.indexOf(',')
  const isBase64 = /;base64$/i.test(dataUrl.slice(0, comma))
  const content = Buffer.from(isBase64 ? dataUrl.slice(comma + 1) : '', 'base64')
  const kind = kindOf(content)
  return kind ? { file: { name: `image-${number}.${kind}`, type: `image/${kind}`, content } } : null
}

export const bytesOf = (images: Images): number =>
  [...new Set(images.values())].reduce(
    (sum, image) => sum + (image === null ? 0 : 'entry' in image ? image.entry.size : image.file.content.byteLength),
    0,
  )

/** The links of the HTML to stored files, the files, and their Content-IDs. A source without an image is null. */
export interface StoredImages {
  sources: Map<string, string | null>
  files: FileEntry[]
  inline: InlineImage[]
}

/** Stores the images as files of the record. Without a comment that holds them they are deleted later, as every staged file. */
export async function storeImages(context: Context, table: TableRef, record: RecordRef, images: Images): Promise<StoredImages> {
  const place = { account_id: table.account_id, space_id: table.space_id, table_id: table.id, record_id: record.id }
  const stored: StoredImages = { sources: new Map(), files: [], inline: [] }
  const entries = new Map<Image, FileEntry>()
  for (const [source, image] of images) {
    const entry = image && (entries.get(image) ?? ('entry' in image ? image.entry : await stage(context, place, image.file)))
    if (image && entry) entries.set(image, entry)
    stored.sources.set(source, entry && linkTo(entry.path))
    if (!entry || stored.files.some(({ path }) => path === entry.path)) continue
    stored.files.push(entry)
    stored.inline.push({ cid: `${newHexToken(8)}@gridpost`, path: entry.path })
  }
  return stored
}

const linkTo = (path: string) => `/api/file/${path}`

/** The HTML as it is sent: links to its stored images become Content-IDs. The value of a token may have become an SVG, which is removed. */
export function withContentIds(html: string, inline: readonly InlineImage[]): string {
  const cids = new Map(inline.map(({ cid, path }) => [linkTo(path), `cid:${cid}`]))
  return replaceSources(html, (source) => cids.get(source) ?? (/^\s*data:(?!image\/(png|jpeg|gif|webp)[;,])/i.test(source) ? null : source))
}

/** Replaces the sources of images; null removes one. @param html sanitised */
export const withSources = (html: string, sources: ReadonlyMap<string, string | null>): string =>
  replaceSources(html, (source) => (sources.has(source) ? (sources.get(source) ?? null) : source))

function replaceSources(html: string, next: (source: string) => string | null): string {
  return html.replace(IMAGE_TAG, (tag) =>
    tag.replace(SOURCE, (_, source: string) => {
      const replaced = next(source)
      return replaced === null ? '' : ` src="${replaced}"`
    }),
  )
}
