/**
 * Receives the file of an upload in each of its forms: base64 in JSON, a form (multipart/form-data), or the bytes as they are (PUT). The
 * bytes go to storage while they arrive, so a large file needs no more memory than a small one, and no transaction waits for them.
 */
import type { FastifyRequest } from 'fastify'
import { Base64Decoder } from '../../bytes/base64.ts'
import { freeChunk } from '../../bytes/freed-chunk.ts'
import { AppError, badInput } from '../../errors.ts'
import type { Storage } from '../../storage/storage.ts'
import { type ReceivedBytes, receiveBytes } from '../../stored-files/received-bytes.ts'
import { namedFile } from '../answers/content-disposition.ts'
import { isJson, unsupported } from './json-body.ts'
import { JsonUpload } from './json-upload.ts'
import { fileTooLarge, notBase64 } from './upload-bytes.ts'

const KB = 1_024
/** The most bytes of a body besides the file, as of any other JSON body; and of a single text part of a form. */
const BESIDES = 1_024 * KB
const PART_BYTES = 64 * KB
/** Base64 takes four bytes for three, and a line break in JSON at most four (`\r\n`) for each 76. */
const JSON_RATIO = (4 / 3) * (80 / 76)

export interface ReceivedUpload {
  /** The keys besides the file, as the caller sent them. */
  input: Record<string, unknown>
  /** The file; undefined if the caller sent no file, or a `data` that is not a string. */
  received: ReceivedBytes | undefined
}

export interface ReceivingOptions {
  storage: Pick<Storage, 'write' | 'remove'>
  maxBytes: number
  /** The keys of the query string, which are used for a form and for plain bytes. */
  query: Record<string, unknown>
  /** Waits until the caller may send a large body. @throws AppError 503 */
  admitLarge(): Promise<void>
}

/**
 * Receives the body of the request. Nothing stays in storage if it is refused.
 * @throws AppError 400, 413 at the first byte over the limit or by the stated length, 415, 503, 507
 */
export function receiveUpload(request: FastifyRequest, options: ReceivingOptions): Promise<ReceivedUpload> {
  if (request.method === 'PUT') return receiveRaw(request, options)
  return request.isMultipart() ? receiveForm(request, options) : receiveJson(request, options)
}

// ── base64 in JSON ──────────────────────────────────────────────────────────

async function receiveJson(request: FastifyRequest, options: ReceivingOptions): Promise<ReceivedUpload> {
  const { maxBytes, storage } = options
  const tooLarge = () => fileTooLarge('data', maxBytes)
  const chunks = bodyOf(request, { ...options, maxBytes: Math.ceil(maxBytes * JSON_RATIO) + BESIDES, tooLarge })
  if (!isJson(request.headers)) return { input: await emptyInput(request, chunks), received: undefined }

  const json = new JsonUpload()
  const bytes = decoded(chunks, json)
  const begun = await bytes.next()
  if (begun.done) return { input: begun.value, received: undefined }
  const { name } = json.keysBefore()
  let input: Record<string, unknown> = {}
  const rest = (async function* () {
    input = yield* bytes
  })()
  const received = await receiveBytes(storage, rest, { name: typeof name === 'string' ? name : '', maxBytes, tooLarge })
  return { input, received }
}

/** The bytes of `data`: an empty chunk as soon as its text begins. @returns the value of the whole body */
async function* decoded(chunks: AsyncIterable<Buffer>, json: JsonUpload): AsyncGenerator<Buffer, Record<string, unknown>> {
  const base64 = new Base64Decoder(notBase64)
  let hasBegun = false
  for await (const chunk of chunks) {
    const text = json.read(chunk)
    if (json.hasData && !hasBegun) {
      hasBegun = true
      yield Buffer.alloc(0)
    }
    const bytes = text.length ? base64.decode(text) : undefined
    freeChunk(chunk)
    if (bytes) yield bytes
  }
  // An error here ends the generator before its last bytes, which makes the write to storage fail.
  const value = objectOf(json.end())
  if (hasBegun) yield base64.end()
  return value
}

/** Accepts `{}` under any media type, which `curl -d '{}'` sends, and an empty body: both count as `{}` in all operations. */
async function emptyInput({ headers }: FastifyRequest, chunks: AsyncIterable<Buffer>): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of chunks) {
    text += chunk.toString('latin1')
    if (text.length > 2) break
  }
  if (text !== '' && text !== '{}') throw unsupported('application/json in UTF-8, or multipart/form-data', headers)
  return {}
}

function objectOf(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new AppError('BAD_REQUEST', 'The body must be a JSON object')
  return value as Record<string, unknown>
}

// ── a form ──────────────────────────────────────────────────────────────────

/** The part with the file. All other parts are called like the keys of the JSON. */
const FILE_PART = 'file'

async function receiveForm(request: FastifyRequest, options: ReceivingOptions): Promise<ReceivedUpload> {
  const form = new Form(request, options)
  try {
    await form.read()
    return form.upload()
  } catch (error) {
    // The rest of the body is read and dropped when the answer is sent.
    request.raw.unpipe()
    await form.discard()
    throw error
  }
}

class Form {
  readonly #request: FastifyRequest
  readonly #options: ReceivingOptions
  readonly #fields: Record<string, unknown> = {}
  #file: { received: ReceivedBytes; name: string | undefined; type: string } | undefined

  constructor(request: FastifyRequest, options: ReceivingOptions) {
    this.#request = request
    this.#options = options
  }

