import sharp from 'sharp'

/** Makes a JPEG of 12 megapixels with about the detail of a photograph. */
export async function photograph(): Promise<Buffer<ArrayBuffer>> {
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 60 }
  const small = sharp({ create: { width: 400, height: 300, channels: 3, background: '#888', noise } })
  const large = sharp(await small.png().toBuffer()).resize(4_000, 3_000, { kernel: 'cubic' })
  return Buffer.from(await large.jpeg({ quality: 85 }).toBuffer())
}
