/** Decodes base64 strictly: `Buffer.from` alone ignores characters that are not base64. */

/**
 * Decodes base64 while it arrives. Line breaks are ignored, because `base64 file` prints them; padding may be left out. The characters of
 * base64url are accepted, too.
 */
export class Base64Decoder {
  readonly #refusal: () => Error
  /** Up to three characters that wait for a fourth. */
  #rest = ''
  #isPadded = false

  /** @param refusal makes the error for anything that is not base64 */
  constructor(refusal: () => Error) {
    this.#refusal = refusal
  }

  /** @param chars the next characters, as bytes of ASCII. @throws the refusal */
  decode(chars: Buffer): Buffer {
    const text = this.#rest + this.#unpadded(chars.toString('latin1').replaceAll(/[\r\n]+/g, ''))
    const end = text.length - (text.length % 4)
    this.#rest = text.slice(end)
    return this.#bytesOf(text.slice(0, end))
  }

  /** @returns the last bytes. @throws the refusal */
  end(): Buffer {
    if (this.#rest.length === 1) throw this.#refusal()
    return this.#bytesOf(this.#rest)
  }

  /** Nothing but padding may follow padding. */
  #unpadded(text: string): string {
    const end = this.#isPadded ? 0 : text.indexOf('=')
    if (end < 0) return text
    this.#isPadded ||= text.length > 0
    if (/[^=]/.test(text.slice(end))) throw this.#refusal()
    return text.slice(0, end)
  }

  #bytesOf(text: string): Buffer {
    const bytes = Buffer.from(text, 'base64')
    // Invalid characters are skipped, which shows in the length.
    if (bytes.length !== Math.floor((text.length * 3) / 4)) throw this.#refusal()
    return bytes
  }
}

/** Decodes a whole text, as `Base64Decoder` does. @throws the refusal */
export function decodeBase64(text: string, refusal: () => Error): Buffer {
  const decoder = new Base64Decoder(refusal)
  // In UTF-8, a character beyond ASCII has no byte that is base64.
  return Buffer.concat([decoder.decode(Buffer.from(text)), decoder.end()])
}
