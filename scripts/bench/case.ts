/** What a suite is made of: its data, its cases, and what it measures besides. */
import type { Database } from '../../src/platform/database/database.ts'
import type { Api } from './api.ts'
import type { Asked, PeerName } from './others/peer.ts'

/** A request that both servers answer alike. */
export interface Case {
  name: string
  method: 'GET' | 'POST'
  ours: (index: number) => string
  bare: (index: number) => string
  body?: (index: number) => unknown
  /** Requests per second of ours to those of bare: at least. */
  goal: number
  /** The median for one caller, in milliseconds: less. */
  goalMs?: number
  /** The p99 of ours to that of bare: at most. */
  goalP99?: number
  /** What differs between two answers to the same create. */
  ignore?: string[]
  /** How other products are asked the same, with `--others`. */
  others?: Partial<Record<PeerName, Asked>>
}

/** Where a suite makes its data. */
export interface Ground {
  db: Database
  /** The account, its owner, and a key of the account: new in every data directory. */
  account: Account
  /** The service, called with the key. */
  key: Api
  /** The same as its owner in a browser: views are made by people. */
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
  /** How many were made. */
  records: number
}

/** What a suite measures besides its cases, with what it needs for that. */
export interface Field extends Ground, Service {
  pids: Pids
}

export interface Pids {
  ours: number
  /** 0 without a bare server. */
  bare: number
  postmaster: number
}

/** Prints what it finds. */
export interface Step<Prepared> {
  run(field: Field, prepared: Prepared): Promise<void>
}

/** @template Prepared what is known of the data; it is kept as JSON beside them, for the next run on the same data directory */
export interface Suite<Prepared> {
  prepare(ground: Ground, options: { records: number }): Promise<Prepared>
  /** The file of the bare server, and what it is told. A suite without cases needs none. */
  bare?: string
  tellBare?(prepared: Prepared, records: number): Record<string, unknown>
  /** Who calls; by default the key of the account. */
  secretOf?(prepared: Prepared): string
  cases(prepared: Prepared, service: Service): Case[] | Promise<Case[]>
  /** The table that other products are set on, with `--others`. */
  tableOf?(prepared: Prepared): number
  /** Chosen by `--only` like cases. */
  steps?: Record<string, Step<Prepared>>
  /** Records that are made unless told otherwise, and seconds of a round. */
  defaults: { records: number; seconds: number }
  /** The cases need so many records. */
  fewest?: number
}
