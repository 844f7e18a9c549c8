/** A pool of connections that is fair among accounts: one that waits for locks on all of its connections leaves some to the others. */
import pg from 'pg'
import { currentAccount } from '../concurrency/current-account.ts'
import { FairQueue, type Slot } from '../concurrency/fair-queue.ts'
import { perProcess } from '../processes/per-process.ts'
import { cutConnection } from './statements/silent-connections.ts'

type Connected = Parameters<typeof pg.Pool.prototype.connect>[0]

/** Connections that an account leaves to others. */
const KEPT_FREE = perProcess(2)
/** More of an account cannot be served in time. */
const MOST_WAITING = 500
const WAIT_MS = 2_000

export class FairPool extends pg.Pool {
  readonly #queue: FairQueue
  readonly #slots = new WeakMap<pg.PoolClient, Slot>()
  readonly #open = new Set<pg.PoolClient>()

  constructor(config: pg.PoolConfig & { max: number }) {
    super(config)
    const { max } = config
    this.#queue = new FairQueue({ slots: max, slotsOfAccount: Math.max(1, max - KEPT_FREE), mostWaiting: MOST_WAITING, waitMs: WAIT_MS })
    this.on('connect', (client) => this.#open.add(client))
    this.on('remove', (client) => this.#open.delete(client))
    this.on('release', (_, client) => {
      const slot = this.#slots.get(client)
      if (!slot) return
      this.#slots.delete(client)
      this.#queue.leave(slot)
    })
  }

  /** The number of callers that wait for a connection. */
  get waiting(): number {
    return this.#queue.waiting
  }

  /** Closes all connections, so that statements on a server that does not answer fail now. */
  abandon(): void {
    for (const client of this.#open) cutConnection(client)
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (!callback)
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (client ? resolve(client) : reject(error)))
      })
    const account = currentAccount()
    const slot = this.#queue.tryEnter(account)
    if (slot) this.#connectIn(slot, callback)
    else
      this.#queue.wait(account, {
        enter: (given) => this.#connectIn(given, callback),
        // The text is that of pg-pool, which database-errors.ts knows.
        refuse: () => callback(new Error('timeout exceeded when trying to connect'), undefined, () => {}),
      })
    return undefined
  }

  #connectIn(slot: Slot, callback: Connected): void {
    super.connect((error, client, release) => {
      if (client) this.#slots.set(client, slot)
      else this.#queue.leave(slot)
      callback(error, client, release)
    })
  }
}
