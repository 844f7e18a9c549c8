/** The parts of a suite: its data, its cases, and its other measurements. */
import type { Database } from '../../src/platform/database/database.ts'
import type { Api } from './api.ts'
import type { Asked, PeerName } from './others/peer.ts'

/** A request that both servers answer in the same way. */
export interface Case {
  name: string
  method: 'GET' | 'POST'
  ours: (index: number) => string
  bare: (index: number) => string
  body?: (index: number) => unknown
  /** The secret of the caller, if it changes from request to request. */
  secret?: (index: number) => string
  /** The minimum ratio of our requests per second to those of bare. */
  goal: number
  /** The upper limit of the median for one caller, in milliseconds. */
  goalMs?: number
  /** The maximum ratio of our p99 to that of bare. */
  goalP99?: number
  /** The properties in which two answers to the same create differ. */
  ignore?: string[]
  /** The same request for other products, with `--others`. */
  others?: Partial<Record<PeerName, Asked>>
}

/** The connections through which a suite creates its data. */
export interface Ground {
  db: Database
  /** The address of the service. */
  url: string
  /** The account, its owner, and a key of the account. Each data directory has its own. */
  account: Account
  /** Calls the service with the key. */
  key: Api
  /** The service, called by the owner in a browser: only people create views. */
  browser: Api
}

export interface Account {
  accountId: number
  ownerId: number
  secret: string
}

export interface Service {
  url: string
  account: Account
  /** The number of records. */
  records: number
}

/** The environment of a step, which measures something other than a case. */
export interface Bench extends Ground, Service {
  pids: Pids
  /** The settings of the service, for a step that starts another process of it. */
  environment: Record<string, string>
}

export interface Pids {
  ours: number
  /** 0 without a bare server. */
  bare: number
  postmaster: number
}

/** A measurement that prints its own results. */
export interface Step<Prepared> {
  run(bench: Bench, prepared: Prepared): Promise<void>
}

/** @template Prepared a description of the data, which is stored as JSON for the next run on the same data directory */
export interface Suite<Prepared> {
  prepare(ground: Ground, options: { records: number }): Promise<Prepared>
  /** The file of the bare server, and its settings. A suite without cases needs none. */
  bare?: string
  tellBare?(prepared: Prepared, records: number): Record<string, unknown>
  /** The secret of the caller; by default the key of the account. */
  secretOf?(prepared: Prepared): string
  cases(prepared: Prepared, service: Service): Case[] | Promise<Case[]>
  /** The table that other products use, with `--others`. */
  tableOf?(prepared: Prepared): number
  /** Steps by name. `--only` selects them like cases. */
  steps?: Record<string, Step<Prepared>>
  /** The default number of records, and the default seconds of a round. */
  defaults: { records: number; seconds: number }
  /** The minimum number of records for the cases. */
  fewest?: number
}