  async read(): Promise<void> {
    const { maxBytes } = this.#options
    if (statedBytes(this.#request) > maxBytes + BESIDES) throw fileTooLarge(FILE_PART, maxBytes)
    const limits = { fileSize: Number.POSITIVE_INFINITY, files: 2, fields: 20, parts: 20, fieldSize: PART_BYTES }
    const parts = asForm(this.#request.parts({ limits, preservePath: true }))
    const tooLong = this.#tooLong()
    for (;;) {
      // The parser skips what lies between parts, however much that is.
      const { value: part, done } = await Promise.race([parts.next(), tooLong])
      if (done) return
      if ((part.fieldname as string | undefined) === undefined) throw new AppError('BAD_REQUEST', 'The form has a part without a name')
      if (part.type === 'field') this.#readField(part.fieldname, part)
      else await this.#readFile(part)
    }
  }

  /** Fails at the first byte over what a whole form may have. */
  #tooLong(): Promise<never> {
    const { maxBytes } = this.#options
    let bytes = 0
    const { promise, reject } = Promise.withResolvers<never>()
    // It may fail while a file is read, which is awaited first.
    promise.catch(() => {})
    this.#request.raw.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes + BESIDES) reject(fileTooLarge(FILE_PART, maxBytes))
    })
    return promise
  }

  #readField(name: string, { value, valueTruncated }: { value: unknown; valueTruncated: boolean }): void {
    if (name === FILE_PART) throw badInput(FILE_PART, 'must be a file, with a file name')
    if (name === 'data') throw badInput('data', `is sent as the part ${FILE_PART} of a form`)
    if (valueTruncated) throw badInput(name, 'is too long')
    if (Object.hasOwn(this.#fields, name)) throw badInput(name, 'is given twice')
    this.#fields[name] = value
  }

  async #readFile({ fieldname, filename, mimetype, file }: FilePart): Promise<void> {
    if (fieldname !== FILE_PART) throw badInput(fieldname, 'is not a known key')
    if (this.#file) throw badInput(FILE_PART, 'is given twice')
    const { storage, maxBytes } = this.#options
    const bytes = admitted(asForm(file as AsyncIterable<Buffer>), this.#options)
    const received = await receiveBytes(storage, bytes, {
      name: filename ?? '',
      maxBytes,
      tooLarge: () => fileTooLarge(FILE_PART, maxBytes),
    })
    this.#file = { received, name: filename, type: mimetype }
  }

  upload(): ReceivedUpload {
    if (!this.#file) throw badInput(FILE_PART, 'is required')
    const { received, name, type } = this.#file
    return { input: { ...(name !== undefined && { name }), type, ...this.#options.query, ...this.#fields, data: '' }, received }
  }

  async discard(): Promise<void> {
    if (this.#file) await this.#options.storage.remove(this.#file.received.key)
  }
}

interface FilePart {
  fieldname: string
  /** Undefined for a part that counts as a file only because of its media type. */
  filename: string | undefined
  mimetype: string
  file: AsyncIterable<unknown>
}

/** The parser's own errors have no status. */
async function* asForm<Part>(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
  const iterator = parts[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => {
        throw new AppError('BAD_REQUEST', 'The form is malformed or incomplete', { cause: error })
      })
      if (next.done) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

// ── the bytes ───────────────────────────────────────────────────────────────

async function receiveRaw(request: FastifyRequest, options: ReceivingOptions): Promise<ReceivedUpload> {
  const { headers } = request
  const { storage, maxBytes, query } = options
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' || request.isMultipart()) throw unsupported('the bytes of the file, not compressed', headers)
  const named = namedFile(headers['content-disposition'])
  const input = { ...(named !== undefined && { name: named }), type: headers['content-type'], ...query, data: '' }
  if (!('name' in input)) throw badInput('name', 'is required, in Content-Disposition (filename) or as ?name=')
  const tooLarge = () => fileTooLarge('body', maxBytes)
  const bytes = bodyOf(request, { ...options, tooLarge })
  return { input, received: await receiveBytes(storage, bytes, { name: String(input.name), maxBytes, tooLarge }) }
}

// ── shared ──────────────────────────────────────────────────────────────────

interface BodyOptions extends Pick<ReceivingOptions, 'admitLarge'> {
  maxBytes: number
  tooLarge: () => Error
}

/** The bytes of the body. The stream is not destroyed afterwards, because the answer is sent over the same connection. */
async function* bodyOf(request: FastifyRequest, { maxBytes, tooLarge, ...options }: BodyOptions): AsyncGenerator<Buffer> {
  if (statedBytes(request) > maxBytes) throw tooLarge()
  let bytes = 0
  for await (const chunk of admitted(arriving(request), options)) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    yield chunk
  }
}

async function* arriving({ raw }: FastifyRequest): AsyncGenerator<Buffer> {
  try {
    yield* raw.iterator({ destroyOnReturn: false })
  } catch (error) {
    // Nobody reads the answer, but it is logged.
    throw new AppError('CLIENT_CLOSED_REQUEST', 'The connection was closed before the body had arrived', { cause: error })
  }
}

/** The least bytes that the file of the request can have, by the stated length of the body. */
export function leastFileBytes(request: FastifyRequest): number {
  const stated = statedBytes(request)
  if (request.method === 'PUT') return stated
  return Math.max(0, Math.floor((stated - BESIDES) / (request.isMultipart() ? 1 : JSON_RATIO)))
}

const statedBytes = ({ headers }: FastifyRequest) => Number(headers['content-length'] ?? 0)

/** A body takes a slot only when many bytes have arrived, so a connection that announces a large body and sends nothing holds none. */
async function* admitted(chunks: AsyncIterable<Buffer>, { admitLarge }: Pick<ReceivingOptions, 'admitLarge'>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    const isFirstLarge = bytes <= FREE_BYTES && bytes + chunk.length > FREE_BYTES
    bytes += chunk.length
    if (isFirstLarge) await admitLarge()
    yield chunk
  }
}

/** The bytes of each body that are received without a slot. */
const FREE_BYTES = 256 * KB
