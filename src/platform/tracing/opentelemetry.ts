/** OpenTelemetry, loaded only if the OTEL_* settings ask for traces (docs/monitoring.md, Traces). */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger } from 'fastify'
import { withinTime } from '../concurrency/time-limit.ts'
import type { TracingSettings } from './settings.ts'
import type { OpenSpan, Tracer } from './tracing.ts'

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER }
/** A collector that does not answer must not hold up the end of the process. */
const CLOSE_TIMEOUT_MS = 5_000

/** Opens the tracer. The exporter reads OTEL_EXPORTER_OTLP_* itself, and the resource OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. */
export function openTracer({ protocol, sampler, samplerArgument, batch }: TracingSettings, log: FastifyBaseLogger): Tracer {
  const report = (message: string, ...details: unknown[]) => log.warn({ details: details.map(String) }, `OpenTelemetry: ${message}`)
  const quiet = () => {}
  diag.setLogger({ error: report, warn: report, info: quiet, debug: quiet, verbose: quiet }, DiagLogLevel.WARN)
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter()
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'gridpost' }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(sampler, samplerArgument),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...batch })],
  })
  const tracer = provider.getTracer('gridpost')
  const around = new AsyncLocalStorage<Context>()

  return {
    open(name, { kind, attributes = {}, parent, onlyInside }) {
      const outer = parent === undefined ? around.getStore() : (contextFrom(parent) ?? around.getStore())
      if (onlyInside && !outer) return undefined
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, outer ?? ROOT_CONTEXT)
      const inside = trace.setSpan(outer ?? ROOT_CONTEXT, span)
      return {
        set: (more) => void span.setAttributes(more),
        run: (fn) => around.run(inside, fn),
        traceparent: () => {
          const { traceId, spanId, traceFlags } = span.spanContext()
          return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
        },
        end: (error) => {
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', typeOf(error))
          span.end()
        },
      } satisfies OpenSpan
    },
    close: async () => {
      const sent = provider.shutdown().catch((error) => report('not closed', error))
      await withinTime(sent, CLOSE_TIMEOUT_MS, undefined)
    },
  }
}

/** The context of a `traceparent` (W3C Trace Context); undefined for a malformed one, which counts as absent. */
function contextFrom(traceparent: string): Context | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/.exec(traceparent) ?? []
  if (!version || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** The code of an error, such as an SQLSTATE or a status, else its class. */
function typeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name ?? 'unknown')
}

function samplerOf(name: string, argument: number): Sampler {
  const root = rootSampler(name.replace(/^parentbased_/, ''), argument)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

function rootSampler(name: string, argument: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(argument) : new AlwaysOnSampler()
}
