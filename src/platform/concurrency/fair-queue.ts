/**
 * A bounded number of slots for work in progress. Each account waits for them in a queue of its own, and the queues take turns, so an
 * account that floods waits behind itself only (docs/decisions/0016-overload.md).
 */
import { type Entry, LinkedList } from '../collections/linked-list.ts'
import { LoadShedding } from './load-shedding.ts'

export interface FairQueueOptions {
  slots: number
  /** The most slots of one account, which leaves the rest to others. */
  slotsOfAccount: number
  /** How many requests of an account may wait. Of more, the oldest are refused, and the newest served first (load-shedding.ts). */
  mostWaiting: number
  /** The longest wait. */
  waitMs: number
  /** The longest wait in a queue that stays long. By default none is too long for that, because the work may take seconds. */
  sheddingWaitMs?: number
  /** Work that takes longer gives its slot to others who need one: what it waits for has limits of its own. */
  countedMs?: number
}

/** One permit, from `tryEnter` to `leave`. */
export interface Slot {
  readonly account: Account
  readonly weight: number
  readonly since: number
  /** The request, if it has a body. Until that has arrived, others may have the slot. */
  body?: { readonly complete: boolean } | undefined
  /** True once the work only waits for a time: others may have the slot. */
  isIdle?: boolean
  /** The slot counts while it is in the list. */
  counted?: Entry<Slot>
}

interface Account {
  readonly name: string
  /** The weight of its slots that count. */
  taken: number
  /** In the order of arrival. */
  readonly waiting: LinkedList<Waiting>
  /** Its turn among the accounts that wait. */
  turn: Entry<Account> | undefined
  readonly shedding: LoadShedding
}

/** Waits for a slot. One of its functions is called, unless it stops waiting. */
export interface Waiter {
  enter(slot: Slot): void
  refuse(): void
}

interface Waiting {
  readonly waiter: Waiter
  readonly weight: number
  readonly since: number
  entry?: Entry<Waiting>
}

interface WaitOptions {
  /** Makes the error for a caller who is refused. */
  refusal: () => Error
  signal?: AbortSignal
}

const SWEEP_MS = 10
/** A body that has not arrived after this time comes in packets of its own. */
const BODY_ARRIVES_MS = 5
/** The number of waiting requests of all accounts together. */
const MOST_WAITING = 2_048
/** Others need not wait until all are refused that are late. */
const REFUSED_AT_ONCE = 64

export class FairQueue {
  readonly #options: FairQueueOptions
  /** The slots that count, the oldest first. */
  readonly #inside = new LinkedList<Slot>()
  readonly #accounts = new Map<string, Account>()
  /** The accounts that wait. The first is the next. */
  readonly #turns = new LinkedList<Account>()
  #taken = 0
  #waiting = 0
  #sweeper: NodeJS.Timeout | undefined
  #isGivingTurns = false

  constructor(options: FairQueueOptions) {
    this.#options = options
  }

