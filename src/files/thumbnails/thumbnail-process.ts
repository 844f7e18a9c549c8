/**
 * The process that makes thumbnails, and the only one that loads libvips. A hostile file may crash a decoder or exhaust its memory and
 * time, so this process does nothing else.
 */
import { writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import sharp from 'sharp'
import { serveWork } from '../../platform/processes/served-work.ts'

export interface ThumbnailWork {
  /** The largest width of the thumbnail in pixels, after it was turned upright. */
  width: number
}

/** api.md, Files: an image with more pixels has no thumbnail. The number is in its header, so such an image is not decoded. */
const MAX_PIXELS = 50_000_000
/**
 * The most pixels on a side of a PNG; other formats have no larger ones. libvips holds several rows at a time: one row of millions of
 * pixels would take gigabytes of memory, and as many rows of one pixel many seconds.
 */
const MAX_SIDE = 65_535
/** WebP has at most 16,383 pixels on a side. A long screenshot stays readable in the file itself. */
const MAX_HEIGHT_PER_WIDTH = 4

// Requests are more important than thumbnails: this process gets a lower priority, and the kernel ends it first when memory runs out.
try {
  setPriority(10)
} catch {
  // A sandbox may forbid the change.
}
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => {})

sharp.cache(false)
sharp.concurrency(1)
// All other decoders are blocked, above all that of SVG, whatever type the file is named.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
    'VipsForeignLoadHeifBuffer',
  ],
})

// The result is the thumbnail, as WebP.
serveWork(async ({ width }: ThumbnailWork, bytes): Promise<Uint8Array> => {
  if (longestSideOfPng(bytes) > MAX_SIDE) throw new Error(`The PNG has over ${MAX_SIDE} pixels on a side`)
  return (
    sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
      // Without `withMetadata` the output has none: no location, and no orientation, which is why the pixels are turned.
      .autoOrient()
      .resize({ width, height: width * MAX_HEIGHT_PER_WIDTH, fit: 'inside', withoutEnlargement: true })
      // An effort of 2 takes little more than half of the default's time, for 3 % more bytes.
      .webp({ effort: 2 })
      .toBuffer()
  )
})

/** The longer side in pixels, which the first chunk of a PNG names; 0 for any other bytes. */
function longestSideOfPng(bytes: Uint8Array): number {
  const start = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (start.byteLength < 24 || start.getUint32(0) !== 0x89504e47) return 0
  return Math.max(start.getUint32(16), start.getUint32(20))
}
