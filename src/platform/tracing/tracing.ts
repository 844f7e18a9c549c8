/**
 * Traces: the spans of requests, statements, jobs and SMTP dialogues. Until `useTracer` is called nothing of OpenTelemetry is loaded, and
 * a span costs one comparison. Attributes are names and numbers: never contents, values, texts of statements or addresses of people.
 */

export type SpanKind = 'server' | 'client' | 'producer' | 'consumer'
export type SpanAttributes = Record<string, string | number>

export interface OpenSpan {
  set(attributes: SpanAttributes): void
  /** Runs the function inside of the span: spans that it opens become its children. */
  run<Result>(fn: () => Result): Result
  /** The span in the form of the header `traceparent`, for a part of the trace in another process. */
  traceparent(): string
  /** @param error marks the span as failed, with the code of the error and without its text */
  end(error?: unknown): void
}

interface SpanOptions {
  kind: SpanKind
  attributes?: SpanAttributes
  /** The `traceparent` of a parent in another process. By default the span around the caller is the parent. */
  parent?: string | undefined
  /** Opens nothing outside of a span: the work of timers would fill the collector with traces of one span. */
  onlyInside?: boolean
}

export interface Tracer {
  open(name: string, options: SpanOptions): OpenSpan | undefined
  /** Sends the spans that have ended. */
  close(): Promise<void>
}

let tracer: Tracer | undefined

/** Lets this process trace. Call it before the database and the application are opened; undefined ends it. */
export function useTracer(next: Tracer | undefined): void {
  tracer = next
}

export const isTracing = () => tracer !== undefined

/** Opens a span that the caller ends. @returns undefined if this process does not trace */
export const openSpan = (name: string, options: SpanOptions): OpenSpan | undefined => tracer?.open(name, options)

/** Runs the function in a span, which fails with it. */
export async function inSpan<Result>(
  name: string,
  options: SpanOptions,
  fn: (span: OpenSpan | undefined) => Promise<Result>,
): Promise<Result> {
  const span = tracer?.open(name, options)
  if (!span) return fn(undefined)
  let failure: unknown
  try {
    return await span.run(() => fn(span))
  } catch (error) {
    failure = error
    throw error
  } finally {
    span.end(failure)
  }
}
