/**
 * Sends the requests of an account from a process of its own. In one process with a flood, a caller would wait for the flood's own work with its
 * requests and answers, and not for the service alone.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { cpuMs } from '../bench/cpu.ts'
import type { Caller } from './caller.ts'
import type { Outcome } from './load.ts'

export type Order =
  | { kind: 'at rate'; perSecond: number; seconds: number }
  | { kind: 'full speed'; callers: number; seconds: number }
  | { kind: 'rush'; callers: number }

/** With a few threads for collections, one collection of a sender would take both processors of a small machine from the service. */
const FLAGS = ['--v8-pool-size=1', '--max-semi-space-size=32']

export class Sender {
  readonly #child: ChildProcess

  constructor(caller: Caller) {
    this.#child = fork(join(import.meta.dirname, 'sender-process.ts'), [JSON.stringify(caller)], {
      execArgv: FLAGS,
      // The structured clone keeps the Map of the failures.
      serialization: 'advanced',
    })
  }

  /** Sends requests at the rate, however slowly they are answered. */
  atRate(perSecond: number, seconds: number): Promise<Outcome> {
    return this.#order({ kind: 'at rate', perSecond, seconds })
  }

  /** Sends requests from a number of callers, each of which waits for its answer. */
  fullSpeed(callers: number, seconds: number): Promise<Outcome> {
    return this.#order({ kind: 'full speed', callers, seconds })
  }

  /** Opens connections at once, and sends a request on each. */
  rush(callers: number): Promise<Outcome> {
    return this.#order({ kind: 'rush', callers })
  }

  /** The CPU time of the process so far. */
  cpuMs(): number {
    return cpuMs(this.#child.pid ?? 0)
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }

  /** @throws Error if the process ends before it answers */
  async #order(order: Order): Promise<Outcome> {
    const answered = new AbortController()
    const { signal } = answered
    const ended = once(this.#child, 'exit', { signal }).then(() => Promise.reject(new Error('A process that sends requests has ended')))
    try {
      this.#child.send(order)
      const [outcome] = await Promise.race([once(this.#child, 'message', { signal }), ended])
      return outcome
    } finally {
      ended.catch(() => {})
      answered.abort()
    }
  }
}
