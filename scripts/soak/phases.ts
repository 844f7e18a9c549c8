/**
 * The phases of the soak. The speed of a machine may change by a factor of two within minutes, so rates follow the capacity of the moment: it is
 * measured again before each round of the short phases and each minute of the long one, and each phase has a part in each round.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs } from '../bench/cpu.ts'
import type { Caller } from './caller.ts'
import { atRate, fullSpeed, type Outcome, pooled } from './load.ts'

/** Callers that together keep the service fully busy. */
export const CALLERS = 32
/** Shares of the capacity. */
const QUIET = 0.25
const STEADY = 0.8
const FLOOD = 2
const OTHER = 0.05
/**
 * Seconds of a phase in a round. The machine should stay the same, and the first tenths of a second of a flood, in which requests are still served
 * in their order, should be less than a hundredth.
 */
const ROUND_S = 20
const CAPACITY_S = 5
/** A service goes on refusing for a second after a flood, if as many callers as possible come. */
const REST_S = 2

interface Rounds {
  capacities: Outcome[]
  quiet: Outcome
  flood: Outcome
  /** The CPU time for a second of the flood, in seconds. */
  floodCpu: { load: number; service: number }
  otherQuiet: Outcome
  flooder: Outcome
  beside: Outcome
}

/** @param seconds of each phase, in all rounds together */
export async function shortPhases(one: Caller, other: Caller, seconds: number, servicePid: number): Promise<Rounds> {
  const count = Math.ceil(seconds / ROUND_S)
  const rounds: Omit<Rounds, 'capacities' | 'floodCpu'>[] = []
  const capacities: Outcome[] = []
  const cpu = { load: 0, service: 0 }
  for (let round = 0; round < count; round++) {
    const { capacity, rate } = await measureCapacity(one, seconds)
    capacities.push(capacity)
    const quiet = await atRate(one, rate(QUIET), seconds / count)
    const [loadBefore, serviceBefore] = [process.cpuUsage(), cpuMs(servicePid)]
    const flood = await atRate(one, rate(FLOOD), seconds / count)
    const { user, system } = process.cpuUsage(loadBefore)
    cpu.load += (user + system) / 1e6 / seconds
    cpu.service += (cpuMs(servicePid) - serviceBefore) / 1e3 / seconds
    const otherQuiet = await atRate(other, rate(OTHER), seconds / count)
    const [flooder, beside] = await Promise.all([atRate(one, rate(FLOOD), seconds / count), atRate(other, rate(OTHER), seconds / count)])
    rounds.push({ quiet, flood, otherQuiet, flooder, beside })
  }
  return {
    capacities,
    floodCpu: cpu,
    quiet: pooled(rounds.map(({ quiet }) => quiet)),
    flood: pooled(rounds.map(({ flood }) => flood)),
    otherQuiet: pooled(rounds.map(({ otherQuiet }) => otherQuiet)),
    flooder: pooled(rounds.map(({ flooder }) => flooder)),
    beside: pooled(rounds.map(({ beside }) => beside)),
  }
}

/** @returns the capacities that were measured, one before each minute, and what became of all requests at 80 % of them */
export async function longPhase(one: Caller, minutes: number): Promise<{ capacities: Outcome[]; steady: Outcome }> {
  const capacities: Outcome[] = []
  const steady: Outcome[] = []
  for (let left = minutes * 60; left > 0; left -= 60) {
    const { capacity, rate } = await measureCapacity(one, left)
    capacities.push(capacity)
    steady.push(await atRate(one, rate(STEADY), Math.min(60, left)))
  }
  return { capacities, steady: pooled(steady) }
}

async function measureCapacity(one: Caller, mostSeconds: number) {
  await sleep(Math.min(REST_S, mostSeconds) * 1_000)
  const capacity = await fullSpeed(one, CALLERS, Math.min(CAPACITY_S, mostSeconds))
  const perSecond = capacity.served.length / capacity.seconds
  return { capacity, rate: (share: number) => Math.max(1, Math.round(perSecond * share)) }
}
