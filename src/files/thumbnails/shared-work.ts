/** Does work once for all callers that want its result at the same time. */
export class SharedWork<Result> {
  readonly #underway = new Map<string, Shared<Result>>()

  /**
   * Joins the work under the key, or begins it.
   * @param signal aborts when the caller no longer wants the result. When no caller wants it any more, the work is aborted
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

  /** The work under the key, unless it was aborted: then it is about to fail. */
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
  /** The number of callers that still want the result. */
  callers: number
}
