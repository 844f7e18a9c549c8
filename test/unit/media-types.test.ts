import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { detectType, servedAs } from '../../src/files/media-types.ts'

describe('the type that bytes show', () => {
  test('is found in the first bytes of an image, however they are cut', async () => {
    const picture = sharp({
      create: { width: 300, height: 200, channels: 3, background: '#c33', noise: { type: 'gaussian', mean: 128, sigma: 30 } },
    })
    for (const format of ['png', 'jpeg', 'gif', 'webp', 'avif'] as const) {
      const image = await picture.clone().toFormat(format).toBuffer()
      for (const bytes of [4_100, 1_000, 64])
        expect(await detectType(image.subarray(0, bytes)), `${format} ${bytes}`).toBe(`image/${format}`)
    }
  })

  test('is found if the pixels of a PNG begin late', async () => {
    const png = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } })
      .png()
      .toBuffer()
    const text = Buffer.alloc(12 + 6_000)
    text.writeUInt32BE(6_000)
    text.write('tEXt', 4, 'latin1')
    expect(await detectType(Buffer.concat([png.subarray(0, 33), text, png.subarray(33)]))).toBe('image/png')
  })

  test.each([
    ['', 'application/octet-stream'],
    ['hello', 'application/octet-stream'],
    ['<!doctype html><p>', 'application/octet-stream'],
    ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'application/octet-stream'],
    ['<?xml version="1.0"?><svg/>', 'application/xml'],
    ['%PDF-1.4\n', 'application/pdf'],
    ['BMW and others: prices', 'application/octet-stream'],
    ['BM', 'application/octet-stream'],
    [`BM${'\0'.repeat(12)}\x28\0\0\0`, 'image/bmp'],
    ['\0\0\x01\0\x01\0', 'image/x-icon'],
    ['\x89PNG\r\n\x1a\n', 'application/octet-stream'],
  ])('%j is %s', async (text, type) => {
    expect(await detectType(Buffer.from(text, 'latin1'))).toBe(type)
  })
})

describe('a browser', () => {
  test.each([
    ['text/html', 'image/png', 'inline', 'image/png'],
    ['image/png', 'text/html', 'attachment', 'image/png'],
    ['image/png', 'application/octet-stream', 'attachment', 'image/png'],
    ['image/svg+xml', 'application/xml', 'attachment', 'image/svg+xml'],
    ['image/svg+xml', 'image/svg+xml', 'attachment', 'image/svg+xml'],
    ['image/heic', 'image/heic', 'attachment', 'image/heic'],
    ['image/png', null, 'inline', 'image/png'],
    ['image/png; x=y', null, 'attachment', 'image/png; x=y'],
    ['image/svg+xml', null, 'attachment', 'image/svg+xml'],
    ['text/html', null, 'attachment', 'text/html'],
  ])('gets a file claimed as %s and detected as %s as %s of %s', (type, detected_type, kind, served) => {
    expect(servedAs({ type, detected_type })).toEqual({ kind, type: served })
  })
})
