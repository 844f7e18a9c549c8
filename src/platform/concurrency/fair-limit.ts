/**
 * A limit on the work in progress that is fair among parties. Each party waits in a queue of its own, and the queues take turns, so a
 * party that floods waits behind itself only. In a flood (inflow.ts) waiting longer helps nobody: the newest request of the party is served
 * first, and the oldest are refused.
 */
import { type Entry, LinkedList } from '../collections/linked-list.ts'
import { CompetingAccounts } from './competing-accounts.ts'
import type { FairLimitOptions } from './fair-limit-options.ts'
import { GivingWay } from './giving-way.ts'
import { Pauses } from './pauses.ts'
import { REFUSING_MS, type Waiter, type Waiting, WaitingParty } from './waiting-party.ts'

/** A place, from `enter` to `leave`. */
export interface Place {
  readonly party: Party
  readonly weight: number
  readonly since: number
  /** The request, if it has a body. Until that has arrived, the work does not use its place, and others may have it. */
  body?: { readonly complete: boolean } | undefined
  /** It counts while it is in the list. */
  counted?: Entry<Place>
}

type Party = WaitingParty<Place>

const SWEEP_MS = 20
/** A body that has not arrived after this time comes in packets of its own. */
const BODY_ARRIVES_MS = 5
/** The number of waiting requests of all parties together. */
const MOST_WAITING = 2_048
/** When a flood is noticed, many have waited for too long. Others need not wait until all of them are refused. */
const REFUSED_AT_ONCE = 64

export class FairLimit {
  readonly #options: FairLimitOptions
  /** The places that count, the oldest first. */
  readonly #inside = new LinkedList<Place>()
  readonly #parties = new Map<string, Party>()
  /** The parties that wait. The first has its turn. */
  readonly #turns = new LinkedList<Party>()
  readonly #accounts = new CompetingAccounts()
  readonly #pauses = new Pauses()
  readonly #givingWay: GivingWay | undefined
  #weight = 0
  #waiting = 0
  #refusingUntil = 0
  #sweeper: NodeJS.Timeout | undefined
  #isAdmitting = false

  constructor(options: FairLimitOptions) {
    this.#options = options
    this.#givingWay = options.givesWay && new GivingWay(options.givesWay)
  }

  /** The weight of the places that are taken and count. */
  get taken(): number {
    return this.#weight
  }

  /** The number of requests that wait. */
  get waiting(): number {
    return this.#waiting
  }

  /** Notes that the process was stopped. The limit notices only pauses of what the work waits for. */
  notePause(): void {
    this.#pauses.notePause(performance.now())
  }

  /** Takes a place for the party, if it need not wait (else: awaited-place.ts). The caller gives it back with `leave`. */
  tryEnter(name: string, weight = 1): Place | undefined {
    const now = performance.now()
    this.#accounts.notice(name, now)
    this.#pauses.noteRequest(now)
    if (!this.#isOpenTo(name, now)) {
      // Those that wait get the places of idle work first.
      this.#admit(now)
      if (!this.#isOpenTo(name, now)) return undefined
    }
    return this.#place(this.#parties.get(name) ?? this.#newParty(name), weight, now)
  }

  #isOpenTo(name: string, now: number): boolean {
    const party = this.#parties.get(name)
    return !party?.waiting.length && this.#hasPlaceFor(party, now)
  }

