/** Work whose result several callers want at the same time: it is done once for all of them. */
export class SharedWork<Result> {
  readonly #underway = new Map<string, Shared<Result>>()

  /**
   * Joins the work under the key, or begins it.
   * @param signal aborts when the caller no longer wants the result. The work is told when no caller does
   * @throws what the work throws
   */
  async run(key: string, signal: AbortSignal, begin: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    signal.throwIfAborted()
    const work = this.#joinable(key) ?? this.#begin(key, begin)
    const leave = () => {
      work.callers--
      if (work.callers === 0) work.giveUp.abort(signal.reason)
    }
    work.callers++
    signal.addEventListener('abort', leave, { once: true })
    return work.result.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Work that was given up is about to fail. */
  #joinable(key: string): Shared<Result> | undefined {
    const work = this.#underway.get(key)
    return work?.giveUp.signal.aborted ? undefined : work
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<Result>): Shared<Result> {
    const giveUp = new AbortController()
    const result = begin(giveUp.signal).finally(() => {
      if (this.#underway.get(key) === work) this.#underway.delete(key)
    })
    const work: Shared<Result> = { result, giveUp, callers: 0 }
    this.#underway.set(key, work)
    return work
  }
}

interface Shared<Result> {
  result: Promise<Result>
  giveUp: AbortController
  /** Those that still want the result. */
  callers: number
}
