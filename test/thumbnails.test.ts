/** Thumbnails of stored images. The images are made here, hostile ones included. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { thumbnailKey, thumbnailKeys } from '../src/files/thumbnails/thumbnail-keys.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { makeTable } from './support/tables.ts'

const folder = await mkdtemp(join(tmpdir(), 'gridpost-thumbnails-'))
const app = await testApp({ STORAGE: folder })
afterAll(() => rm(folder, { recursive: true, force: true }))
const { isStored, sweepAfter, sweepLeftoversAfter } = fileSupport(app)

const account = await app.account()
const table = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
const record = `${table.path}/record/${table.records[0]}`

/** Uploads bytes to the record. @returns the path of the file */
async function upload(bytes: Buffer | string, { name = 'a', type }: { name?: string; type?: string } = {}): Promise<string> {
  const data = Buffer.from(bytes).toString('base64')
  const { status, body } = await app.as(account.member).post(`${record}/comments/upload`, { name, type, data })
  expect([status, body.message]).toEqual([200, undefined])
  return body.path
}

/** Asks for a thumbnail. @returns the answer with its bytes */
async function thumbnail(
  path: string,
  width: number | string = 160,
  { caller = account.member, ...init }: RequestInit & { caller?: Caller } = {},
) {
  const credentials: Record<string, string> =
    caller === null
      ? {}
      : typeof caller === 'string'
        ? { authorization: `Bearer ${caller}` }
        : { cookie: `gridpost_session=${caller.session}` }
  const answer = await fetch(`${app.url}/api/file/${path}?w=${width}`, { ...init, headers: { ...credentials, ...init.headers } })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

/** The message of the error that the request for a thumbnail gets, and its status. */
async function refusal(path: string, width: number | string = 160): Promise<[number, string]> {
  const { status, bytes } = await thumbnail(path, width)
  return [status, JSON.parse(bytes.toString()).message]
}

/** The thumbnail of the image, which must be there. */
async function thumbnailOf(image: Buffer, width = 160) {
  const { status, bytes } = await thumbnail(await upload(image), width)
  expect([status, status === 200 ? '' : bytes.toString()]).toEqual([200, ''])
  return { bytes, ...(await sharp(bytes).metadata()) }
}

const RED = '#ff0000'
const plain = (width: number, height: number, background = RED) => sharp({ create: { width, height, channels: 3, background } })

/** The colour of a pixel, without the small errors of the compression. */
async function colourAt(bytes: Buffer, left: number, top: number): Promise<string> {
  const { data } = await sharp(bytes).extract({ left, top, width: 1, height: 1 }).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const name = [...data].map((part) => (part > 160 ? 1 : part < 96 ? 0 : '?')).join('')
  return { '100': 'red', '010': 'green', '001': 'blue', '111': 'white' }[name] ?? name
}

describe('a thumbnail', () => {
  test.each([160, 320, 640, 1280])('is %i pixels wide, in proportion', async (width) => {
    const { format, height, ...made } = await thumbnailOf(await plain(2000, 1000).jpeg().toBuffer(), width)
    expect([format, made.width, height]).toEqual(['webp', width, width / 2])
  })

  test.each(['jpeg', 'png', 'webp', 'gif', 'avif'] as const)('is made of %s, whatever the upload called it', async (format) => {
    const { width, height, bytes } = await thumbnailOf(await plain(400, 300).toFormat(format).toBuffer())
    expect([width, height]).toEqual([160, 120])
    expect(await colourAt(bytes, 80, 60)).toBe('red')
  })

  test('is never larger than the image', async () => {
    for (const [width, height] of [
      [1, 1],
      [100, 50],
      [159, 300],
      [160, 160],
    ] as const)
      expect(await thumbnailOf(await plain(width, height).png().toBuffer())).toMatchObject({ width, height })
  })

  test('of a very high or wide image has at least one pixel, and is at most four times as high as asked for', async () => {
    expect(await thumbnailOf(await plain(2, 20_000).png().toBuffer())).toMatchObject({ width: 1, height: 640 })
    expect(await thumbnailOf(await plain(20_000, 2).png().toBuffer())).toMatchObject({ width: 160, height: 1 })
    expect(await thumbnailOf(await plain(1280, 30_000).png().toBuffer(), 1280)).toMatchObject({ height: 5120 })
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('stands upright when the camera noted orientation %i', async (orientation) => {
    // A white picture with a red, a green and a blue corner, stored so that the tag turns it back.
    const corner = (background: string) => ({ create: { width: 60, height: 40, channels: 3 as const, background } })
    const seen = await plain(200, 100, '#ffffff')
      .composite([
        { input: corner(RED), left: 0, top: 0 },
        { input: corner('#00ff00'), left: 140, top: 0 },
        { input: corner('#0000ff'), left: 0, top: 60 },
      ])
      .png()
      .toBuffer()
    const stored = await storedAs(seen, orientation)
    const { bytes, ...made } = await thumbnailOf(await sharp(stored).withMetadata({ orientation }).jpeg({ quality: 95 }).toBuffer())
    expect([made.width, made.height, made.orientation]).toEqual([160, 80, undefined])
    const corners = [colourAt(bytes, 10, 10), colourAt(bytes, 150, 10), colourAt(bytes, 10, 70), colourAt(bytes, 150, 70)]
    expect(await Promise.all(corners)).toEqual(['red', 'green', 'blue', 'white'])
  })

  test('has no metadata of the image', async () => {
    const exif = { IFD0: { Artist: 'Ada Admin' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '48/1 8/1 0/1' } }
    for (const format of ['jpeg', 'png', 'webp', 'avif'] as const) {
      const image = await plain(300, 200)
        .withExif(exif)
        .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">Secret place</x:xmpmeta>')
        .toFormat(format)
        .toBuffer()
      const before = await sharp(image).metadata()
      expect(before.exif).toBeDefined()
      const { exif: left, xmp, icc, iptc } = await thumbnailOf(image)
      expect([left, xmp, icc, iptc]).toEqual([undefined, undefined, undefined, undefined])
    }
  })

  test.each(['gif', 'webp'] as const)('shows the first frame of an animated %s', async (format) => {
    const frames = [await plain(200, 100).png().toBuffer(), await plain(200, 100, '#0000ff').png().toBuffer()]
    const animated = await sharp(frames, { join: { animated: true } })
      .toFormat(format)
      .toBuffer()
    expect((await sharp(animated).metadata()).pages).toBe(2)
    const { bytes, ...made } = await thumbnailOf(animated)
    expect([made.width, made.height, made.pages]).toEqual([160, 80, undefined])
    expect(await colourAt(bytes, 80, 40)).toBe('red')
  })

  test('is made of a JPEG for print, and of a PNG with 16 bits and transparency', async () => {
    const print = await plain(300, 200).toColourspace('cmyk').jpeg().toBuffer()
    expect((await sharp(print).metadata()).space).toBe('cmyk')
    const printed = await thumbnailOf(print)
    expect([printed.space, printed.channels]).toEqual(['srgb', 3])
    const deep = await sharp({ create: { width: 300, height: 200, channels: 4, background: { r: 255, g: 0, b: 0, alpha: 0.5 } } })
      .toColourspace('rgb16')
      .png()
      .toBuffer()
    expect((await sharp(deep).metadata()).depth).toBe('ushort')
    const { bytes, hasAlpha } = await thumbnailOf(deep)
    expect(hasAlpha).toBe(true)
    const { data } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true })
    expect(Math.abs((data[3] ?? 0) - 128)).toBeLessThan(3)
  })

  test('is made of a large image of few bytes that has less than 50 megapixels', async () => {
    expect(await thumbnailOf(blackPng(7_000, 7_000))).toMatchObject({ width: 160, height: 160 })
    expect(await thumbnailOf(blackPng(65_535, 1))).toMatchObject({ width: 160, height: 1 })
  })
})

describe('no thumbnail', () => {
  const image = plain(400, 300)

  test.each([
    ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', 'image/svg+xml', 'image/svg+xml'],
    ['an SVG that is called PNG', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', 'image/png', 'image/png'],
    ['an SVG with an XML declaration', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', 'image/png', 'application/xml'],
    ['a text that is called PNG', 'hello', 'image/png', 'image/png'],
    ['a text', 'hello', 'text/plain', 'text/plain'],
    ['what has no type', 'hello', undefined, 'application/octet-stream'],
    ['a PDF that is called PNG', '%PDF-1.7\n', 'image/png', 'application/pdf'],
    ['nothing', '', 'image/png', 'image/png'],
  ])('is given of %s', async (_, bytes, type, named) => {
    expect(await refusal(await upload(bytes, type === undefined ? {} : { type }))).toEqual([415, `No thumbnail of ${named}`])
  })

  const heic = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic'), Buffer.alloc(100)])

  test.each([
    ['HEIC', () => heic, 'image/heic'],
    ['TIFF', () => image.tiff().toBuffer(), 'image/tiff'],
    ['a PNG that ends early', async () => (await noise(400, 300).png().toBuffer()).subarray(0, 60_000), 'image/png'],
    ['a JPEG that ends early', async () => (await noise(400, 300).jpeg().toBuffer()).subarray(0, 5_000), 'image/jpeg'],
    ['a WebP that ends early', async () => (await noise(400, 300).webp().toBuffer()).subarray(0, 5_000), 'image/webp'],
    ['a GIF that ends after its header', async () => (await image.gif().toBuffer()).subarray(0, 14), 'image/gif'],
    ['an AVIF that ends early', async () => (await noise(400, 300).avif().toBuffer()).subarray(0, 3_000), 'image/avif'],
    [
      'a PNG of garbage',
      () => Buffer.concat([PNG_SIGNATURE, header(100, 100), chunk('IDAT', Buffer.alloc(5_000, 0xaa)), chunk('IEND', Buffer.alloc(0))]),
      'image/png',
    ],
    ['a JPEG of garbage', () => Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), Buffer.alloc(5_000, 0xaa)]), 'image/jpeg'],
    ['40,000 × 40,000 pixels in little bytes', () => blackPng(40_000, 40_000, 100), 'image/png'],
    ['just over 50 megapixels', () => blackPng(10_000, 5_001), 'image/png'],
    ['a PNG with a row of 49 million pixels', () => blackPng(49_000_000, 1), 'image/png'],
    ['a PNG with 65,536 rows of a pixel', () => blackPng(1, 65_536), 'image/png'],
    ['a GIF with a screen of 65,535 × 65,535 pixels', () => gifHeader(65_535, 65_535), 'image/gif'],
    ['a WebP of 16,383 × 16,383 pixels', () => webpHeader(), 'image/webp'],
  ])('is given of %s', async (_, make, type) => {
    const bytes = await make()
    expect(bytes.length).toBeLessThan(200_000)
    expect(await refusal(await upload(bytes))).toEqual([415, `No thumbnail of ${type}`])
  })

  test.each(['', '0', '161', '0160', '160.0', '1e2', '-160', 'abc', '160&w=320', '1280%00'])('has the width %j', async (width) => {
    const path = await upload(await image.png().toBuffer())
    expect(await refusal(path, width)).toEqual([400, 'w: must be 160, 320, 640 or 1280'])
  })

  test('is given of bytes of an earlier release, which has not looked at them, unless they are an image', async () => {
    const [text, picture] = [
      await upload('hello', { type: 'image/png' }),
      await upload(await image.png().toBuffer(), { type: 'text/plain' }),
    ]
    await app.db.write(sql`update stored_files set detected_type = null where path = any(${[text, picture]}::text[])`)
    expect(await refusal(text)).toEqual([415, 'No thumbnail of image/png'])
    expect((await thumbnail(picture)).status).toBe(200)
  })
})

