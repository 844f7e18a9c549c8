/** A semaphore: a fixed number of permits, handed out in the order in which callers ask for them. */

/** Gives a permit back. Calling it more than once has no further effect. */
export type Release = () => void

interface AcquireOptions {
  /** Ends the wait when it aborts; `acquire` then rejects with its reason. */
  signal?: AbortSignal | undefined
  /** How long to wait at most; without it there is no limit. */
  timeoutMs?: number
}

export class Semaphore {
  readonly #timeoutError: () => Error
  /** The callers that wait, in the order in which they came. A set removes one from the middle in constant time. */
  readonly #waiting = new Set<(release: Release) => void>()
  #free: number

  /**
   * @param permits how many callers hold a permit at the same time
   * @param timeoutError makes the error for a caller that has waited too long
   */
  constructor(permits: number, timeoutError = () => new Error('No permit became free in time')) {
    this.#free = permits
    this.#timeoutError = timeoutError
  }

  /** How many callers wait for a permit. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Waits for a permit.
   * @returns gives the permit back
   * @throws the timeout error after `timeoutMs`, or the signal's reason
   */
  async acquire({ signal, timeoutMs }: AcquireOptions = {}): Promise<Release> {
    signal?.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return this.#releaseOnce()
    }
    const { promise, resolve, reject } = Promise.withResolvers<Release>()
    const stopWaiting = () => {
      this.#waiting.delete(admit)
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    const admit = (release: Release) => {
      stopWaiting()
      resolve(release)
    }
    const onAbort = () => {
      stopWaiting()
      reject(signal?.reason)
    }
    const onTimeout = () => {
      stopWaiting()
      reject(this.#timeoutError())
    }
    const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#waiting.add(admit)
    return promise
  }

  /** Runs the function while it holds a permit. @throws what `acquire` or the function throws */
  async run<Result>(fn: () => Promise<Result>, options?: AcquireOptions): Promise<Result> {
    const release = await this.acquire(options)
    try {
      return await fn()
    } finally {
      release()
    }
  }

  /** A released permit goes straight to the caller that has waited longest, so nobody who comes later can take it first. */
  #releaseOnce(): Release {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const [next] = this.#waiting
      if (next) next(this.#releaseOnce())
      else this.#free++
    }
  }
}
