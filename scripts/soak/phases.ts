/**
 * The phases of the soak. The speed of a machine may change by a factor of two within minutes, so rates follow the capacity of the moment: it is
 * measured again before each round of the short phases and each minute of the long one, and each phase has a part in each round.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs, pidsOfChildren } from '../bench/cpu.ts'
import { type Outcome, pooled } from './load.ts'
import type { Sender } from './sender.ts'

/** Callers that together keep the service fully busy. */
export const CALLERS = 32
/** Pauses that requests outlast by waiting. */
const PAUSE_S = 0.25
/** A slow moment, in which the service and PostgreSQL are stopped for half of the time, as by other users of the machine. */
const SLOW = { seconds: 0.3, stopMs: 8, goMs: 8 }
/** How long requests are sent before and after a pause: longer than the service looks back (src/platform/concurrency/load-shedding.ts). */
const [BEFORE_PAUSE_S, AFTER_PAUSE_S] = [3, 3]
/** Shares of the capacity. */
const QUIET = 0.25
const STEADY = 0.8
const FLOOD = 2
const OTHER = 0.05
/**
 * The share of the account's requests whose latencies are judged. They are sent by a process with little to do, as by one of many callers: the process
 * that sends the others is as busy as the service, and would add its own delays.
 */
const WATCHED = 0.05
/** Seconds of a phase in a round, in which the machine should stay the same. */
const ROUND_S = 20
const CAPACITY_S = 5
/** What is left of a phase is answered in this time. */
const REST_S = 1

export interface Senders {
  /** Sends most requests of the first account. */
  one: Sender
  /** Sends the requests of the first account whose latencies are judged. */
  watched: Sender
  /** Sends those of the second account. */
  other: Sender
}

/** The requests of one account in a phase. */
export interface Phase {
  most: Outcome
  watched: Outcome
}

interface Rounds {
  capacities: Outcome[]
  quiet: Phase
  flood: Phase
  /** The CPU time for a second of the flood, in seconds. */
  floodCpu: { load: number; service: number }
  otherQuiet: Outcome
  flooder: Phase
  beside: Outcome
}

/** @param seconds of each phase, in all rounds together */
export async function shortPhases(senders: Senders, seconds: number, servicePid: number): Promise<Rounds> {
  const { one, other } = senders
  const count = Math.ceil(seconds / ROUND_S)
  const rounds: Omit<Rounds, 'capacities' | 'floodCpu'>[] = []
  const capacities: Outcome[] = []
  const cpu = { load: 0, service: 0 }
  for (let round = 0; round < count; round++) {
    const { capacity, rate } = await measureCapacity(one, seconds)
    capacities.push(capacity)
    const quiet = await phaseOf(senders, rate(QUIET), seconds / count)
    const [loadBefore, serviceBefore] = [one.cpuMs(), cpuMs(servicePid)]
    const flood = await phaseOf(senders, rate(FLOOD), seconds / count)
    cpu.load += (one.cpuMs() - loadBefore) / 1e3 / seconds
    cpu.service += (cpuMs(servicePid) - serviceBefore) / 1e3 / seconds
    const otherQuiet = await other.atRate(rate(OTHER), seconds / count)
    const [flooder, beside] = await Promise.all([
      phaseOf(senders, rate(FLOOD), seconds / count),
      other.atRate(rate(OTHER), seconds / count),
    ])
    rounds.push({ quiet, flood, otherQuiet, flooder, beside })
  }
  return {
    capacities,
    floodCpu: cpu,
    quiet: pooledPhase(rounds.map(({ quiet }) => quiet)),
    flood: pooledPhase(rounds.map(({ flood }) => flood)),
    otherQuiet: pooled(rounds.map(({ otherQuiet }) => otherQuiet)),
    flooder: pooledPhase(rounds.map(({ flooder }) => flooder)),
    beside: pooled(rounds.map(({ beside }) => beside)),
  }
}

/** @returns the capacities that were measured, one before each minute, and what became of all requests at 80 % of them */
export async function longPhase(senders: Senders, minutes: number): Promise<{ capacities: Outcome[]; steady: Phase }> {
  const capacities: Outcome[] = []
  const steady: Phase[] = []
  for (let left = minutes * 60; left > 0; left -= 60) {
    const { capacity, rate } = await measureCapacity(senders.one, left)
    capacities.push(capacity)
    steady.push(await phaseOf(senders, rate(STEADY), Math.min(60, left)))
  }
  return { capacities, steady: pooledPhase(steady) }
}

/** What is stopped in a pause. */
export interface Pausing {
  servicePid: number
  postmasterPid: number
}

/**
 * @returns what became of all requests at 80 % of the capacity while PostgreSQL, the service and both are stopped for a moment, one after another, and
 * while both have half of their speed
 */
export async function pausesPhase(senders: Senders, { servicePid, postmasterPid }: Pausing, mostSeconds: number): Promise<Phase> {
  const beforeS = Math.min(BEFORE_PAUSE_S, mostSeconds / 3)
  const seconds = beforeS + PAUSE_S + Math.min(AFTER_PAUSE_S, mostSeconds / 3)
  const postgres = () => [postmasterPid, ...pidsOfChildren(postmasterPid)]
  const both = () => [servicePid, ...postgres()]
  const disturbances = [() => pause(postgres()), () => pause([servicePid]), () => pause(both()), () => slowDown(both())]
  const phases: Phase[] = []
  for (const disturb of disturbances) {
    const { rate } = await measureCapacity(senders.one, mostSeconds)
    const [phase] = await Promise.all([phaseOf(senders, rate(STEADY), seconds), sleep(beforeS * 1_000).then(disturb)])
    phases.push(phase)
  }
  return pooledPhase(phases)
}

async function pause(pids: readonly number[], ms = PAUSE_S * 1_000): Promise<void> {
  signal(pids, 'SIGSTOP')
  await sleep(ms).finally(() => signal(pids, 'SIGCONT'))
}

async function slowDown(pids: readonly number[]): Promise<void> {
  const end = performance.now() + SLOW.seconds * 1_000
  while (performance.now() < end) {
    await pause(pids, SLOW.stopMs)
    await sleep(SLOW.goMs)
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch {
      // The connection of a PostgreSQL process was closed meanwhile. The others must go on in any case.
    }
}

async function phaseOf({ one, watched }: Senders, perSecond: number, seconds: number): Promise<Phase> {
  const [most, few] = await Promise.all([one.atRate(perSecond * (1 - WATCHED), seconds), watched.atRate(perSecond * WATCHED, seconds)])
  return { most, watched: few }
}

const pooledPhase = (phases: readonly Phase[]): Phase => ({
  most: pooled(phases.map(({ most }) => most)),
  watched: pooled(phases.map(({ watched }) => watched)),
})

async function measureCapacity(one: Sender, mostSeconds: number) {
  await sleep(Math.min(REST_S, mostSeconds) * 1_000)
  const capacity = await one.fullSpeed(CALLERS, Math.min(CAPACITY_S, mostSeconds))
  const perSecond = capacity.served.length / capacity.seconds
  return { capacity, rate: (share: number) => Math.max(1, Math.round(perSecond * share)) }
}
