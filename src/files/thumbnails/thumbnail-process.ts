/**
 * The process that makes thumbnails, and the only one that loads libvips. A file may be made to crash a decoder, or to take its memory and
 * time, so nothing else happens here.
 */
import { writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import sharp from 'sharp'
import { serveWork } from '../../platform/served-work.ts'

export interface ThumbnailWork {
  /** The most pixels that the thumbnail may have from left to right, as it is shown. */
  width: number
}

/** api.md, Files: an image with more pixels has no thumbnail. Its header says how many it has, so nothing of it is decoded. */
const MAX_PIXELS = 50_000_000
/** WebP has at most 16,383 pixels on a side. A long screenshot stays readable in the file itself. */
const MAX_HEIGHT_PER_WIDTH = 4

// Requests go first: the processor is for them, and if the memory of the machine runs out, the kernel ends this process.
try {
  setPriority(10)
} catch {
  // A sandbox may not allow it.
}
await writeFile('/proc/self/oom_score_adj', '1000').catch(() => {})

sharp.cache(false)
sharp.concurrency(1)
// Every other decoder is closed, that of SVG above all, whatever the file says it is.
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
serveWork(
  ({ width }: ThumbnailWork, bytes): Promise<Uint8Array> =>
    sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
      // Without `withMetadata` the output has none: no location, and no orientation, which is why the pixels are turned.
      .autoOrient()
      .resize({ width, height: width * MAX_HEIGHT_PER_WIDTH, fit: 'inside', withoutEnlargement: true })
      // An effort of 2 takes little more than half of the default's time, for 3 % more bytes.
      .webp({ effort: 2 })
      .toBuffer(),
)
