/** The figures of a run as a table, and the bounds that they must keep. */
import { ScriptError } from '../runtime.ts'
import type { Health } from './health.ts'
import { type Outcome, percentile, pooled } from './load.ts'
import type { Phase } from './phases.ts'

/** A refusal that takes longer is no quick one. */
const QUICK_MS = 500
/** The longest p99 of what is served in a flood. */
const FLOOD_P99_MS = 1_000
/** Shorter runs say nothing about memory. */
const MEMORY = { fewestSamples: 60, growth: 1.2, spareMb: 20 }

export class Report {
  readonly #isJudged: boolean
  readonly #rows: string[] = []
  readonly #violations: string[] = []

  /** @param isJudged whether bounds on latency and memory count, which need a quiet machine */
  constructor(isJudged: boolean) {
    this.#isJudged = isJudged
  }

  phase(name: string, outcome: Outcome): void {
    this.#row(name, outcome)
    for (const [what, count] of outcome.failures) this.#violations.push(`${name}: ${count} times ${what}`)
  }

  /** A row of all requests, and one of those whose latencies are judged. */
  watchedPhase(name: string, { most, watched }: Phase): void {
    this.phase(name, { ...pooled([most, watched]), seconds: most.seconds })
    this.#row(`${name}, watched`, watched)
  }

  #row(name: string, { seconds, served, refused, failures }: Outcome): void {
    const times = [percentile(served, 0.5), percentile(served, 0.99), percentile(refused, 0.5), percentile(refused, 0.99)]
    const failed = [...failures.values()].reduce((sum, count) => sum + count, 0)
    const perSecond = Math.round((served.length + refused.length + failed) / seconds)
    const row = [
      name,
      Number(seconds.toFixed(2)),
      perSecond,
      served.length,
      refused.length,
      failed,
      ...times.map((ms) => (Number.isNaN(ms) ? '–' : ms.toFixed(1))),
    ]
    this.#rows.push(`| ${row.join(' | ')} |`)
  }

  /** How much the capacity changed while it was measured. */
  capacities(measured: readonly Outcome[]): void {
    const perSecond = measured.map(({ served, seconds }) => Math.round(served.length / seconds))
    this.#rows.push(`| the capacity was ${Math.min(...perSecond)} to ${Math.max(...perSecond)} a second |`)
  }

  cpu(name: string, { load, service }: { load: number; service: number }): void {
    this.#rows.push(`| cores in use, ${name}: service ${service.toFixed(2)}, load ${load.toFixed(2)} |`)
  }

  requireAllServed(name: string, { served, refused }: Outcome): void {
    this.#require(served.length > 0 && refused.length === 0, refusalsOf(name, { served, refused }))
  }

  /** The same at a rate that a busy machine may not keep up with. @param mostRefused the share that may be refused */
  judgeServed(name: string, { served, refused }: Outcome, mostRefused: number): void {
    this.#require(served.length > 0, `${name}: nothing was served`)
    this.#judge(refused.length <= mostRefused * (served.length + refused.length), refusalsOf(name, { served, refused }))
  }

  requireQuickRefusals(name: string, { refused, withoutRetryAfter, served }: Outcome): void {
    this.#require(withoutRetryAfter === 0, `${name}: ${withoutRetryAfter} refusals without Retry-After`)
    this.#require(served.length > 0, `${name}: nothing was served`)
    const slowest = percentile(refused, 0.99)
    this.#judge(!(slowest > QUICK_MS), `${name}: refusals took ${slowest.toFixed(0)} ms, ${QUICK_MS} are allowed`)
  }

  requireServedInTime(name: string, { served }: Outcome): void {
    const p99 = percentile(served, 0.99)
    this.#judge(p99 <= FLOOD_P99_MS, `${name}: p99 is ${p99.toFixed(1)} ms, ${FLOOD_P99_MS} are allowed`)
  }

  requireP99(name: string, { served }: Outcome, quiet: Outcome, factor: number): void {
    const [p99, allowed] = [percentile(served, 0.99), factor * percentile(quiet.served, 0.99)]
    this.#judge(p99 <= allowed, `${name}: p99 is ${p99.toFixed(1)} ms, ${factor} times quiet are ${allowed.toFixed(1)} ms`)
  }

  /** @param samples megabytes at equal intervals. The first quarter is not counted, because caches fill and the compiler is at work. */
  requireFlatMemory(samples: readonly number[]): void {
    const quarter = Math.floor(samples.length / 4)
    const [before, after] = [median(samples.slice(quarter, 2 * quarter)), median(samples.slice(-quarter))]
    this.#rows.push(`| memory at 80 %, second and last quarter: ${before.toFixed(0)} and ${after.toFixed(0)} MB |`)
    if (samples.length < MEMORY.fewestSamples) return
    this.#judge(after <= before * MEMORY.growth + MEMORY.spareMb, `memory grew from ${before.toFixed(0)} to ${after.toFixed(0)} MB`)
  }

  health({ asked, failed, slowestMs }: Health): void {
    this.#rows.push(`| health: ${asked} probes, the slowest took ${slowestMs.toFixed(0)} ms |`)
    this.#require(failed === 0, `health: ${failed} of ${asked} probes were not answered with 200 in time`)
  }

  /** @throws ScriptError that lists what was violated */
  print(): void {
    const head = ['phase', 's', 'sent/s', 'served', 'refused', 'failed', 'served p50 ms', 'p99 ms', 'refused p50 ms', 'p99 ms']
    console.log([`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...this.#rows].join('\n'))
    if (this.#violations.length) throw new ScriptError(`\nViolated:\n${this.#violations.join('\n')}`)
  }

  #require(isKept: boolean, violation: string): void {
    if (!isKept) this.#violations.push(violation)
  }

  #judge(isKept: boolean, violation: string): void {
    if (this.#isJudged) this.#require(isKept, violation)
  }
}

const refusalsOf = (name: string, { served, refused }: Pick<Outcome, 'served' | 'refused'>) =>
  `${name}: ${refused.length} of ${served.length + refused.length} were refused`

const median = (values: readonly number[]) =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  )
