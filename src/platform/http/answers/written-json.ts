/**
 * Answers whose JSON text the service writes itself, straight from the columns of a statement: building objects only to check and
 * stringify them is most of what a page costs. Over REST the text is the body. In the envelope of tRPC a placeholder stands for it until
 * the envelope is finished.
 */
import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { parseExact } from '../../exact-json.ts'

/** JSON as a string, or as its bytes in UTF-8. */
export type JsonText = string | Buffer

/** A value of type `T` as finished JSON text, written as JSON.stringify would write the value. */
export class WrittenJson<T> {
  /** The body over REST; of a list that is asked for with an envelope, `whole` is. */
  readonly text: JsonText

  constructor(text: JsonText) {
    this.text = text
  }

  /** Of a string, whose characters may have more than one byte, an approximation. */
  get bytes(): number {
    return this.text.length
  }

  /** The whole value in parts, which follow one another. */
  parts(): JsonText[] {
    return [this.text]
  }

  get whole(): JsonText {
    return joined(this.parts())
  }

  /** The value itself. JSON.stringify calls this, so whatever stores or logs the answer gets the same text. */
  toJSON(): T {
    return parseExact(this.whole.toString()) as T
  }
}

/** The output of a list procedure, as in `listOf`. */
export interface List<Row> {
  rows: Row[]
  total?: number | undefined
  next_cursor?: string | undefined
}

/** A list whose rows, as a JSON array, are finished text. */
export class WrittenList<Row> extends WrittenJson<List<Row>> {
  readonly total: number | undefined
  readonly next_cursor: string | undefined

  constructor(rows: JsonText, { total, next_cursor }: Omit<List<Row>, 'rows'> = {}) {
    super(rows)
    this.total = total
    this.next_cursor = next_cursor
  }

  override parts(): JsonText[] {
    const { total, next_cursor } = this
    // The other properties as the rest of an object that the rows begin.
    const rest = JSON.stringify({ total, next_cursor })
    return ['{"rows":', this.text, rest === '{}' ? '}' : `,${rest.slice(1)}`]
  }
}

/**
 * The schema of an output that a service may also answer as written JSON. Such a text is not parsed again; the tests hold it against the
 * schema.
 */
export function orWritten<Schema extends z.ZodType>(schema: Schema) {
  const { parse } = schema
  // tRPC takes the function that checks an output from the schema itself.
  const passing = (value: unknown) => (value instanceof WrittenJson ? value : parse(value))
  return Object.assign(schema, { parse: passing, parseAsync: async (value: unknown) => passing(value) }) as unknown as z.ZodType<
    z.output<Schema>,
    z.input<Schema> | WrittenJson<z.output<Schema>>
  >
}

/** The written answers to the calls of one RPC request. */
export class Placeholders {
  // Nobody can guess it, so no text of a caller or of the database is taken for a placeholder.
  readonly #mark = `written ${randomUUID()} `
  readonly #answers: WrittenJson<unknown>[] = []

  /** Keeps the answer. @returns the text that stands for it in the envelope */
  for(answer: WrittenJson<unknown>): string {
    return this.#mark + (this.#answers.push(answer) - 1)
  }

  /** The finished envelope. @param envelope JSON with a string in place of each written answer */
  filledIn(envelope: string): JsonText {
    const [start = '', ...others] = envelope.split(`"${this.#mark}`)
    const parts: JsonText[] = [start]
    for (const other of others) {
      const end = other.indexOf('"')
      parts.push(...(this.#answers[Number(other.slice(0, end))] as WrittenJson<unknown>).parts(), other.slice(end + 1))
    }
    return joined(parts)
  }
}

/** One text of the parts. */
export const joined = (parts: readonly JsonText[]): JsonText =>
  parts.some(Buffer.isBuffer) ? Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part)))) : parts.join('')
