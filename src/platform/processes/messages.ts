/** The messages between the supervisor and its processes. */

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
  /** The process answers requests now. `lines` are for the operator. */
  | { tells: 'ready'; lines: readonly string[]; port: number | undefined }
  /** The process asks for the metrics of all processes. */
  | { tells: 'scrape'; id: number }
  | { tells: 'series'; id: number; series: Series }

export type ToProcess =
  | { tells: 'stop' }
  /** Asks the process for its own metrics. `isFirst` is true for the one that also reads the values that all processes share. */
  | { tells: 'collect'; id: number; isFirst: boolean }
  /** Answers with the metrics of all processes; undefined if they could not be added up. */
  | { tells: 'metrics'; id: number; text: string | undefined }
