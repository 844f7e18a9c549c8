/** A pool of connections that is fair among parties: one that waits for locks on all of its connections leaves some to the others. */
import pg from 'pg'
import { FairLimit, type Place } from '../concurrency/fair-limit.ts'
import { currentParty } from '../concurrency/party.ts'
import { ownPart } from '../processes/own-part.ts'
import { cutConnection } from './silent-connections.ts'

type Connected = Parameters<typeof pg.Pool.prototype.connect>[0]

/** Connections that a party leaves to others while several need some. */
const KEPT_FREE = ownPart(2)
/** More of a party cannot be served in time. */
const MOST_WAITING = 500
const WAIT_MS = 2_000

export class FairPool extends pg.Pool {
  readonly #limit: FairLimit
  readonly #places = new WeakMap<pg.PoolClient, Place>()
  readonly #open = new Set<pg.PoolClient>()

  constructor(config: pg.PoolConfig & { max: number }) {
    super(config)
    const { max } = config
    const keptFree = Math.min(KEPT_FREE, max - 1)
    this.#limit = new FairLimit({
      ...{ places: max, keptFree },
      ...{ mostWaiting: MOST_WAITING, waitMs: WAIT_MS, refusingWaitMs: WAIT_MS },
    })
    this.on('connect', (client) => this.#open.add(client))
    this.on('remove', (client) => this.#open.delete(client))
    this.on('release', (_, client) => {
      const place = this.#places.get(client)
      if (!place) return
      this.#places.delete(client)
      this.#limit.leave(place)
    })
  }

  /** The number of callers that wait for a connection. */
  get waiting(): number {
    return this.#limit.waiting
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
    const party = currentParty()
    const place = this.#limit.tryEnter(party)
    if (place) this.#connectIn(place, callback)
    else
      this.#limit.wait(party, {
        enter: (given) => this.#connectIn(given, callback),
        // The text is that of pg-pool, which errors.ts knows.
        refuse: () => callback(new Error('timeout exceeded when trying to connect'), undefined, () => {}),
      })
    return undefined
  }

  #connectIn(place: Place, callback: Connected): void {
    super.connect((error, client, release) => {
      if (client) this.#places.set(client, place)
      else this.#limit.leave(place)
      callback(error, client, release)
    })
  }
}