  /** The weight of the slots that are taken and count. */
  get taken(): number {
    return this.#taken
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Runs the function in a slot of the account.
   * @throws what the function throws, `refusal()` when no slot became free in time, or the signal's reason
   */
  async run<T>(account: string, fn: () => Promise<T>, options: WaitOptions): Promise<T> {
    const slot = await this.enter(account, options)
    try {
      return await fn()
    } finally {
      this.leave(slot)
    }
  }

  /**
   * Takes a slot for the account, and waits for one if it has to. The caller gives it back with `leave`.
   * @throws `refusal()` when no slot became free in time, or the signal's reason
   */
  async enter(account: string, { refusal, signal }: WaitOptions): Promise<Slot> {
    signal?.throwIfAborted()
    const slot = this.tryEnter(account)
    if (slot) return slot
    const { promise, resolve, reject } = Promise.withResolvers<Slot>()
    const stop = this.wait(account, { enter: resolve, refuse: () => reject(refusal()) })
    const onAbort = () => {
      stop()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    return promise.finally(() => signal?.removeEventListener('abort', onAbort))
  }

  /** Takes a slot for the account, if it need not wait. The caller gives it back with `leave`. */
  tryEnter(name: string, weight = 1): Slot | undefined {
    const now = performance.now()
    if (!this.#isOpenTo(name)) {
      // Those that wait get the slots of idle work first.
      this.#giveTurns(now)
      if (!this.#isOpenTo(name)) return undefined
    }
    const account = this.#accountOf(name)
    account.shedding.noteNoQueue(now)
    return this.#take(account, weight, now)
  }

  /** Waits for a slot, after `tryEnter` has given none. @returns stops waiting */
  wait(name: string, waiter: Waiter, weight = 1): () => void {
    const now = performance.now()
    const account = this.#accountOf(name)
    if (!account.waiting.size) account.shedding.noteNoQueue(now)
    const waiting: Waiting = { waiter, weight, since: now }
    waiting.entry = account.waiting.add(waiting)
    account.turn ??= this.#turns.add(account)
    this.#waiting++
    if (account.waiting.size > this.#options.mostWaiting) this.#refuseOldest(account)
    else if (this.#waiting > MOST_WAITING) this.#refuseLast(this.#longestQueue(account), now)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    return () => this.#stopWaiting(account, waiting)
  }

  /** Gives the slot back. Giving it back again has no effect. */
  leave(slot: Slot): void {
    this.#uncount(slot)
    if (this.#waiting) this.#giveTurns(performance.now())
  }

  #isOpenTo(name: string): boolean {
    const account = this.#accounts.get(name)
    return !account?.waiting.size && this.#hasSlotFor(account)
  }

  #hasSlotFor(account: Account | undefined): boolean {
    const { slots, slotsOfAccount } = this.#options
    return this.#taken < slots && (account?.taken ?? 0) < slotsOfAccount
  }

  #accountOf(name: string): Account {
    const known = this.#accounts.get(name)
    if (known) return known
    const shedding = new LoadShedding(this.#options.sheddingWaitMs)
    const account: Account = { name, taken: 0, waiting: new LinkedList(), turn: undefined, shedding }
    this.#accounts.set(name, account)
    return account
  }

  #forgetIdle({ name, taken, waiting }: Account): void {
    if (!taken && !waiting.size) this.#accounts.delete(name)
  }

  #longestQueue(own: Account): Account {
    let longest = own
    for (const { item } of this.#turns) if (item.waiting.size > longest.waiting.size) longest = item
    return longest
  }

  #take(account: Account, weight: number, since: number): Slot {
    const slot: Slot = { account, weight, since }
    slot.counted = this.#inside.add(slot)
    account.taken += weight
    this.#taken += weight
    return slot
  }

  #uncount(slot: Slot): void {
    if (!slot.counted?.item) return
    this.#inside.remove(slot.counted)
    slot.account.taken -= slot.weight
    this.#taken -= slot.weight
    this.#forgetIdle(slot.account)
  }

  /** Takes the slots of work that takes long or only waits, or whose body has not arrived with its headers. */
  #uncountIdle(now: number): void {
    const { countedMs } = this.#options
    if (countedMs === undefined) return
    for (const { item: slot } of this.#inside) {
      const ageMs = now - slot.since
      if (ageMs < BODY_ARRIVES_MS) return
      if (ageMs >= countedMs || slot.body?.complete === false || slot.isIdle) this.#uncount(slot)
    }
  }

  /** Gives free slots to the accounts in turn. */
  #giveTurns(now: number): void {
    // A slot that is given back at once, by a caller who has hung up, is given on by the same loop: recursion could go too deep.
    if (this.#isGivingTurns) return
    this.#isGivingTurns = true
    try {
      this.#uncountIdle(now)
      for (let passed = 0; passed < this.#turns.size && this.#taken < this.#options.slots; ) {
        const account = this.#turns.oldest as Account
        if (this.#serveNext(account, now)) passed = 0
        else if (account.turn) passed++
      }
    } finally {
      this.#isGivingTurns = false
    }
  }

  /** Ends the turn of the account. @returns whether it has got a slot */
  #serveNext(account: Account, now: number): boolean {
    if (account.turn) this.#turns.moveToEnd(account.turn)
    if (!this.#hasSlotFor(account)) return false
    this.#refuseLate(account, now)
    const next = account.shedding.isShedding(now) ? account.waiting.newest : account.waiting.oldest
    if (!next) return false
    account.shedding.noteWait(now - next.since, now)
    const slot = this.#take(account, next.weight, now)
    this.#stopWaiting(account, next)
    next.waiter.enter(slot)
    return true
  }

  #sweep(): void {
    const now = performance.now()
    for (const { item: account } of this.#turns) this.#refuseLate(account, now)
    this.#giveTurns(now)
    if (this.#waiting) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  #refuseLate(account: Account, now: number): void {
    const { waitMs, sheddingWaitMs = waitMs } = this.#options
    const mostMs = account.shedding.isShedding(now) ? sheddingWaitMs : waitMs
    for (let count = 0; count < REFUSED_AT_ONCE; count++) {
      const { oldest } = account.waiting
      if (!oldest || now - oldest.since < mostMs) return
      this.#refuse(account, oldest)
    }
  }

  #refuseOldest(account: Account): void {
    account.shedding.noteFull()
    if (account.waiting.oldest) this.#refuse(account, account.waiting.oldest)
  }

  /** Refuses the request of the account that would be served last. */
  #refuseLast(account: Account, now: number): void {
    const last = account.shedding.isShedding(now) ? account.waiting.oldest : account.waiting.newest
    if (last) this.#refuse(account, last)
  }

  #refuse(account: Account, waiting: Waiting): void {
    this.#stopWaiting(account, waiting)
    waiting.waiter.refuse()
  }

  #stopWaiting(account: Account, { entry }: Waiting): void {
    if (!entry?.item) return
    account.waiting.remove(entry)
    this.#waiting--
    if (account.waiting.size) return
    if (account.turn) this.#turns.remove(account.turn)
    account.turn = undefined
    this.#forgetIdle(account)
  }
}
