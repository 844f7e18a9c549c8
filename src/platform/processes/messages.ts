/** The messages between the supervisor and its processes. */
import type { Series } from '../metrics/metrics.ts'

export type ToSupervisor =
  /** The process answers requests now. `lines` are for the operator. */
  | { tells: 'ready'; lines: readonly string[]; port: number | undefined }
  /** The process asks for the metrics of all processes. */
  | { tells: 'scrape'; id: number }
  | { tells: 'series'; id: number; series: Series }

export type ToProcess =
  | { tells: 'stop' }
  /** Every process of the first start has listened. A process that is started later hears it, too. */
  | { tells: 'complete' }
  /** Asks the process for its own metrics. `isFirst` is true for the one that also reads the values that all processes share. */
  | { tells: 'collect'; id: number; isFirst: boolean }
  /** Answers with the metrics of all processes; undefined if they could not be added up. */
  | { tells: 'metrics'; id: number; text: string | undefined }
