/** What the supervisor and its processes tell each other over their channel. */

/** The metrics of a process, as prom-client has them in JSON. */
export type Series = readonly MetricSeries[]

interface MetricSeries {
  name: string
  help: string
  type: string
  aggregator: string
  values: unknown[]
}

export type ToSupervisor =
  /** It answers requests. `lines` are for the operator. */
  | { tells: 'ready'; lines: readonly string[]; port: number | undefined }
  /** It asks for the metrics of all. */
  | { tells: 'scrape'; id: number }
  | { tells: 'series'; id: number; series: Series }

export type ToProcess =
  | { tells: 'stop' }
  /** It is asked for its own metrics. `isFirst` is true for the one that also reads what is the same for all. */
  | { tells: 'collect'; id: number; isFirst: boolean }
  /** The metrics of all; undefined if they could not be added up. */
  | { tells: 'metrics'; id: number; text: string | undefined }