  /** Waits for a place, after `tryEnter` has given none. @returns stops waiting */
  wait(name: string, waiter: Waiter<Place>, weight = 1): () => void {
    const now = performance.now()
    if (this.#turnsAway(name, now)) {
      queueMicrotask(() => waiter.refuse())
      return () => {}
    }
    const party = this.#parties.get(name) ?? this.#newParty(name)
    const waiting: Waiting<Place> = { waiter, weight, since: now }
    party.add(waiting)
    this.#waiting++
    party.turn ??= this.#turns.add(party)
    this.#judgeTrial(party, now)
    if (party.waiting.length > this.#options.mostWaiting) this.#refuseOldest(party, now)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    return () => this.#stopWaiting(party, waiting)
  }

  #turnsAway(name: string, now: number): boolean {
    const { mostWaiting, floodWaiting } = this.#options
    const party = this.#parties.get(name)
    const isFull = party && floodWaiting !== undefined && !party.isRefused(now) && party.waiting.length >= mostWaiting
    if (!isFull && (this.#waiting < MOST_WAITING || this.#makeRoom(party?.waiting.length ?? 0, now))) return false
    party?.inflow.turnedAway()
    return true
  }

  /** If all queues together are full, the longest gives way to the others. @param waiting the length of the queue that needs room */
  #makeRoom(waiting: number, now: number): boolean {
    let longest: Party | undefined
    for (const { item } of this.#turns) if (item.waiting.length > (longest?.waiting.length ?? waiting)) longest = item
    // The one that would be served last.
    const last = longest?.waiting.at(longest.isRefused(now) ? 0 : -1)
    if (!longest || !last) return false
    longest.inflow.turnedAway()
    this.#stopWaiting(longest, last)
    last.waiter.refuse()
    return true
  }

  /** Gives the place back. Giving it back again has no effect. */
  leave(place: Place): void {
    this.#uncount(place)
    if (this.#waiting) this.#admit(performance.now())
  }

  #newParty(name: string): Party {
    const party: Party = new WaitingParty(name)
    this.#parties.set(name, party)
    return party
  }

  #forgetIdle(party: Party): void {
    if (party.isIdle(performance.now()) && this.#parties.get(party.name) === party) this.#parties.delete(party.name)
  }

  #hasPlaceFor(party: Party | undefined, now: number): boolean {
    const { refusingPlaces, givesWay, keptFree, isAlwaysShared } = this.#options
    const most = this.#mostPlaces(now)
    if (this.#weight >= most || !party) return this.#weight < most
    if ((isAlwaysShared || this.#accounts.areThere(now)) && party.inside >= most - keptFree) return false
    // None of the following takes away the first place of a party.
    if (party.inside === 0) return true
    if (!party.isRefused(now)) return !this.#givingWay?.mustWait(party, now)
    const refusing = refusingPlaces?.(party.refusedShare, this.#givingWay?.isBesideLight(party, now) ?? false) ?? most
    return this.#weight < refusing || (this.#isOnTrial(party, now) && party.inside < (givesWay?.places(now) ?? most))
  }

  #isOnTrial(party: Party, now: number): boolean {
    return this.#options.floodWaiting !== undefined && party.isOnTrial(now)
  }

  #judgeTrial(party: Party, now: number): void {
    const { floodWaiting, trialWaiting = floodWaiting } = this.#options
    if (trialWaiting !== undefined && party.isOnTrial(now)) party.judgeTrial(trialWaiting, now)
  }

  #mostPlaces(now: number): number {
    const { places, competingPlaces = places } = this.#options
    return this.#accounts.areThere(now) && !this.#pauses.isCatchingUp(now) ? competingPlaces : places
  }

  #place(party: Party, weight: number, since: number): Place {
    const place: Place = { party, weight, since }
    party.notePlace()
    this.#pauses.notePlaceGiven(since)
    place.counted = this.#inside.add(place)
    party.inside += weight
    this.#weight += weight
    this.#givingWay?.begins(party, since)
    return place
  }

  #uncount(place: Place): void {
    if (!place.counted?.item) return
    this.#inside.remove(place.counted)
    place.party.inside -= place.weight
    this.#weight -= place.weight
    this.#forgetIdle(place.party)
  }

  /** Gives free places to the parties in turn. */
  #admit(now: number): void {
    // A place that is given back at once, by a caller who has hung up, is given on by the same loop. Each of them in a call of its own could be too many.
    if (this.#isAdmitting) return
    this.#isAdmitting = true
    try {
      this.#uncountIdle(now)
      this.#giveTurns(now)
    } finally {
      this.#isAdmitting = false
    }
  }

