/** The OTEL_* variables, whose names and meanings are OpenTelemetry's own. They are read without loading it. */

/** Names an invalid variable, in a message of one line. */
export class TracingError extends Error {}

export interface TracingSettings {
  protocol: 'http/protobuf' | 'http/json'
  sampler: string
  /** The share of the traces for a sampler by ratio, from 0 to 1. */
  samplerArgument: number
  /** The queue of ended spans; what is undefined has OpenTelemetry's default. */
  batch: { scheduledDelayMillis?: number; maxQueueSize?: number; maxExportBatchSize?: number; exportTimeoutMillis?: number }
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`])

/**
 * Returns undefined unless the variables ask for traces: an endpoint is set, or OTEL_TRACES_EXPORTER is `otlp`.
 * @throws TracingError for a value that this service cannot follow
 */
export function readTracing(environment: Record<string, string | undefined>): TracingSettings | undefined {
  const read = (...names: string[]) => names.map((name) => environment[name]?.trim()).find(Boolean)
  const exporter = read('OTEL_TRACES_EXPORTER')
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none' || !(exporter ?? endpoint)) return undefined
  if (exporter !== undefined && exporter !== 'otlp') throw new TracingError('OTEL_TRACES_EXPORTER: must be otlp or none')
  if (endpoint !== undefined && !/^https?:\/\//.test(endpoint))
    throw new TracingError('OTEL_EXPORTER_OTLP_ENDPOINT: must be an http:// or https:// URL')
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/protobuf'
  if (protocol !== 'http/protobuf' && protocol !== 'http/json')
    throw new TracingError('OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf or http/json')
  const sampler = read('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  if (!SAMPLERS.includes(sampler)) throw new TracingError(`OTEL_TRACES_SAMPLER: must be one of ${SAMPLERS.join(', ')}`)
  const samplerArgument = numberOf('OTEL_TRACES_SAMPLER_ARG', read('OTEL_TRACES_SAMPLER_ARG')) ?? 1
  if (samplerArgument > 1) throw new TracingError('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1')
  const batch = Object.entries(BATCH).flatMap(([key, name]) => {
    const value = numberOf(name, read(name))
    return value === undefined ? [] : [[key, value]]
  })
  return { protocol, sampler, samplerArgument, batch: Object.fromEntries(batch) }
}

const BATCH = {
  scheduledDelayMillis: 'OTEL_BSP_SCHEDULE_DELAY',
  maxQueueSize: 'OTEL_BSP_MAX_QUEUE_SIZE',
  maxExportBatchSize: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  exportTimeoutMillis: 'OTEL_BSP_EXPORT_TIMEOUT',
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new TracingError(`${name}: must be a number that is not negative`)
  return value
}