describe('asking for a thumbnail', () => {
  const png = plain(400, 300).png().toBuffer()

  test('answers like the file: headers, HEAD, 304, and no range', async () => {
    const path = await upload(await png, { name: 'roof "1".png' })
    const { status, headers, bytes } = await thumbnail(path)
    expect([status, headers.get('content-type'), headers.get('content-length')]).toEqual([200, 'image/webp', String(bytes.length)])
    expect(headers.get('content-disposition')).toMatch(/^inline; filename="roof _1_.png.webp"/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain('sandbox')
    const file = await app.as(account.member).get(`/api/file/${path}`)
    for (const name of ['cache-control', 'vary']) expect([name, headers.get(name)]).toEqual([name, file.headers.get(name)])

    const head = await thumbnail(path, 160, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, String(bytes.length), 0])
    const ranged = await thumbnail(path, 160, { headers: { range: 'bytes=0-1' } })
    expect([ranged.status, ranged.bytes.equals(bytes)]).toEqual([200, true])

    const etag = headers.get('etag') ?? ''
    const other = await thumbnail(path, 320)
    expect(new Set([etag, other.headers.get('etag'), file.headers.get('etag')]).size).toBe(3)
    const unchanged = await thumbnail(path, 160, { headers: { 'if-none-match': etag } })
    expect([unchanged.status, unchanged.headers.get('etag'), unchanged.bytes.length]).toEqual([304, etag, 0])
    expect((await thumbnail(path, 320, { headers: { 'if-none-match': etag } })).status).toBe(200)
    expect((await thumbnail(path, 640, { headers: { 'if-none-match': '*' } })).status).toBe(304)
    expect((await thumbnail(await upload('hello'), 160, { headers: { 'if-none-match': '*' } })).status).toBe(415)
  })

  test('is allowed for readers of the record only, before the width is judged', async () => {
    const path = await upload(await png)
    const colleague = await app.person(account.id, 'Carl Colleague')
    for (const width of [160, 'wrong'] as const) {
      const asked = async (caller: Caller) => (await thumbnail(path, width, { caller })).status
      for (const reader of [account.viewer, account.keys.account, account.keys.accountReadOnly, account.keys.personalViewer])
        expect(await asked(reader)).toBe(width === 160 ? 200 : 400)
      expect(await asked(null)).toBe(401)
      expect(await asked('gp_acct_wrong')).toBe(401)
      for (const outside of [account.keys.accountOtherSpace, colleague]) expect(await asked(outside)).toBe(403)
      for (const stranger of [account.outsider, account.keys.accountOutsider]) expect(await asked(stranger)).toBe(404)
    }
    expect((await refusal(thumbnailKey(path, 160)))[0]).toBe(404)
    expect((await refusal('no-such-file'))[0]).toBe(404)
  })

  test('is 404 once the record is deleted', async () => {
    const { body } = await app.as(account.member).post(`${table.path}/records/create`, { data: {} })
    const as = app.as(account.member)
    const data = (await png).toString('base64')
    const [{ path }] = (await as.post(`${table.path}/record/${body.id}/files/create`, { field_id: 'file', name: 'a', data })).body
    expect((await thumbnail(path)).status).toBe(200)
    await as.post(`${table.path}/record/${body.id}/delete`)
    expect(await refusal(path)).toEqual([404, 'File not found'])
  })

  test('makes it once, also for many callers at the same time', async () => {
    const path = await upload(await png)
    const { storage } = app.deps
    const written: string[] = []
    const { write } = storage
    storage.write = (key, bytes) => {
      written.push(key)
      return write(key, bytes)
    }
    onTestFinished(() => void Object.assign(storage, { write }))
    const answers = await Promise.all(Array.from({ length: 8 }, () => thumbnail(path)))
    expect(answers.map(({ status, bytes }) => [status, bytes.equals(answers[0]?.bytes as Buffer)])).toEqual(Array(8).fill([200, true]))
    await thumbnail(path)
    expect(written).toEqual([thumbnailKey(path, 160)])
    expect(await isStored(thumbnailKey(path, 160))).toBe(true)
  })

  test('is counted and timed', async () => {
    const counted = async (outcome: string) => {
      const [, count = 0] =
        new RegExp(`^gridpost_thumbnails_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(await app.deps.metrics.text(app.deps)) ?? []
      return Number(count)
    }
    const [made, refused] = [await counted('made'), await counted('refused')]
    const [image, text] = [await upload(await png), await upload('hello')]
    for (const path of [image, image, text]) await thumbnail(path)
    expect([await counted('made'), await counted('refused')]).toEqual([made + 1, refused + 1])
    expect(await app.deps.metrics.text(app.deps)).toMatch(/^gridpost_thumbnail_seconds_count [1-9]/m)
  })

  test('goes on for others when one of the callers hangs up', async () => {
    const path = await upload(await noise(3_000, 2_000).png().toBuffer())
    const impatient = new AbortController()
    const left = thumbnail(path, 640, { signal: impatient.signal })
    const stayed = thumbnail(path, 640)
    impatient.abort()
    await expect(left).rejects.toThrow()
    expect((await stayed).status).toBe(200)
  })
})

describe('the thumbnails of a file', () => {
  const png = plain(400, 300).png().toBuffer()
  const storedOf = (path: string) => Promise.all([path, ...thumbnailKeys(path)].map((key) => isStored(key)))

  test('are deleted with it', async () => {
    const path = await upload(await png)
    for (const width of [160, 320, 640, 1280]) await thumbnail(path, width)
    expect(await storedOf(path)).toEqual([true, true, true, true, true])
    await sweepAfter(30 * 24 + 48)
    expect(await storedOf(path)).toEqual([false, false, false, false, false])
  })

  test('are neither files nor orphans, and are deleted when the file is gone', async () => {
    const path = await upload(await png)
    await app
      .as(account.member)
      .post(`${record}/comments/create`, { content: 'See', attachments: [{ path, name: 'a', size: 1, type: 'a/b', host: 'local' }] })
    await thumbnail(path)
    const late = thumbnailKey('1-2-AAAAAAAAAAAAAAAA-gone.png', 320)
    await app.deps.storage.write(late, await png)
    const rows = await app.db.read(sql`select 1 from stored_files where path like 'thumb-%' or storage_key like 'thumb-%'`)
    expect(rows).toEqual([])
    await sweepLeftoversAfter(20)
    expect([await isStored(thumbnailKey(path, 160)), await isStored(late)]).toEqual([true, true])
    await sweepLeftoversAfter(30)
    expect([await isStored(thumbnailKey(path, 160)), await isStored(late)]).toEqual([true, false])
  })
})

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

function chunk(type: string, content: Buffer): Buffer {
  const [length, body, sum] = [Buffer.alloc(4), Buffer.concat([Buffer.from(type), content]), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** The header of a PNG of one bit a pixel. */
function header(width: number, height: number): Buffer {
  const content = Buffer.alloc(13)
  content.writeUInt32BE(width, 0)
  content.writeUInt32BE(height, 4)
  content[8] = 1
  return chunk('IHDR', content)
}

/** A black PNG of one bit a pixel. @param rows of which it really has bytes */
function blackPng(width: number, height: number, rows = height): Buffer {
  const pixels = deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * rows))
  return Buffer.concat([PNG_SIGNATURE, header(width, height), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

/** A GIF whose only frame fills its screen, and which ends before the pixels do. */
function gifHeader(width: number, height: number): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt16LE(width, 0)
  size.writeUInt16LE(height, 2)
  const [screen, colours] = [Buffer.from([0x80, 0, 0]), Buffer.alloc(6)]
  return Buffer.concat([
    Buffer.from('GIF89a'),
    size,
    screen,
    colours,
    Buffer.from([0x2c, 0, 0, 0, 0]),
    size,
    Buffer.from([0, 2, 2, 0x4c, 1, 0, 0x3b]),
  ])
}

/** A lossless WebP of the largest size that its header can state, with hardly any pixels. */
function webpHeader(): Buffer {
  const pixels = Buffer.alloc(40)
  pixels[0] = 0x2f
  pixels.writeUInt32LE(16_382 | (16_382 << 14), 1)
  const chunkSize = Buffer.alloc(4)
  chunkSize.writeUInt32LE(pixels.length)
  const size = Buffer.alloc(4)
  size.writeUInt32LE(12 + pixels.length)
  return Buffer.concat([Buffer.from('RIFF'), size, Buffer.from('WEBPVP8L'), chunkSize, pixels])
}

/** An image that does not compress well. */
const noise = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: RED, noise: { type: 'gaussian', mean: 128, sigma: 60 } } })

/** The pixels as a camera stores them with the tag: turning them by it gives the picture that was seen (Exif 2.3, Orientation). */
async function storedAs(seen: Buffer, orientation: number): Promise<Buffer> {
  const png = async (image: Sharp) => image.png().toBuffer()
  const flip = (image: Buffer) => png(sharp(image).flip())
  const flop = (image: Buffer) => png(sharp(image).flop())
  const turn = (image: Buffer, degrees: number) => png(sharp(image).rotate(degrees))
  switch (orientation) {
    case 2:
      return flop(seen)
    case 3:
      return turn(seen, 180)
    case 4:
      return flip(seen)
    case 5:
      return flop(await turn(seen, 90))
    case 6:
      return turn(seen, 270)
    case 7:
      return flop(await turn(seen, 270))
    case 8:
      return turn(seen, 90)
    default:
      return seen
  }
}