  #giveTurns(now: number): void {
    let passed = 0
    while (passed < this.#turns.size && this.#weight < this.#mostPlaces(now)) {
      const party = this.#turns.oldest
      if (!party) return
      const next = this.#hasPlaceFor(party, now) ? this.#nextOf(party, now) : undefined
      const isWaiting = party.waiting.length > 0
      this.#endTurn(party, isWaiting)
      if (next) {
        passed = 0
        this.#waiting--
        party.inflow.served()
        next.waiter.enter(this.#place(party, next.weight, now))
      } else if (isWaiting) passed++
    }
  }

  #endTurn(party: Party, isWaiting: boolean): void {
    const { turn } = party
    if (!turn) return
    if (isWaiting) this.#turns.moveToEnd(turn)
    else {
      this.#turns.remove(turn)
      party.turn = undefined
    }
  }

  /** While requests of the party are refused, a late one would be served only to be the slowest of all, and keep a newer one waiting. */
  #nextOf(party: Party, now: number): Waiting<Place> | undefined {
    if (!party.isRefused(now)) return party.waiting.shift()
    this.#refuseLate(party, now)
    return party.waiting.pop()
  }

  #sweep(): void {
    const now = performance.now()
    this.#noticePause(now)
    for (const { item: party } of this.#turns) {
      this.#judgeTrial(party, now)
      this.#noticeFlood(party, now)
      this.#refuseLate(party, now)
    }
    this.#admit(now)
    if (this.#waiting || now < this.#refusingUntil) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
    for (const party of this.#parties.values()) this.#forgetIdle(party)
  }

  /** Takes the places of work that takes long, or whose body has not arrived with its headers. */
  #uncountIdle(now: number): void {
    const { countedMs = Number.POSITIVE_INFINITY } = this.#options
    for (const { item: place } of this.#inside) {
      const ageMs = now - place.since
      if (ageMs < BODY_ARRIVES_MS) return
      if (ageMs >= countedMs || place.body?.complete === false) this.#uncount(place)
    }
  }

  #noticePause(now: number): void {
    // When fewer places are given than before, those above the limit must end first.
    if (this.#waiting && this.#weight <= this.#mostPlaces(now)) this.#pauses.checkForPause(now)
    if (this.#waiting <= this.#options.places) this.#pauses.noteShortQueue(now)
  }

  #noticeFlood(party: Party, now: number): void {
    const { floodWaiting = Number.POSITIVE_INFINITY } = this.#options
    const { length } = party.waiting
    const isLong = length > floodWaiting
    const isSlow = isLong && this.#pauses.checkForSlowness(now)
    if (party.inflow.endInterval(length, isLong, isSlow || this.#pauses.isRecent(now))) this.#beginRefusing(party, now)
  }

  #refuseLate(party: Party, now: number): void {
    const { waitMs, refusingWaitMs } = this.#options
    const mostMs = party.isRefused(now) && !this.#isOnTrial(party, now) ? refusingWaitMs : waitMs
    for (let count = 0; count < REFUSED_AT_ONCE; count++) {
      const [oldest] = party.waiting
      if (!oldest || now - oldest.since < mostMs) return
      this.#refuseOldest(party, now)
    }
  }

  #beginRefusing(party: Party, now: number): void {
    party.beginRefusing(now)
    this.#refusingUntil = now + REFUSING_MS
  }

  #refuseOldest(party: Party, now: number): void {
    const oldest = party.waiting[0] as Waiting<Place>
    this.#beginRefusing(party, now)
    party.noteRefusal()
    this.#stopWaiting(party, oldest)
    oldest.waiter.refuse()
  }

  #stopWaiting(party: Party, waiting: Waiting<Place>): void {
    if (!party.remove(waiting)) return
    this.#waiting--
    if (party.waiting.length) return
    this.#endTurn(party, false)
    this.#forgetIdle(party)
  }
}
